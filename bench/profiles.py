#!/usr/bin/env python3
"""How quickly large profiles are read, beside the tool that wrote them: ratios of one run.

    python3 bench/profiles.py [--short] [--perftrail PROGRAM] [--pyinstrument PYTHON]

Makes a pyinstrument session of 300 MB (30 MB with --short), collapsed stacks and a speedscope file of
100 MB (always: of a smaller one, starting and writing the pages is most of the time), imports each
with `perftrail import files`, and has pyinstrument load and render its own session. PYTHON is an
interpreter that has pyinstrument; without one it is installed into the folder of the bench.
Ends with 1 when a limit is not kept.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYINSTRUMENT = "pyinstrument==5.1.3"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
MB = 1_000_000

# Limits: how many times less time than pyinstrument, bytes resident, bytes per second of CPU time.
FASTER = 10
RESIDENT = 200 * MB
RATE = 100 * MB


class Program:
    """A made-up program: functions that call each other the same way every time."""

    def __init__(self, seed=1):
        self.chance = random.Random(seed)
        self.functions = [
            (f"function_{i}", f"/srv/model/package_{i % 12}/module_{i % 40}.py", 10 + i % 900)
            for i in range(400)
        ]
        self.stacks = [self.stack() for _ in range(3000)]

    def stack(self):
        """Stacks share their beginnings, as real ones do."""
        depth, node, stack = self.chance.randint(8, 30), 0, []
        for _ in range(depth):
            stack.append(node)
            node = (node * 7 + 1 + min(int(self.chance.expovariate(1.2)), 5)) % len(self.functions)
        return stack

    def samples(self):
        """Stacks in the order of time: mostly the one before, or one near it."""
        at = 0
        while True:
            if self.chance.random() < 0.6:
                at = min(max(at + self.chance.randint(-2, 2), 0), len(self.stacks) - 1)
            else:
                at = self.chance.randrange(len(self.stacks))
            yield self.stacks[at]


def write_session(path, size):
    program = Program()
    frame = [
        json.dumps(f"{name}\0{file}\0{line}\x01l{line + 3}") for name, file, line in program.functions
    ]
    start = json.dumps("MainThread\0<thread>\0140000000000000")
    with path.open("w") as out:
        out.write('{"start_time": 1.0, "duration": 1.0, "min_interval": 0.001, "max_interval": 0.001, ')
        out.write(f'"sample_count": 1, "start_call_stack": [{start}, "main"], ')
        out.write('"target_description": "bench", "cpu_time": 1.0, ')
        out.write('"sys_path": [], "sys_prefixes": [], "frame_records": [')
        written, separator = 0, ""
        for stack in program.samples():
            text = f"{separator}[[{start}, {', '.join(frame[at] for at in stack)}], 0.0010]"
            separator = ", "
            written += out.write(text)
            if written >= size:
                break
        out.write("]}")


def write_collapsed(path, size):
    program = Program(2)
    frame = [f"{name} ({file}:{line})" for name, file, line in program.functions]
    with path.open("w") as out:
        written = 0
        for count, stack in enumerate(program.samples()):
            written += out.write(f"{';'.join(frame[at] for at in stack)} {count % 17 + 1}\n")
            if written >= size:
                break


def write_speedscope(path, size):
    program = Program(3)
    frames = [{"name": name, "file": file, "line": line} for name, file, line in program.functions]
    with path.open("w") as out:
        out.write('{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": ')
        out.write(json.dumps(frames))
        out.write('}, "profiles": [{"type": "sampled", "name": "main", "unit": "seconds", "samples": [')
        written, count, separator = 0, 0, ""
        for stack in program.samples():
            written += out.write(f"{separator}[{','.join(map(str, stack))}]") + 6
            separator, count = ",", count + 1
            if written >= size:
                break
        out.write('], "weights": [' + ",".join(["0.01"] * count) + "]}]}")


def run(words, **more):
    """Wall seconds, CPU seconds and greatest resident bytes of a command."""
    begin = time.monotonic()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{words}: {child.returncode}\n{said.decode(errors='replace')}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def imported(program, file, folder):
    """Reads a file as a user would: a bundle with profile and page, raw files dropped."""
    project = folder / "project"
    shutil.rmtree(project, ignore_errors=True)
    (project / "in").mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    (project / "perftrail.toml").write_text('[results]\nraw = "never"\n')
    os.link(file, project / "in" / file.name)
    words = [program, "import", "files", "in", "--job", "bench", "--commit", COMMIT, "--quiet"]
    took = run(words, cwd=project)
    (record,) = project.glob("perftrail-out/*/stats.json")
    (profile,) = json.loads(record.read_text())["profiles"]
    (weight, *_) = profile["weights"]
    return took, f"{weight['sum']:,.2f} {weight['unit']} in {profile['functions']} functions"


def interpreter(given, folder):
    if given:
        return given
    venv = folder / "venv"
    if not (venv / "bin/python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        pip = [str(venv / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, PYINSTRUMENT], check=True)
    return str(venv / "bin/python")


def line(name, size, took, more=""):
    wall, cpu, resident = took
    print(
        f"{name:<34} {size / MB:6.0f} MB {wall:7.2f} s {cpu:7.2f} s CPU "
        f"{size / MB / cpu:6.0f} MB/s {resident / MB:6.0f} MB resident  {more}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a session of 30 MB")
    parser.add_argument("--perftrail", default=str(ROOT / "target/release/perftrail"))
    parser.add_argument("--pyinstrument", help="a Python that has pyinstrument")
    args = parser.parse_args()
    program = str(Path(args.perftrail).resolve())
    bench = ROOT / "target/bench-profiles"
    bench.mkdir(parents=True, exist_ok=True)
    failed = []

    def limit(what, kept):
        print(f"    {'kept' if kept else 'NOT KEPT'}: {what}", flush=True)
        if not kept:
            failed.append(what)

    with tempfile.TemporaryDirectory(dir=bench) as scratch:
        scratch = Path(scratch)
        for name, write, size in [
            ("pyinstrument session", write_session, (30 if args.short else 300) * MB),
            ("collapsed stacks", write_collapsed, 100 * MB),
            ("speedscope", write_speedscope, 100 * MB),
        ]:
            file = scratch / (name.replace(" ", "-") + ".txt")
            write(file, size)
            size = file.stat().st_size
            took, found = imported(program, file, scratch)
            line(f"{name}: perftrail", size, took, found)
            if name == "pyinstrument session":
                python = interpreter(args.pyinstrument, bench)
                page = str(scratch / "page.html")
                words = [python, "-m", "pyinstrument", "--load", str(file), "-r", "html", "-o", page]
                own = run(words)
                line(f"{name}: pyinstrument", size, own)
                ratio = own[0] / took[0]
                limit(f"{ratio:.1f} times less time, {FASTER} wanted", ratio >= FASTER)
                limit(f"{took[2] / MB:.0f} MB resident, {RESIDENT // MB} allowed", took[2] <= RESIDENT)
            else:
                rate = size / took[1]
                limit(f"{rate / MB:.0f} MB per CPU second, {RATE // MB} wanted", rate >= RATE)
            file.unlink()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
