#!/usr/bin/env python3
"""What measuring costs, as ratios. Ends with 1 when a limit is exceeded.

1. A job runs alone and under perftrail in turn, many times. It does a fixed amount of work and
   counts its own CPU time, so that perftrail's reading cannot flatter us. The two of a pair are cut
   into slices that take turns, for a shared machine is faster in one second than in the next. The
   upper end of the 95 % interval of the ratio may be at most 1.01; with --short, the lower end.
2. A job of 1, 10 and 100 processes that keep changing their memory runs for a minute. The record
   tells what the threads of the sampler and of the sweeps for proportional memory (PSS) took: at
   most 0.5 % and 1 % of a core. The rest (start, streams, the record every few seconds) is told.
3. For comparison, without a limit: GNU time and psrecord, where they can be had.

    cargo build --release && python3 bench/overhead.py [--short]
"""

import argparse
import json
import math
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKLOAD = Path(__file__).resolve().with_name("workload.py")

JOB_LIMIT = 1.01  # the job's CPU time against bare
SAMPLER_LIMIT = 0.005  # of a core
PSS_LIMIT = 0.01  # of a core
SLICES = 10  # of each of the two of a pair

# Quantiles of Student's t at 97.5 %, by degrees of freedom; between two the larger one counts.
STUDENT = {4: 2.776, 9: 2.262, 19: 2.093, 29: 2.045, 39: 2.023}


def student(freedom):
    return STUDENT[max((known for known in STUDENT if known <= freedom), default=4)]


def perftrail():
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    binary = target / "release" / "perftrail"
    if not binary.exists():
        sys.exit(f"{binary} is not there: run 'cargo build --release' first")
    return binary


def run(command, folder):
    """Run a command in `folder`; its CPU time with that of all children, in seconds."""
    child = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command[0]} ended with {child.returncode}:\n{errors.decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime


class Pairs:
    """A job alone and under a tool, in turn, `pairs` times each."""

    def __init__(self, name, wrap, processes, pairs, seconds, scratch):
        self.ratios, self.extra = [], []
        self.name, self.processes = name, processes
        told = scratch / "cpu-time"
        job = [sys.executable, str(WORKLOAD), "work", str(processes), str(seconds / SLICES), str(told)]

        def once(command):
            whole = run(command, scratch)
            own = float(told.read_text(encoding="ascii"))
            told.unlink()
            return own, whole - own

        def turn(bare_first):
            """A slice of each: CPU time alone, under the tool, and what the tool took besides."""
            if bare_first:
                (bare, _), (with_tool, extra) = once(job), once(wrap(job))
            else:
                (with_tool, extra), (bare, _) = once(wrap(job)), once(job)
            return bare, with_tool, extra

        for pair in range(pairs):
            turns = [turn((pair + number) % 2 == 0) for number in range(SLICES)]
            bare, with_tool, _ = map(sum, zip(*turns))
            self.ratios.append(with_tool / bare)
            self.extra.extend(extra for _, _, extra in turns)

    def interval(self):
        """Mean of the ratios and the ends of its 95 % interval, in logarithms as ratios are."""
        logs = [math.log(ratio) for ratio in self.ratios]
        mean = statistics.fmean(logs)
        half = student(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
        return math.exp(mean), math.exp(mean - half), math.exp(mean + half)

    def over_limit(self, short):
        """Why the limit is not kept. A short run can show a cost, but not that there is none."""
        mean, low, high = self.interval()
        if short and low > JOB_LIMIT:
            yield f"{self.processes} processes: the job took at least {low:.4f} times its CPU time"
        if not short and high > JOB_LIMIT:
            noisy = " (the machine is too noisy to tell)" if high - mean > JOB_LIMIT - 1 else ""
            yield f"{self.processes} processes: the ratio may be {high:.4f}, over {JOB_LIMIT}{noisy}"

    def line(self):
        mean, low, high = self.interval()
        return (
            f"{self.name:<12} {self.processes:>4} {len(self.ratios):>6}   "
            f"{mean:.4f}  [{low:.4f}, {high:.4f}]   {statistics.median(self.extra):.3f} s"
        )


def own_cost(binary, processes, seconds, scratch):
    """Shares of a core that sampler, PSS sweeps and the rest took over one long job."""
    output = scratch / f"out-{processes}"
    job = [sys.executable, str(WORKLOAD), "change", str(processes), str(seconds)]
    run([str(binary), "run", "--quiet", "--output", str(output), "--", *job], scratch)
    (path,) = output.glob("*/stats.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    overhead, duration = record["overhead"], record["metrics"]["duration"]["value"]
    sampler, sweeps = overhead["sampler_cpu_time"], overhead["pss_cpu_time"]
    rest = overhead["cpu_time"] - sampler - sweeps
    return sampler / duration, sweeps / duration, rest / duration, overhead


def psrecord(scratch):
    """The program, from the path or installed apart; None where it cannot be had."""
    found = shutil.which("psrecord")
    if found:
        return found
    folder = scratch / "venv"
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True)
        pip = [folder / "bin" / "pip", "install", "--quiet", "psrecord"]
        subprocess.run(pip, check=True, capture_output=True, timeout=300)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"psrecord left out: it cannot be installed ({error})")
        return None
    return str(folder / "bin" / "psrecord")


def others(scratch):
    """Tools to compare with: name, and how a job is run under it."""
    found = {}
    gnu_time, recorder = shutil.which("time"), psrecord(scratch)
    if gnu_time:
        found["GNU time"] = lambda job: [gnu_time, "-o", str(scratch / "time.txt"), "-v", *job]
    else:
        print("GNU time left out: install the package 'time'")
    if recorder:
        options = ["--include-children", "--interval", "0.05", "--log", str(scratch / "psrecord.txt")]
        found["psrecord"] = lambda job: [recorder, shlex.join(job), *options]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--short", action="store_true", help="fewer and shorter runs, for CI")
    args = parser.parse_args()
    pairs, seconds, minute = (10, 1.0, 10) if args.short else (40, 2.0, 60)
    binary, failures = perftrail(), []
    began = time.monotonic()

    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)

        def ours(job):
            output = scratch / f"out-{time.monotonic_ns()}"
            return [str(binary), "run", "--quiet", "--output", str(output), "--", *job]

        print("The job's own CPU time against bare, and what the tool took besides (median)")
        print("tool         processes pairs ratio   95 % interval      besides")
        for processes in (1, 10):
            result = Pairs("perftrail", ours, processes, pairs, seconds, scratch)
            print(result.line(), flush=True)
            failures.extend(result.over_limit(args.short))
        for name, wrap in others(scratch).items():
            print(Pairs(name, wrap, 1, 5, seconds, scratch).line(), flush=True)

        print(f"\nShares of a core that perftrail took itself, over {minute} s")
        print("processes   sampler       PSS      rest  samples   interval")
        for processes in (1, 10, 100):
            sampler, sweeps, rest, overhead = own_cost(binary, processes, minute, scratch)
            print(
                f"{processes:>9}  {sampler:>7.3%}  {sweeps:>8.3%}  {rest:>8.3%}  {overhead['samples']:>7}  "
                f"{overhead['interval'] * 1000:>6.0f} ms",
                flush=True,
            )
            if sampler > SAMPLER_LIMIT:
                failures.append(f"{processes} processes: the sampler took {sampler:.3%} of a core")
            if sweeps > PSS_LIMIT:
                failures.append(f"{processes} processes: the sweeps took {sweeps:.3%} of a core")

    print(f"\n{time.monotonic() - began:.0f} s")
    for failure in failures:
        print(f"over the limit: {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
