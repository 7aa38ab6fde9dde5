#!/usr/bin/env python3
"""What publishing one run costs in a results repository of years. Ends with 1 when a limit is exceeded.

A repository of 10,000 runs over three years and one of 10 runs lie behind a git server over HTTP on
this machine, which counts every byte of requests and answers, headers included. Runs are published
into both in turn, then one goes into the large one in the old way: full clone, copy, commit, push.

1. Wall time: at most 3 times that of the small repository (medians).
2. Received: at most 400 B a stored run, and the old content of the files that are rewritten. The
   newest 200 points of each history shown are read too, whatever there is: fewer runs may add 300 kB.
3. Pushed: at most the run's own files, compressed, and 20 kB.
4. At least 20 times faster than the full clone over a link of 100 Mbit/s on which a question and its
   answer take 20 ms. Without a link, as between two programs of one machine, it is told without a
   limit: there the clone costs no time on the way. With --short there are 1,000 runs, for which a
   full clone is cheap: then both are only told.

    cargo build --release && python3 bench/publishing.py [--short] [--runs N]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from datetime import timedelta
from pathlib import Path

import corpus
import gitserver
from overhead import perftrail

WALL_LIMIT = 3.0
RECEIVED_LIMIT = 400  # bytes a stored run
PUSHED_LIMIT = 20_000  # bytes beside the run's own
POINTS_LIMIT = 300_000  # bytes of index lines that any landing page may need
CLONE_LIMIT = 20.0
LINK = gitserver.Link(rate=12.5e6, delay=0.02)
FULL = 10_000  # runs
TURNS = 5


class Bench:
    def __init__(self, scratch, runs, binary):
        self.scratch, self.runs, self.binary = scratch, runs, binary
        (scratch / "home").mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(scratch / "home"),
            "RUNNER_TEMP": str(scratch),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PERFTRAIL_RESULTS_TOKEN": gitserver.TOKEN,
        }
        self.server = gitserver.Server(scratch / "server")
        self.made = 0

    def repository(self, name):
        return self.scratch / "server" / name

    def git(self, folder, *arguments):
        done = subprocess.run(
            ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", *arguments],
            cwd=folder, env=self.environment, capture_output=True, check=False,
        )
        if done.returncode:
            sys.exit(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def bundle(self):
        """A run that is not there yet, and its bundle."""
        self.made += 1
        run = corpus.Run(1_000_000 + self.made, corpus.END + timedelta(minutes=self.made))
        folder = self.scratch / "bundles" / str(self.made)
        run.write_bundle(folder)
        return run, folder

    def publish(self, name):
        """Publishes a run; gives seconds, bytes pushed and received, and the run."""
        run, folder = self.bundle()
        before = self.git(self.repository(name), "rev-parse", "results").decode().strip()
        self.server.take()
        start = time.monotonic()
        done = subprocess.run(
            [self.binary, "publish", folder, "--to", self.server.url(name)],
            cwd=self.scratch, env=self.environment, capture_output=True, check=False,
        )
        seconds = time.monotonic() - start
        if done.returncode or run.path.encode() not in done.stderr:
            sys.exit(f"perftrail publish ended with {done.returncode}: {done.stderr.decode()}")
        return seconds, *self.server.take(), run, before

    def rewritten(self, name, before):
        """Bytes, compressed, of what the last publish rewrote: as they were before it."""
        changes = self.git(self.repository(name), "diff-tree", "-r", "--diff-filter=M", before, "results")
        ids = [line.split()[2].decode() for line in changes.splitlines()]
        return sum(len(zlib.compress(self.git(self.repository(name), "cat-file", "blob", id))) for id in ids)

    def own(self, name, run):
        """Bytes, compressed, of the run's folder as it was published."""
        listed = self.git(self.repository(name), "ls-tree", "-r", f"results:{run.path}")
        ids = [line.split()[2].decode() for line in listed.splitlines()]
        return sum(len(zlib.compress(self.git(self.repository(name), "cat-file", "blob", id))) for id in ids)

    def by_clone(self, name):
        """The old way; gives seconds and bytes received."""
        run, folder = self.bundle()
        host, path = self.server.url(name).removeprefix("http://").split("/", 1)
        url = f"http://x-access-token:{gitserver.TOKEN}@{host}/{path}"
        work = self.scratch / f"clone-{self.made}"
        self.server.take()
        start = time.monotonic()
        self.git(self.scratch, "clone", "--quiet", url, str(work))
        target = work / run.path
        target.mkdir(parents=True)
        for file in folder.iterdir():
            (target / file.name).write_bytes(file.read_bytes())
        self.git(work, "add", "--all")
        self.git(work, "commit", "--quiet", "--message", "Add a run")
        self.git(work, "push", "--quiet")
        return time.monotonic() - start, self.server.take()[1]


def measure(bench):
    """All limits in one go: name, value, limit, and whether it holds."""
    times = {"small": [], "large": []}
    received, pushed = [], []
    # The first of each warms the disk's cache.
    for turn in range(TURNS + 1):
        for name in times:
            seconds, sent, got, run, before = bench.publish(name)
            if turn == 0:
                continue
            times[name].append(seconds)
            if name == "large":
                received.append((got - bench.rewritten(name, before)) / bench.runs)
                pushed.append(sent - bench.own(name, run))
    small, large = (statistics.median(times[name]) for name in ("small", "large"))
    print(f"publishing a run: {large:.2f} s among {bench.runs} runs, {small:.2f} s among 10 (medians of {TURNS})")
    clone, cloned = bench.by_clone("large")
    print(f"full clone, copy, commit and push: {clone:.1f} s, {cloned / 1e6:.0f} MB received")
    bench.server.link = LINK
    far = statistics.median(bench.publish("large")[0] for _ in range(TURNS))
    far_clone, _ = bench.by_clone("large")
    print(f"over a link of 100 Mbit/s and 20 ms: {far:.2f} s, and {far_clone:.1f} s by a full clone")
    yield "wall time against 10 runs", large / small, WALL_LIMIT, large / small <= WALL_LIMIT
    limit = RECEIVED_LIMIT + (0 if bench.runs >= FULL else POINTS_LIMIT / bench.runs)
    yield "received, B a stored run", max(received), limit, max(received) <= limit
    yield "pushed beside the run, B", max(pushed), PUSHED_LIMIT, max(pushed) <= PUSHED_LIMIT
    yield "times faster than a full clone on one machine", clone / large, None, True
    faster, limit = far_clone / far, CLONE_LIMIT if bench.runs >= FULL else None
    yield "times faster than a full clone over the link", faster, limit, limit is None or faster >= limit


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="1,000 runs")
    parser.add_argument("--runs", type=int, help="so many runs")
    parser.add_argument("--perftrail", type=Path, help="another program")
    arguments = parser.parse_args()
    runs = arguments.runs or (1_000 if arguments.short else FULL)
    binary = (arguments.perftrail or perftrail()).resolve()
    with tempfile.TemporaryDirectory(prefix="bench-publishing-") as scratch:
        bench = Bench(Path(scratch), runs, binary)
        for name, count in (("small", 10), ("large", runs)):
            start = time.monotonic()
            corpus.make(bench.repository(name), count, binary, bench.environment)
            print(f"made a repository of {count} runs in {time.monotonic() - start:.0f} s", flush=True)
        held = True
        for what, value, limit, is_held in measure(bench):
            told = "told only" if limit is None else f"limit {limit:g}"
            print(f"{'ok ' if is_held else 'NOT'} {what}: {value:.2f} ({told})")
            held &= is_held
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
