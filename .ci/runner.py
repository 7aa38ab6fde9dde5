"""What GitHub's runner does for the steps of a job: folders, owners, environment, files.

Scripts that use it are called as

    SCRIPT ACTION_DIR IMAGE WORK_DIR GIT_SERVER [SCENE]...

IMAGE is built from ACTION_DIR/Dockerfile, GIT_SERVER is the folder of the bench's git server, which
listens on 127.0.0.1:$GIT_PORT and takes the token `bench-token`.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

ACTION, IMAGE, WORK, SERVER = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
DOCKER = os.environ.get("DOCKER", "docker")
TOKEN, JOB_TOKEN = "bench-token", "ghs_token_of_the_job"
ADDRESS = f"http://127.0.0.1:{os.environ.get('GIT_PORT', '8418')}"
RUNNER = 1001  # the user of GitHub's hosted runners
FILES = {"GITHUB_OUTPUT": "set_output", "GITHUB_STATE": "save_state", "GITHUB_ENV": "set_env",
         "GITHUB_PATH": "add_path", "GITHUB_STEP_SUMMARY": "step_summary"}
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
       "GIT_AUTHOR_NAME": "ci", "GIT_AUTHOR_EMAIL": "ci@example.org",
       "GIT_COMMITTER_NAME": "ci", "GIT_COMMITTER_EMAIL": "ci@example.org"}

passed = failed = 0


def check(what, good, shown=""):
    global passed, failed
    if good:
        passed += 1
        print(f"ok   {what}", flush=True)
    else:
        failed += 1
        print(f"FAIL {what}\n{str(shown)[-3000:]}", flush=True)


def show(scenes):
    """Shows the scenes that are asked for, all by default, and ends the program."""
    chosen = sys.argv[5:]
    for scene in scenes:
        if not chosen or scene.__name__ in chosen:
            scene()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


def git(folder, *args, **more):
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", folder, *args], text=True, capture_output=True,
                          env={**os.environ, **GIT}, **more)
    if done.returncode:
        raise SystemExit(f"git {args}: {done.stderr}")
    return done.stdout.strip()


def values(text):
    """Names and values of one of the runner's files."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        if "<<" not in line:
            name, value = line.split("=", 1)
            found[name] = value
            continue
        name, word = line.split("<<", 1)
        value = []
        for more in lines:
            if more == word:
                break
            value.append(more)
        else:
            raise SystemExit(f"{name}: no closing {word}")
        found[name] = "\n".join(value)
    return found


def basic(token):
    """A token as git sends it."""
    return base64.b64encode(f"x-access-token:{token}".encode()).decode()


class Results:
    """The results repository behind the server."""

    def __init__(self, name):
        self.name = f"octo-org/{name}"
        self.path = SERVER / "repos" / f"{self.name}.git"
        shutil.rmtree(self.path, ignore_errors=True)
        subprocess.run([os.environ["BENCH_GIT_SERVER"], "repo", self.name], check=True, stdout=subprocess.DEVNULL)

    def records(self):
        if not git(self.path, "branch", "--list", "results"):
            return []
        tree = git(self.path, "ls-tree", "-r", "--name-only", "results").splitlines()
        paths = [path for path in tree if path.startswith("runs/") and path.endswith("/stats.json")]
        return [json.loads(git(self.path, "show", f"results:{path}")) for path in paths]

    def tree(self):
        return git(self.path, "ls-tree", "-r", "--name-only", "results").splitlines()


