#!/usr/bin/env python3
"""A population model: people are born, fall ill, see a doctor and die, month by month.

It stands for the long simulations that perftrail is made for: a population that grows, modules
that run each month, a queue of events, a health system with limited capacity, and statistics
per district that worker processes make at the end. It needs nothing but Python 3.9.

    python3 examples/simulation.py --years 5 --initial-population 2000
    perftrail run -- python3 examples/simulation.py

With the same seed it writes the same population.csv, events.csv and districts.json, however many
workers there are.
"""

import argparse
import contextlib
import csv
import heapq
import json
import logging
import math
import os
import random
import statistics
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

START_YEAR = 2010
DISTRICTS = ["north", "lakeside", "hills", "coast", "capital", "border"]
MODULES = ["demography", "disease", "health_system"]


# --- Telling perftrail ---------------------------------------------------------------------------
# These lines are all that a program needs; copy them. Without perftrail they do nothing.


def tell(**line):
    """Append one JSON line to the file that perftrail reads while the program runs."""
    path = os.environ.get("PERFTRAIL_STATS")
    if path:
        with open(path, "a", encoding="utf-8") as stats:
            stats.write(json.dumps(line) + "\n")


@contextlib.contextmanager
def phase(name):
    """Name a stretch of time. A dot makes one phase a part of another."""
    tell(phase=name, event="begin")
    try:
        yield
    finally:
        tell(phase=name, event="end")


# --- The model -----------------------------------------------------------------------------------


class Person:
    """One individual. Months count from the start of the simulation; before it they are negative."""

    __slots__ = ("number", "sex", "born", "died", "district", "state", "immune_until", "visits")

    def __init__(self, number, sex, born, district):
        self.number = number
        self.sex = sex
        self.born = born
        self.died = None
        self.district = district
        self.state = "susceptible"  # or "infected", "immune"
        self.immune_until = 0
        self.visits = 0


