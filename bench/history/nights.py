#!/usr/bin/env python3
"""Three hundred nights with a known truth, published night by night. Ends with 1 when a word was wrong.

A results repository of one job, as a nightly workflow would fill it: 1 % of noise, a step, three odd
nights, a slow slope, a machine that is replaced, a change that somebody accepts, nights that failed
or were disturbed, and runs of pull requests beside. Each night is a bundle that the real program
publishes; what it said that night is held against the truth, and at the end its history.

    cargo build && python3 bench/history/nights.py [--perftrail PROGRAM] [--seed N] [--keep FOLDER]
"""

import argparse
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import corpus

NIGHTS = 300
BEGIN = datetime(2026, 1, 5, 1, 0, tzinfo=timezone.utc)
NOISE = 0.01
STEP, STEP_SIZE = 60, 1.08
ODD, ODD_SIZE = (100, 101, 102), 1.25
SLOPE, SLOPE_SIZE = (120, 170), 1.075
SWAP, SWAP_SIZE = 200, 1.12
MEANT, MEANT_SIZE, ACCEPTED = 240, 1.15, 244
FAILED = (30, 75, 150, 222)
DISTURBED = (45, 110, 180, 260)
PULLS = range(5, NIGHTS, 10)
# A new level is news for so many runs.
NEWS = 9
# Of nights on which nothing happened, at most so many may be called unusual.
UNUSUAL_MAX = 0.03


def level(night):
    """What the job takes in truth, in seconds."""
    value = 100.0
    if night >= STEP:
        value *= STEP_SIZE
    first, last = SLOPE
    value *= SLOPE_SIZE ** (min(max(night - first, 0), last - first) / (last - first))
    if night >= SWAP:
        value *= SWAP_SIZE
    if night >= MEANT:
        value *= MEANT_SIZE
    return value * (ODD_SIZE if night in ODD else 1.0)


def is_quiet(night):
    """Whether nothing happened that night, nor so shortly before that it is still news."""
    first, last = SLOPE
    changes = (STEP, SWAP, MEANT)
    return (
        night >= 12
        and night not in (*FAILED, *DISTURBED)
        and not ODD[0] <= night <= ODD[-1] + 3
        and not first <= night <= last + 12
        # Failed and disturbed nights do not count among the runs of the new level.
        and not any(change <= night < change + NEWS + 3 for change in changes)
    )


def built():
    """The program as it was built last."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", corpus.GOLDEN.parents[4] / "target"))
    found = [path for path in (target / kind / "perftrail" for kind in ("debug", "release")) if path.exists()]
    if not found:
        sys.exit(f"there is no program in {target}: run 'cargo build' first")
    return max(found, key=lambda path: path.stat().st_mtime)


class Bench:
    def __init__(self, scratch, binary, seed):
        self.scratch, self.binary = scratch, binary
        self.chance = random.Random(seed)
        (scratch / "home").mkdir()
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(scratch / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
        self.repository = scratch / "results"
        self.shas = [self.chance.randbytes(20).hex() for _ in range(NIGHTS)]
        self.golden = json.loads(corpus.GOLDEN.read_text(encoding="utf-8"))

    def run(self, *arguments, codes=(0,)):
        done = subprocess.run(
            [self.binary, *arguments, "--to", self.repository],
            cwd=self.scratch, env=self.environment, capture_output=True, text=True, check=False,
        )
        if done.returncode not in codes:
            sys.exit(f"perftrail {' '.join(map(str, arguments))} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def record(self, night, sha, seconds, event):
        record = copy.deepcopy(self.golden)
        run, commit = record["run"], record["commit"]
        start = BEGIN + timedelta(days=night, hours=12 if event == "pull_request" else 0)
        run.update(id=f"{event}-{1000 + night}-1-simulation", job="simulation")
        run.update(planned=corpus.iso(start), started=corpus.iso(start), ended=corpus.iso(start + timedelta(minutes=3)))
        commit.update(sha=sha, merge_base=sha, tree=sha[::-1], subject=f"Change {night}", changed_paths=["sim.py"])
        before = self.shas[night - 1] if night else None
        commit["parents"] = [before] if before else []
        commit["against"] = [{"sha": before, "ahead": 1, "behind": 0}] if before else []
        record["trigger"].update(event=event, pull_request=None)
        record["machine"].update(group="dedicated", fingerprint="1" * 16 if night < SWAP else "2" * 16)
        record.update(files=[], disturbances=[])
        for name in ("cpu_time", "duration"):
            metric = record["metrics"][name]
            metric.update(value=round(seconds, 3), n=1, repetitions=[round(seconds, 3)])
            metric.pop("lower", None)
            metric.pop("upper", None)
        return record

    def publish(self, record):
        """Publishes the run; gives the verdict."""
        record["run"]["digest"] = corpus.digest(record)
        folder = self.scratch / "bundles" / record["run"]["id"]
        folder.mkdir(parents=True)
        (folder / "stats.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        said = json.loads(self.run("publish", folder, "--format", "json"))
        return said["runs"][0]["verdict"]

    def night(self, night):
        seconds = level(night) * (1 + self.chance.gauss(0, NOISE))
        record = self.record(night, self.shas[night], seconds * (1.4 if night in DISTURBED else 1), "schedule")
        if night in FAILED:
            record["run"].update(status="failed", exit_code=1)
        if night in DISTURBED:
            record["disturbances"] = [copy.deepcopy(self.golden["disturbances"][0]) | {"exceeded": True}]
        return self.publish(record)

    def pull(self, night):
        """A pull request that is much slower: nobody's history."""
        record = self.record(night, self.chance.randbytes(20).hex(), level(night) * 1.5, "pull_request")
        record["commit"].update(merge_base=self.shas[night], ref=None)
        record["commit"]["against"] = [{"sha": self.shas[night], "ahead": 1, "behind": 0}]
        record["trigger"]["pull_request"] = 7
        return self.publish(record)