class Job:
    """One job of a workflow on a runner: a workspace, checked out if there are files, and steps in containers."""

    inputs = {}  # what every step is given
    variables = {}  # what is another than usual in its environment; None is not there

    def __init__(self, name, owner=RUNNER, files=None):
        self.name, self.owner = name, owner
        self.folder = WORK / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.workspace, self.temp = self.folder / "workspace", self.folder / "_temp"
        for part in ("_github_home", "_github_workflow", "_runner_file_commands"):
            (self.temp / part).mkdir(parents=True)
        self.workspace.mkdir()
        self.sha = "0" * 40
        if files:
            for path, text in files.items():
                (self.workspace / path).write_text(text)
            git(self.workspace, "init", "-q", "-b", "main")
            git(self.workspace, "add", "-A")
            git(self.workspace, "commit", "-q", "-m", "Begin")
            self.sha = git(self.workspace, "rev-parse", "HEAD")
        self.run_id = str(uuid.uuid4().int % 10**9)
        self.state = {}

    def begin(self, event, payload):
        """The event and the runner's files of a new step."""
        self.event = event
        (self.temp / "_github_workflow/event.json").write_text(json.dumps(payload or {}))
        commands, self.files = self.temp / "_runner_file_commands", {}
        for variable, name in FILES.items():
            self.files[variable] = commands / f"{name}_{uuid.uuid4()}"
            self.files[variable].touch(0o644)
        self.own()

    def own(self):
        subprocess.run(["chown", "-hR", f"{self.owner}:{self.owner}", self.workspace, self.temp], check=True)

    def usual(self):
        """What every step has in its environment, a container or not."""
        return {
            "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_ACTOR": "octocat",
            "GITHUB_API_URL": ADDRESS, "GITHUB_SERVER_URL": ADDRESS, "GITHUB_EVENT_NAME": self.event,
            "GITHUB_REPOSITORY": "octo-org/engine", "GITHUB_SHA": self.sha, "GITHUB_REF": "refs/heads/main",
            "GITHUB_RUN_ID": self.run_id, "GITHUB_RUN_NUMBER": "1", "GITHUB_RUN_ATTEMPT": "1",
            "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "RUNNER_NAME": "ci", "RUNNER_ENVIRONMENT": "github-hosted",
            **self.variables,
        }

    def start(self, event, payload=None, post=False, **inputs):
        """Starts a step of the Action; gives the docker process."""
        self.begin(event, payload)
        given = {name: "" for name in input_names()}
        given |= {**self.inputs, **{name.replace("_", "-"): value for name, value in inputs.items()}}
        variables = {
            "HOME": "/github/home", "GITHUB_EVENT_PATH": "/github/workflow/event.json",
            "GITHUB_WORKSPACE": "/github/workspace", "RUNNER_TEMP": "/github/runner_temp",
            "ACTIONS_RUNTIME_TOKEN": "runtime-secret", "ACTIONS_CACHE_URL": "http://cache/cache-secret",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "oidc-secret",
            **self.usual(),
            **{name: f"/github/file_commands/{path.name}" for name, path in self.files.items()},
            **{f"INPUT_{name.upper()}": value for name, value in given.items()},
            **({f"STATE_{name}": value for name, value in self.state.items()} if post else {}),
        }
        variables = {name: value for name, value in variables.items() if value is not None}
        self.container = f"perftrail-ci-{uuid.uuid4().hex[:12]}"
        command = [DOCKER, "run", "--rm", "--name", self.container, "--network", "host", "--workdir", "/github/workspace"]
        command += [word for name in variables for word in ("-e", name)]
        for host, inside in ((self.temp / "_github_home", "/github/home"),
                             (self.temp / "_github_workflow", "/github/workflow"),
                             (self.temp / "_runner_file_commands", "/github/file_commands"),
                             (self.temp, "/github/runner_temp"),
                             (self.workspace, "/github/workspace"), ("/var/run/docker.sock", "/var/run/docker.sock")):
            command += ["-v", f"{host}:{inside}"]
        command += ["--entrypoint", "/usr/local/bin/perftrail-post"] if post else []
        self.log_file = self.folder / ("post.log" if post else "log.txt")
        with open(self.log_file, "wb") as log:
            return subprocess.Popen([*command, IMAGE], env={**os.environ, **variables}, stdout=log,
                                    stderr=subprocess.STDOUT, start_new_session=True)

    def end(self, process):
        self.code = process.wait()
        self.log = self.log_file.read_text(errors="replace")
        self.summary = self.files["GITHUB_STEP_SUMMARY"].read_text()
        self.outputs = values(self.files["GITHUB_OUTPUT"].read_text())
        self.state.update(values(self.files["GITHUB_STATE"].read_text()))
        self.environment = self.files["GITHUB_ENV"].read_text() + self.files["GITHUB_PATH"].read_text()
        return self

    def step(self, event, payload=None, **inputs):
        return self.end(self.start(event, payload, **inputs))

    def post(self, **inputs):
        return self.end(self.start(self.event, post=True, **inputs))

    def roots_files(self):
        paths = [self.workspace, *self.workspace.rglob("*"), *self.temp.rglob("*")]
        return [str(path) for path in paths if os.lstat(path).st_uid != self.owner]

    def wait_for(self, word, process):
        """Until the job has said it; the docker program ends first when something is wrong."""
        while word not in self.log_file.read_text(errors="replace"):
            if process.poll() is not None:
                return False
            time.sleep(0.1)
        return True


def input_names():
    names, inside = [], False
    for line in (ACTION / "action.yml").read_text().splitlines():
        if not line.startswith(" ") and line:
            inside = line == "inputs:"
        elif inside and line.startswith("  ") and not line.startswith("   "):
            names.append(line.strip().rstrip(":"))
    return names
