"""A results repository as it is after years: the same runs every time, made from a golden record.

Each run has its record, two pages, and 20 kB that do not compress: a log and a profile. Run folders
come by `git fast-import`, one commit a run; index, landing page and drawings are then made by
`perftrail fsck --rebuild`, which leaves what publishing would have left.
"""

import copy
import gzip
import hashlib
import json
import random
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "tests/fixtures/records/v1/succeeded.json"
END = datetime(2026, 11, 30, 8, 0, tzinfo=timezone.utc)
SPAN = timedelta(days=3 * 365)
JOBS = ("simulation", "calibration", "scenarios")
LOG_BYTES = 8_000
PROFILE_BYTES = 12_000


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def stored(content):
    """A gzip file of the same size as its content, without a time."""
    return gzip.compress(content, 0, mtime=0)


def digest(record):
    """As `record::canonical` makes it: without what publishing sets."""
    record = copy.deepcopy(record)
    del record["run"]["digest"], record["run"]["identity"], record["commit"]["against"]
    record.pop("comparison", None)
    for file in record["files"]:
        file.pop("left_out", None)
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode())


def iso(when):
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


class Run:
    """Run number `number` of a repository; `start` is when it began."""

    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))

    def __init__(self, number, start):
        chance = random.Random(number)
        self.start = start
        self.job = JOBS[number % len(JOBS)]
        self.sha = chance.randbytes(20).hex()
        log, profile = chance.randbytes(LOG_BYTES), chance.randbytes(PROFILE_BYTES)
        self.record = self.make_record(number, chance, {"log.txt.gz": log, "profile.json.gz": profile})
        self.files = {
            "stats.json": (json.dumps(self.record, indent=2) + "\n").encode(),
            "log.txt.gz": stored(log),
            "profile.json.gz": stored(profile),
        }

    def make_record(self, number, chance, files):
        record = copy.deepcopy(self.golden)
        run, commit = record["run"], record["commit"]
        run.update(id=f"schedule-{number + 1}-1-{self.job}", job=self.job)
        run.update(planned=iso(self.start), started=iso(self.start), ended=iso(self.start + timedelta(minutes=3)))
        commit.update(sha=self.sha, parents=[chance.randbytes(20).hex()], merge_base=self.sha)
        for metric in record["metrics"].values():
            metric["value"] = round(metric["value"] * chance.uniform(0.98, 1.02), 2)
            metric["repetitions"] = [round(metric["value"] * chance.uniform(0.99, 1.01), 2) for _ in range(3)]
        record["files"] = [
            {"path": path, "bytes": len(content), "sha256": sha256(content), "role": "bundle", "left_out": None}
            for path, content in files.items()
        ]
        run["digest"] = digest(record)
        return record

    @property
    def path(self):
        run = self.record["run"]["id"]
        return f"runs/{self.sha[:2]}/{self.sha}/{self.start:%Y-%m-%d}/{run}"

    def write_bundle(self, folder):
        folder.mkdir(parents=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)


def starts(count):
    """When each of `count` runs began, evenly over three years."""
    step = SPAN / count
    return [(END - SPAN + step * number).replace(microsecond=0) for number in range(count)]


def commands(count):
    """What `git fast-import` reads."""
    for number, start in enumerate(starts(count)):
        run = Run(number, start)
        who = f"perftrail <perftrail@localhost> {int(start.timestamp())} +0000"
        yield b"commit refs/heads/results\n"
        yield f"author {who}\ncommitter {who}\n".encode()
        yield data(f"Add {run.job} run\n".encode())
        page = f"# {run.path}\n".encode()
        for name, content in {**run.files, "README.md": page, "report.html": b"<!doctype html>" + page}.items():
            yield f"M 100644 inline {run.path}/{name}\n".encode()
            yield data(content)


def data(content):
    return b"data %d\n%s\n" % (len(content), content)


def make(folder, count, perftrail, environment):
    """A bare repository of `count` runs in `folder`."""

    def git(*arguments, stdin=None):
        return subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, input=stdin)

    folder.mkdir(parents=True)
    git("init", "--quiet", "--bare", "--initial-branch", "results", ".")
    with subprocess.Popen(
        ["git", "fast-import", "--quiet", "--date-format=raw"], cwd=folder, env=environment, stdin=subprocess.PIPE
    ) as child:
        for command in commands(count):
            child.stdin.write(command)
    if child.returncode:
        raise SystemExit(f"git fast-import ended with {child.returncode}")
    rebuild = [str(perftrail), "fsck", "--rebuild", "--to", str(folder)]
    done = subprocess.run(rebuild, env=environment, capture_output=True, text=True, cwd=folder.parent)
    if done.returncode or "no faults" not in done.stdout:
        raise SystemExit(f"the repository of {count} runs is not sound:\n{done.stdout[-2000:]}{done.stderr}")
    # As a server keeps it.
    git("repack", "-a", "-d", "--quiet", "--write-bitmap-index")
    for key in ("http.receivepack", "uploadpack.allowFilter"):
        git("config", key, "true")
