"""Runs the Action as GitHub's runner does: its mounts, owners, environment, files, cancels.

Called as runner.py says.
"""

import json
import os
import shutil
import signal
import subprocess
import time

import runner
from runner import ACTION, ADDRESS, DOCKER, IMAGE, JOB_TOKEN, RUNNER, TOKEN, Results, check

BASE = "debian:bookworm-slim"  # what the image is made of

CONFIG = """
[triggers]
skip_unchanged = true

[[job]]
name = "model"
setup = "pip install --quiet --no-build-isolation --no-deps -e . && pip show --quiet model"
run = \"\"\"
python -c 'import getpass, model; print("user", getpass.getuser())'
echo x > ~/in-home && test -O ~/in-home && echo home-ok
echo data > {output}/result.csv; touch in-workspace
for i in $(seq 200000); do :; done
\"\"\"
on = ["workflow_dispatch", "push"]

[[job]]
name = "night"
run = "true"
on = ["schedule"]
"""

HUNT = r"""
found() { echo "FOUND $1"; }
secrets='bench-token|ghs_token_of_the_job|runtime-secret|cache-secret|oidc-secret'
env | grep -E "$secrets" && found environment
for p in /proc/[0-9]*; do
  tr '\0' '\n' < $p/environ 2>/dev/null | grep -E "$secrets" && found $p/environ
done
lines=$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ')
grep -E "$secrets" <<< "$lines" && found cmdline
python3 - <<'PY'
import os
for pid in filter(str.isdigit, os.listdir('/proc')):
    if int(pid) == os.getpid():
        continue
    try:
        maps = open(f'/proc/{pid}/maps').read().splitlines()
        mem = open(f'/proc/{pid}/mem', 'rb', 0)
    except OSError:
        continue
    for line in maps:
        span, rights = line.split()[:2]
        start, end = (int(x, 16) for x in span.split('-'))
        if 'r' not in rights or end - start > 1 << 28:
            continue
        try:
            mem.seek(start); data = mem.read(end - start)
        except (OSError, ValueError, OverflowError):
            continue
        # The words themselves stand in this script and in the shell that runs it.
        for word in (b'TOKEN=bench-', b'KEN=ghs_token', b'TOKEN=runtime-s', b'bench-tok' + b'en\0\0\0\0\0\0\0\0'):
            if word in data and b'found cmdline' not in data:
                print('FOUND memory of', pid, line, word)
PY
git config --list --show-origin 2>/dev/null | grep -Ei "$secrets|extraheader|password" && found git-config
grep -rIE "$secrets" /github /tmp /opt /home /root /etc /var /run 2>/dev/null | grep -v perftrail-plan- | grep -v -e hunt.sh -e event.json && found file
python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("/var/run/docker.sock")' 2>/dev/null && found docker-socket
test -r /var/run/docker.sock && found docker-socket-readable
[ "$(id -u)" != 0 ] || found root
[ "$(id -G)" = "$(id -g)" ] || found groups
grep -q '^CapEff:.*[1-9a-f]' /proc/self/status && found capabilities
for f in /github/file_commands/*; do echo 'NODE_OPTIONS=evil' >> "$f"; done
echo '::add-mask::e'; echo 'x ##[error]y'; printf '\r::error::z\r'; printf '\033]0;title\a\033[2J'
echo hunted
"""
FILES = {"perftrail.toml": CONFIG, "model.py": "x = 1\n", "setup.py":
         "from setuptools import setup\nsetup(name='model', version='1', py_modules=['model'])\n"}


class Job(runner.Job):
    """One step that does everything, with every credential."""

    inputs = {"command": "all", "results-token": TOKEN, "github-token": JOB_TOKEN}

    def __init__(self, name, owner=RUNNER, files=None):
        super().__init__(name, owner, {**FILES, **(files or {})})


def no_secret(job):
    texts = job.log + job.summary + json.dumps(job.outputs)
    return not any(word in texts for word in (TOKEN, JOB_TOKEN, "runtime-secret"))