def words(verdict):
    metric = verdict["metrics"][0]
    runs = f" {metric['runs']}" if metric["runs"] else ""
    return f"{verdict['word']}, {metric['evidence']}{runs}, {verdict['severity']}"


class Card:
    def __init__(self):
        self.missed = 0

    def hold(self, what, said, is_right):
        self.missed += not is_right
        print(f"{'ok ' if is_right else 'NOT'} {what:<58} {said}")


def hold_nights(card, said):
    quiet = [night for night in said if is_quiet(night)]
    counts = Counter(words(said[night]).split(",")[0] for night in quiet)
    odd = [night for night in quiet if said[night]["word"] not in ("unchanged", "inconclusive")]
    told = f"{dict(counts)}, odd: {[(night, words(said[night])) for night in odd]}"
    card.hold(f"{len(quiet)} nights on which nothing happened", told, len(odd) <= UNUSUAL_MAX * len(quiet))
    fails = [night for night in quiet if said[night]["severity"] == "fails"]
    card.hold("  none of them fails", fails, not fails)

    def row(what, night, test):
        card.hold(f"night {night}: {what}", words(said[night]), test(said[night]))

    def evidence(verdict):
        return verdict["metrics"][0]["evidence"]

    row("the first of all", 0, lambda v: evidence(v) == "no earlier run")
    row("too few to judge by", 5, lambda v: evidence(v) == "too few runs")
    row("the step comes", STEP, lambda v: v["word"] == "regressed" and v["severity"] == "warns")
    row("and stays", STEP + 1, lambda v: v["severity"] == "fails")
    row("and is suspected", STEP + 3, lambda v: evidence(v) in ("suspected", "confirmed"))
    row("and is confirmed", STEP + 6, lambda v: evidence(v) == "confirmed" and v["severity"] == "fails")
    row("and is the level", STEP + NEWS + 3, lambda v: v["severity"] == "quiet")
    row("an odd night", ODD[0], lambda v: v["word"] == "regressed" and v["severity"] == "warns")
    row("and another", ODD[1], lambda v: v["word"] == "regressed")
    row("and a third", ODD[2], lambda v: v["word"] == "regressed")
    row("and it is over", ODD[2] + 1, lambda v: v["severity"] != "fails")
    row("and forgotten", ODD[2] + 4, lambda v: v["severity"] == "quiet")
    slope = range(SLOPE[0] + 25, SLOPE[1] + 1)
    seen = [night for night in slope if said[night]["word"] == "regressed"]
    card.hold("the slope is seen while it lasts", f"on {len(seen)} of {len(slope)} nights", bool(seen))
    swap = [said[night] for night in range(SWAP, SWAP + NEWS) if night in said]
    loud = [verdict["severity"] for verdict in swap]
    card.hold("another machine: may warn, never fails", dict(Counter(loud)), "fails" not in loud)
    caveats = {caveat for verdict in swap for caveat in verdict["metrics"][0]["caveats"]}
    card.hold("  and says why", caveats, any("machine" in caveat for caveat in caveats))
    row("a change that is meant", MEANT + 1, lambda v: v["severity"] == "fails")
    calm = (night for night in range(ACCEPTED + 1, ACCEPTED + 30) if night not in DISTURBED)
    after = [said[night]["severity"] for night in calm]
    card.hold("accepted: quiet from then on", dict(Counter(after)), "fails" not in after and after.count("warns") <= 1)
    for night in FAILED:
        row("failed", night, lambda v: v["word"] == "nothing measured")
    for night in DISTURBED:
        row("disturbed", night, lambda v: v["severity"] != "fails")