class Simulation:
    """The whole state. Each module is a method that runs once a month."""

    def __init__(self, initial_population, seed):
        self.random = random.Random(seed)
        self.month = 0
        self.people = []  # everybody who ever lived
        self.alive = []
        self.queue = []  # events to come: (month, sequence, what, person)
        self.scheduled = 0
        self.waiting = {district: [] for district in DISTRICTS}  # for a visit, most urgent first
        self.history = []  # all that happened: (month, district, what, age in years)
        self.monthly = []  # one row a month, for population.csv
        self.module_time = Counter()
        self.death_risk = [monthly_death_risk(age) for age in range(121)]
        for _ in range(initial_population):
            self.add_person(born=-int(self.random.triangular(0, 80 * 12, 0)))
        for person in self.random.sample(self.alive, initial_population // 100):
            self.infect(person)

    @property
    def date(self):
        return f"{START_YEAR + self.month // 12}-{self.month % 12 + 1:02d}-01"

    def add_person(self, born, district=None):
        rng = self.random
        district = district or rng.choice(DISTRICTS)
        person = Person(len(self.people), rng.choice("FM"), born, district)
        self.people.append(person)
        self.alive.append(person)

    def schedule(self, months, what, person):
        self.scheduled += 1
        heapq.heappush(self.queue, (self.month + months, self.scheduled, what, person))

    def remember(self, what, person):
        self.history.append((self.month, person.district, what, (self.month - person.born) / 12))

    def step(self):
        """Simulate one month and say how it went."""
        for name in MODULES:
            began = time.process_time()
            getattr(self, name)()
            self.module_time[name] += time.process_time() - began
        row = {
            "date": self.date,
            "alive": len(self.alive),
            "infected": sum(person.state == "infected" for person in self.alive),
            "event_queue": len(self.queue),
            "waiting": sum(map(len, self.waiting.values())),
        }
        self.monthly.append(row)
        for name in ("alive", "infected", "event_queue", "waiting"):
            tell(series=name, value=row[name], x=self.date)
        self.month += 1

    def demography(self):
        """Births and deaths."""
        chance, month, survivors, mothers = self.random.random, self.month, [], []
        for person in self.alive:
            age = (month - person.born) // 12
            risk = self.death_risk[min(age, 120)]
            if person.state == "infected":
                risk *= 4
            if chance() < risk:
                person.died = month
                self.remember("death", person)
                continue
            survivors.append(person)
            if person.sex == "F" and 15 <= age < 50 and chance() < 0.011:
                mothers.append(person)
        self.alive = survivors
        for mother in mothers:
            self.add_person(born=month, district=mother.district)
            self.remember("birth", mother)

    def disease(self):
        """Infection spreads within districts, more in the rains; some who fall ill seek care."""
        season = 1 + 0.3 * math.cos(2 * math.pi * self.month / 12)
        living, infected = Counter(), Counter()
        for person in self.alive:
            living[person.district] += 1
            if person.state == "infected":
                infected[person.district] += 1
        risk = {d: 0.7 * season * infected[d] / max(living[d], 1) + 2e-4 for d in DISTRICTS}
        chance = self.random.random
        for person in self.alive:
            if person.state == "susceptible":
                if chance() < risk[person.district]:
                    self.infect(person)
            elif person.state == "immune" and person.immune_until <= self.month:
                person.state = "susceptible"

    def infect(self, person):
        person.state = "infected"
        self.remember("infection", person)
        self.schedule(self.random.randint(2, 6), "recovery", person)
        if self.random.random() < 0.4:
            self.schedule(self.random.randint(0, 2), "seek_care", person)

    def recover(self, person):
        person.state = "immune"
        person.immune_until = self.month + self.random.randint(6, 18)
        self.remember("recovery", person)

    def health_system(self):
        """Events that are due, then visits as far as the month's capacity goes."""
        while self.queue and self.queue[0][0] <= self.month:
            _, sequence, what, person = heapq.heappop(self.queue)
            if person.died is not None or person.state != "infected":
                continue
            if what == "recovery":
                self.recover(person)
            else:  # small children first, then in the order of falling ill
                urgency = 0 if self.month - person.born < 60 else 1
                heapq.heappush(self.waiting[person.district], (urgency, sequence, person))
        capacity = 5 + len(self.alive) // 600
        for district, waiting in self.waiting.items():
            if len(waiting) > 9 * capacity and self.month % 6 == 0:
                logging.warning(
                    "%s: %s: %d people wait for %d visits a month",
                    self.date, district, len(waiting), capacity,
                )
            places = capacity
            while waiting and places > 0:
                _, _, person = heapq.heappop(waiting)
                if person.died is None and person.state == "infected":  # others do not turn up
                    places -= 1
                    person.visits += 1
                    self.remember("visit", person)
                    self.recover(person)


def monthly_death_risk(age):
    """High in the first year of life, then growing with age (Gompertz)."""
    return (0.04 if age == 0 else 0.0004 + 0.00006 * math.exp(0.09 * age)) / 12


# --- Statistics per district: each is made by a worker process -----------------------------------


def district_statistics(district, events, seed):
    """Counts and mean ages of one district's events, with a bootstrap interval for each mean."""
    rng = random.Random(f"{seed} {district}")
    result = {"district": district, "events": len(events)}
    for what in sorted({what for what, _ in events}):
        ages = [age for kind, age in events if kind == what]
        size = min(len(ages), 2000)
        means = sorted(statistics.fmean(rng.choices(ages, k=size)) for _ in range(100))
        result[what] = {
            "count": len(ages),
            "mean_age": round(statistics.fmean(ages), 3),
            "mean_age_interval": [round(means[2], 3), round(means[97], 3)],
        }
    return result


def statistics_of_districts(simulation, seed, workers):
    events = {district: [] for district in DISTRICTS}
    for _, district, what, age in simulation.history:
        events[district].append((what, age))
    with ProcessPoolExecutor(max_workers=workers) as pool:
        jobs = [pool.submit(district_statistics, d, events[d], seed) for d in DISTRICTS]
        return [job.result() for job in jobs]


# --- Results -------------------------------------------------------------------------------------


def write_json(path, content):
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def write_csv(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def write_tables(simulation, out):
    monthly = simulation.monthly
    write_csv(out / "population.csv", monthly[0].keys(), (row.values() for row in monthly))
    counts = Counter((START_YEAR + m // 12, d, what) for m, d, what, _ in simulation.history)
    rows = ([*key, count] for key, count in sorted(counts.items()))
    write_csv(out / "events.csv", ["year", "district", "event", "count"], rows)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--years", type=positive, default=20, help="default: %(default)s")
    parser.add_argument("--initial-population", type=positive, default=20000, metavar="PEOPLE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=positive, default=2, help="default: %(default)s")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(os.environ.get("PERFTRAIL_OUTPUT", "simulation-output")),
        help="folder for results (default: $PERFTRAIL_OUTPUT, else simulation-output)",
    )
    return parser.parse_args()


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def main():
    args = parse_arguments()
    logging.basicConfig(format="%(levelname)s %(message)s")  # to stderr
    args.out.mkdir(parents=True, exist_ok=True)
    write_json(args.out / "simulation.args.json", {**vars(args), "out": str(args.out)})
    began, cpu_began = time.time(), time.process_time()

    with phase("initialise"):
        simulation = Simulation(args.initial_population, args.seed)
    with phase("run"):
        for year in range(START_YEAR, START_YEAR + args.years):
            with phase(f"run.{year}"):
                for _ in range(12):
                    simulation.step()
            last = simulation.monthly[-1]
            print(f"{year}: {last['alive']} alive, {last['infected']} infected", flush=True)
    with phase("write_results"):
        with phase("write_results.districts"):
            districts = statistics_of_districts(simulation, args.seed, args.workers)
        with phase("write_results.tables"):
            write_json(args.out / "districts.json", districts)
            write_tables(simulation, args.out)

    tell(metric="population_rows", value=len(simulation.people), unit="count", better="neither")
    tell(metric="events", value=len(simulation.history), unit="count", better="neither")
    for name, seconds in simulation.module_time.items():
        tell(metric=f"module_time.{name}", value=seconds, unit="s", better="lower")
    tell(note=f"seed {args.seed}")
    stats = {
        "start_time": began,
        "duration": time.time() - began,
        "cpu_time": time.process_time() - cpu_began,
        "population_rows": len(simulation.people),
        "population_alive": len(simulation.alive),
        "events": len(simulation.history),
        "events_per_cpu_second": len(simulation.history) / sum(simulation.module_time.values()),
    }
    write_json(args.out / "simulation.stats.json", stats)


if __name__ == "__main__":
    main()