def found(job):
    return " ".join(line for line in job.log.splitlines() if line.startswith("FOUND"))


def no_command(job):
    """No line between the marks of the job's output is a command to the runner."""
    lines = job.log.replace("\r", "\n").split("\n")
    begin = next((i for i, line in enumerate(lines) if line.startswith("::stop-commands::")), None)
    if begin is None:
        return False
    word = lines[begin].removeprefix("::stop-commands::")
    end = next(i for i, line in enumerate(lines) if line == f"::{word}::")
    inner = lines[begin + 1:end]
    bad = [line for line in inner if line.strip().startswith("::") or "##[" in line or "\033" in line]
    return not bad


def dispatch():
    results, job = Results("dispatch"), Job("dispatch")
    began = time.monotonic()
    job.step("workflow_dispatch", {"inputs": {"job": "model"}}, to=results.name)
    took = time.monotonic() - began
    check(f"dispatch: measured and published in {took:.1f} s", job.code == 0, job.log)
    records = results.records()
    check("  one record of the commit", [r["commit"]["sha"] for r in records] == [job.sha], records)
    check("  its tree holds record, pages, output", {"README.md", "perftrail.json"} <= set(results.tree()) and all(
        any(path.startswith("runs/") and path.endswith(f"/{name}") for path in results.tree())
        for name in ("stats.json", "report.html", "README.md", "files/result.csv", "log.txt.gz")), results.tree())
    record = records[0] if records else {"run": {}, "metrics": {}, "environment": {}}
    check("  identity and numbers", record["run"].get("identity") == "event"
          and record["run"].get("status") == "succeeded" and record["metrics"]["cpu_time"]["value"] > 0, record["run"])
    check("  pip install -e, user, home", "user perftrail" in job.log and "home-ok" in job.log, job.log)
    check("  outputs", job.outputs.get("status") == "succeeded" and job.outputs.get("commit") == job.sha
          and job.outputs.get("run-url", "").startswith(f"{ADDRESS}/{results.name}/tree/results/runs/"), job.outputs)
    check("  summary", "## model: succeeded" in job.summary and "CPU time" in job.summary, job.summary)
    check("  log without secrets or commands", no_secret(job) and no_command(job), job.log)
    check("  every file is the runner's", job.roots_files() == [], job.roots_files())
    job.post(to=results.name)
    check("  nothing is left for the end", job.code == 0 and len(results.records()) == 1, job.log)


def schedule_and_push():
    results, job = Results("clock"), Job("clock")
    job.step("schedule", {"schedule": "17 3 * * *"}, to=results.name)
    check("schedule: measured", job.code == 0 and len(results.records()) == 1, job.log)
    job.step("schedule", {"schedule": "17 3 * * *"}, to=results.name)
    check("schedule: an unchanged commit is passed over", job.outputs.get("run") == "false", job.log)
    job.run_id = str(int(job.run_id) + 1)
    job.step("push", {"ref": "refs/heads/main", "before": "0" * 40}, to=results.name)
    check("push: measured", job.code == 0 and len(results.records()) == 2, job.log)
    job.step("pull_request", {"pull_request": {"number": 7}}, to=results.name)
    check("pull_request: refused, with advice", job.code == 5 and "separate jobs" in job.log
          and len(results.records()) == 2, job.log)
    job.step("workflow_dispatch", {"inputs": {"ref": "v9"}}, to=results.name)
    check("another ref than the one that is there: refused", job.code == 5, job.log)


def failing():
    results, job = Results("failing"), Job("failing")
    job.step("workflow_dispatch", run="echo before; exit 7", to=results.name)
    records = results.records()
    check("failing job: published, code 3", job.code == 3 and [r["run"]["status"] for r in records] == ["failed"],
          job.log)
    check("  annotation and output", "::error title=" in job.log and job.outputs.get("job-exit-code") == "7", job.log)
    job.step("workflow_dispatch", run="true", job="no_token", to=results.name, results_token="wrong")
    check("a token that is refused: code 6, bundle kept", job.code == 6 and "perftrail publish" in job.log, job.log)
    check("  every file is the runner's", job.roots_files() == [], job.roots_files())


