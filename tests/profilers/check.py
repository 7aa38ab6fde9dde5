"""Runs the example under each profiler and looks at what the record says.

Prints a line for each run, `FAILED` before those that are not as they should be.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SLOW = """
def step(n):
    total = 0
    for i in range(n):
        total += i * i
    return total

def hold(n):
    return [bytearray(4096) for _ in range(n)]

def main():
    kept = hold(500)
    for _ in range(300):
        step(60_000)
    return len(kept)

def test_main():
    assert main() == 500

if __name__ == "__main__":
    import sys
    main()
    sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""
# Profiler, what of the program it must name, unit and kind of its first weight.
EXPECTED = {
    "pyinstrument": ("step", "s", "sampled"),
    "cprofile": ("step", "s", "traced"),
    "scalene": ("step", "ratio", "sampled"),
    "py-spy": ("step", "s", "sampled"),
    "memray": ("hold", "B", "exact"),
    "perf": (None, "s", "sampled"),
}
COMMANDS = {
    "file": ["python", "slow.py", "7"],
    "module": ["python", "-m", "pkg.slow", "7"],
    "pytest": ["pytest", "-q", "-p", "no:cacheprovider", "slow.py"],
}


def record_of(program, venv, folder, profiler, command, more=()):
    shutil.rmtree(folder / "perftrail-out", ignore_errors=True)
    env = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    env["PATH"] = f"{venv / 'bin'}:{os.environ['PATH']}"
    words = [program, "run", "--quiet", "--job", "j", "--profiler", profiler, *more, "--", *command]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    records = list((folder / "perftrail-out").glob("*/stats.json"))
    if len(records) != 1:
        return None, done.stderr
    return json.loads(records[0].read_text()), done.stderr


def faults(record, profiler, name, code):
    function, unit, measured = EXPECTED[profiler]
    if record["run"]["exit_code"] != code:
        yield f"exit code {record['run']['exit_code']} instead of {code}"
    if not record["tool"]["profiler"]["version"]:
        yield "no version"
    if not record["profiles"]:
        yield f"no profile: {[n['message'] for n in record['notices']]}"
        return
    weight = record["profiles"][0]["weights"][0]
    if (weight["unit"], weight["measured"]) != (unit, measured):
        yield f"weight {weight}"
    if not weight["sum"] > 0:
        yield "nothing was weighed"
    names = [one["function"] for one in record["functions"]]
    # What the program holds is little beside what pytest itself does at its peak.
    if (profiler, name) == ("memray", "pytest"):
        function = None
    if function and not any(function in known for known in names):
        yield f"{function} is not among {names[:12]}"
    unread = [n["message"] for n in record["notices"] if n["code"] in ("profile_unread", "profile_not_converted")]
    if unread:
        yield f"unread: {unread}"
    told = json.dumps([record["profiles"], record["functions"]])
    for private in (str(Path.home()), os.uname().nodename):
        if len(private) > 3 and private in told:
            yield f"the record tells {private}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--perftrail", required=True, type=Path)
    parser.add_argument("--venv", required=True, type=Path)
    options = parser.parse_args()
    program, venv = options.perftrail.resolve(), options.venv.resolve()
    example = (Path(__file__).parents[2] / "examples/simulation.py").resolve()
    failed = 0

    def check(what, record, said, found):
        nonlocal failed
        failed += bool(found)
        top = record["functions"][0]["function"] if record and record["functions"] else "-"
        version = record["tool"]["profiler"]["version"] if record else "-"
        print(f"{'FAILED' if found else 'ok'}: {what}: {version}, first {top}{''.join(f'; {one}' for one in found)}")
        if found:
            print(said[-2000:])

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "pkg").mkdir()
        for path in ("slow.py", "pkg/slow.py"):
            (folder / path).write_text(SLOW)
        (folder / "pkg/__init__.py").write_text("")
        for profiler in EXPECTED:
            if profiler == "perf" and not shutil.which("perf"):
                print("SKIPPED: perf is not installed, so it was NOT run")
                continue
            for name, command in COMMANDS.items():
                record, said = record_of(program, venv, folder, profiler, command)
                code = 0 if name == "pytest" else 7
                found = list(faults(record, profiler, name, code)) if record else ["no record"]
                check(f"{profiler}, {name}", record, said, found)
            command = ["python", str(example), "--years", "8", "--initial-population", "2000", "--out", "out"]
            record, said = record_of(program, venv, folder, profiler, command, ["--repetitions", "2"])
            found = [] if record and record["profiles"] and record["metrics"]["cpu_time"]["n"] == 1 else ["no profile beside one repetition that counts"]
            check(f"{profiler}, the example, two repetitions", record, said, found)
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