def hold_history(card, history, shas):
    index = {run["commit"]: night for night, run in enumerate(history["runs"])}
    places = {shas.index(run["commit"]): at for at, run in enumerate(history["runs"]) if run["commit"] in shas}
    assert len(index) == NIGHTS == len(places), "every night stands in the history, and nothing else"
    changes = {shas.index(change["commit"]): change for change in history["change_points"]}
    told = {night: change["state"] for night, change in changes.items()}
    print(f"    changes at the end: {told}; slope: {history['trend']}")

    def near(night):
        found = [change for at, change in changes.items() if abs(at - night) <= 2]
        return found[0] if len(found) == 1 else {"state": "not told"}

    def size(change):
        ratio = change.get("ratio")
        return f"{change['state']}, {ratio:.3f} times" if ratio else change["state"]

    step, swap, meant = near(STEP), near(SWAP), near(MEANT)
    is_step = step["state"] == "confirmed" and abs(step["ratio"] - STEP_SIZE) < 0.015
    card.hold("history: the step", size(step), is_step and not step["machine_changed"])
    card.hold("history: the machine", size(swap), swap["state"] != "not told" and swap["machine_changed"])
    card.hold("history: what was meant", size(meant), meant["state"] == "accepted")
    transients = [(shas.index(history["runs"][one["from"]]["commit"]), one["points"]) for one in history["transients"]]
    card.hold("history: the odd nights", transients, any(abs(at - ODD[0]) <= 1 for at, _ in transients))
    first, last = SLOPE
    inside = [night for night in changes if first <= night <= last + 5]
    card.hold("history: the slope, as steps or as such", inside or history["trend"], bool(inside or history["trend"]))
    others = [n for n in changes if n not in inside and not any(abs(n - at) <= 2 for at in (STEP, SWAP, MEANT))]
    card.hold("history: nothing else", others, not others)
    card.hold("history: nights without success", history["failed"], history["failed"] == len(FAILED))
    card.hold("history: disturbed nights", history["disturbed"], history["disturbed"] == len(DISTURBED))
    beside = history["beside"].get("of pull requests")
    card.hold("history: pull requests beside", beside, beside == len(PULLS))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--perftrail", type=Path, help="another program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="leave the results repository there")
    arguments = parser.parse_args()
    binary = (arguments.perftrail or built()).resolve()
    card = Card()
    with tempfile.TemporaryDirectory(prefix="bench-nights-") as scratch:
        bench = Bench(Path(scratch), binary, arguments.seed)
        begin, said, pulls = time.monotonic(), {}, {}
        for night in range(NIGHTS):
            said[night] = bench.night(night)
            if night in PULLS:
                pulls[night] = bench.pull(night)
            if night == ACCEPTED:
                why = ["--because", "exact solver", "--author", "bench"]
                bench.run("accept", "cpu_time", "--since", bench.shas[MEANT], *why)
        count = len(said) + len(pulls)
        print(f"published {count} runs one by one in {time.monotonic() - begin:.0f} s, seed {arguments.seed}")
        hold_nights(card, said)
        young = {night for change in (0, STEP, SWAP, MEANT) for night in range(change, change + NEWS + 3)}
        loud = Counter(words(verdict) for night, verdict in pulls.items() if night not in young)
        is_right = all(told.startswith("regressed") and told.endswith("warns") for told in loud)
        card.hold("pull requests, half as slow again: warn", dict(loud), is_right)
        early = Counter(words(verdict) for night, verdict in pulls.items() if night in young)
        card.hold("  on a young level: never fail", dict(early), not any(told.endswith("fails") for told in early))
        history = json.loads(bench.run("history", "--metric", "cpu_time", "--format", "json"))["histories"]
        card.hold("one history", len(history), len(history) == 1)
        hold_history(card, history[0], bench.shas)
        sound = bench.run("fsck", codes=(0, 3))
        card.hold("the repository is sound", sound.strip().splitlines()[-1], "no faults" in sound)
        if arguments.keep:
            shutil.copytree(bench.repository, arguments.keep)
    print("\nall was told as it was" if not card.missed else f"\n{card.missed} words were wrong")
    sys.exit(1 if card.missed else 0)


if __name__ == "__main__":
    main()