def hunt():
    results, job = Results("hunt"), Job("hunt", files={"hunt.sh": HUNT})
    job.step("workflow_dispatch", run="bash hunt.sh", to=results.name)
    check("hunt: the job ran to its end", job.code == 0 and "hunted" in job.log, job.log)
    check("  it found no secret", "FOUND" not in job.log and no_secret(job), job.log)
    check("  and could give the runner no command", no_command(job) and job.environment == "", job.log)
    check("  it is said that it tried", "files of the runner" in job.log, job.log)
    check("  every file is the runner's", job.roots_files() == [], job.roots_files())


def cancel():
    results, job = Results("cancel"), Job("cancel")
    process = job.start("workflow_dispatch", run="trap '' INT TERM; echo begun; sleep 600; sleep 600", to=results.name)
    check("cancel: the job runs", job.wait_for("begun", process))
    began = time.monotonic()
    for wait, sign in ((7.5, signal.SIGINT), (2.5, signal.SIGTERM), (30, signal.SIGKILL)):
        process.send_signal(sign)
        try:
            process.wait(wait)
            break
        except subprocess.TimeoutExpired:
            pass
    took = time.monotonic() - began
    job.end(process)
    check(f"  over after {took:.1f} s, before it is killed", sign != signal.SIGKILL and job.code == 3, job.log)
    check("  nothing published yet", results.records() == [] and job.outputs.get("status") == "cancelled", job.outputs)
    job.post(to=results.name)
    check("  published at the end of the job", [r["run"]["status"] for r in results.records()] == ["cancelled"], job.log)
    check("  every file is the runner's", job.roots_files() == [], job.roots_files())


def kill():
    results, job = Results("kill"), Job("kill")
    process = job.start("workflow_dispatch", run="echo begun; sleep 600", to=results.name)
    check("kill: the job runs", job.wait_for("begun", process))
    subprocess.run([DOCKER, "kill", job.container], stdout=subprocess.DEVNULL)
    job.end(process)
    job.post(to=results.name)
    check("  published at the end of the job",
          [r["run"]["status"] for r in results.records()] == ["interrupted"], job.log)
    check("  with a summary", "interrupted" in job.summary, job.summary)
    check("  every file is the runner's", job.roots_files() == [], job.roots_files())


def lost():
    results, job = Results("lost"), Job("lost")
    job.step("push", {"ref": "refs/heads/main"}, command="gate", to=results.name)
    plan = job.outputs.get("plan", "")
    check("gate: a plan, and nothing is measured", job.code == 0 and '"model"' in plan
          and not (job.workspace / "perftrail-out").exists(), job.log)
    job.step("push", command="publish", plan=plan, to=results.name)
    check("publish: the run of the plan that never came is lost, code 3", job.code == 3
          and [r["run"]["status"] for r in results.records()] == ["lost"] and "## model: lost" in job.summary, job.log)
    job.step("push", command="run", plan=plan)
    check("run: the plan, without a credential", job.code == 0 and job.outputs.get("status") == "succeeded", job.log)
    job.step("push", command="publish", plan=plan, to=results.name)
    check("publish: the bundle takes the place of the loss", job.code == 0
          and [r["run"]["status"] for r in results.records()] == ["succeeded"], job.log)
    check("  every file is the runner's", job.roots_files() == [], job.roots_files())


def wants_root():
    results, job = Results("wants_root"), Job("wants_root")
    job.step("workflow_dispatch", run="true", setup="apt-get install -y hello", to=results.name)
    check("a set-up that is root's: told in a sentence, published", job.code == 3
          and job.outputs.get("status") == "setup_failed" and "wants the rights of root" in job.log
          and len(results.records()) == 1, job.log)


def setup_in_an_image():
    """`setup/install.sh` as a step of a job with `container: debian`: no sudo, curl, wget, Python or gh."""
    job = Job("setup_action")
    (job.workspace / "action/setup").mkdir(parents=True)
    for name in ("setup/install.sh", "Cargo.toml"):
        shutil.copy(ACTION / name, job.workspace / "action" / name)
    binary = subprocess.run([DOCKER, "run", "--rm", "--entrypoint", "cat", IMAGE, "/usr/local/bin/perftrail"],
                            check=True, stdout=subprocess.PIPE).stdout
    (job.workspace / "perftrail").write_bytes(binary)
    subprocess.run(["chown", "-R", f"{RUNNER}:{RUNNER}", job.workspace, job.temp], check=True)

    def install(*variables):
        given = ["RUNNER_TEMP=/temp", "GITHUB_PATH=/temp/path", "GITHUB_OUTPUT=/temp/output", *variables]
        command = [DOCKER, "run", "--rm", "--network", "none", "--user", str(RUNNER), "--workdir", "/work"]
        command += [word for one in given for word in ("-e", one)]
        command += ["-v", f"{job.workspace}:/work", "-v", f"{job.temp}:/temp", "--entrypoint", "sh", BASE,
                    "-ec", "sh action/setup/install.sh && \"$(cat /temp/path)/perftrail\" run -- echo measured"]
        return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    done = install("PERFTRAIL_SETUP_PATH=perftrail")
    check("setup in a container job, by path: measures", done.returncode == 0 and "measured" in done.stdout
          and "succeeded" in done.stdout, done.stdout)
    done = install()
    check("setup in a container job, by release: says what is missing", done.returncode == 1
          and "neither curl, wget nor python3" in done.stdout, done.stdout)


def roots_workspace():
    results, job = Results("root"), Job("root", owner=0, files={"hunt.sh": HUNT})
    job.step("workflow_dispatch", run="bash hunt.sh", to=results.name)
    check("a workspace of root: measured, and the risk is told", job.code == 0 and "Docker socket" in job.log, job.log)
    check("  the hunt finds what there is to find", "FOUND docker-socket" in job.log and "FOUND root" in job.log, job.log)
    check("  but no variable and no memory", "environ" not in found(job) and "memory" not in found(job), job.log)


def figures():
    size = int(subprocess.run([DOCKER, "image", "inspect", "-f", "{{.Size}}", IMAGE], check=True, text=True,
                              stdout=subprocess.PIPE).stdout)
    check(f"the image has {size / 1e6:.0f} MB, at most 250", size <= 250e6)
    # What the container's own cgroup has used, or what its processes did where there is no cgroup.
    run = ("if [ -r /sys/fs/cgroup/cpu.stat ]; then awk '$1 == \"usage_usec\" {print \"cpu_us\", $2}' /sys/fs/cgroup/cpu.stat; "
           "else awk '{printf \"cpu_us %d\\n\", $1 / 1000}' /sys/fs/cgroup/cpuacct/cpuacct.usage; fi")
    results, cpu, wall = Results("figures"), [], []
    for number in range(5):
        job = Job("figures")
        began = time.monotonic()
        job.step("workflow_dispatch", run=run, to=results.name)
        wall.append(time.monotonic() - began)
        cpu += [float(line.split()[1]) / 1000 for line in job.log.splitlines() if line.startswith("cpu_us")][:1]
    if cpu:
        median = sorted(cpu)[len(cpu) // 2]
        check(f"CPU from the container's start to the job: {median:.0f} ms, at most 300 ({cpu})", median <= 300)
    else:
        check("CPU from the container's start to the job: not measured here, the cgroup tells nothing", True)
    print(f"     a run that measures `true` and publishes takes {sorted(wall)[2]:.1f} s without a pull", flush=True)


SCENES = (dispatch, schedule_and_push, failing, lost, wants_root, hunt, cancel, kill, roots_workspace,
          setup_in_an_image, figures)
runner.show(SCENES)
