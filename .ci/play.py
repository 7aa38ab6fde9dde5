"""Plays a reusable workflow of this repository: job after job, each on a machine of its own.

What a job is given is read from the workflow: the environment of each step, the inputs of actions,
the token of the job with the rights that `permissions` names, outputs of other jobs, artifacts. A
machine is a container in which the steps run as the runner's user; a step of the Action is a
container of its own, as on GitHub.
"""

import json
import os
import re
import shutil
import subprocess
import uuid

import yaml

import runner
from runner import ACTION, ADDRESS, DOCKER, IMAGE, git

HOME, TEMP, WORKSPACE, ACTIONS = (f"/home/runner{path}" for path in
                                  ("", "/work/_temp", "/work/engine/engine", "/work/_actions"))
PART = re.compile(r"\s*('(?:[^']|'')*'|&&|\|\||[!=]=|!|[()]|[\w.-]+)")
WORDS = {"&&": " and ", "||": " or ", "!": " not ", "true": "True", "false": "False", "null": "None"}
FUNCTIONS = ("always", "cancelled", "success", "failure", "fromJSON")


def evaluate(text, contexts, functions):
    """The value of an expression of a workflow."""
    source, at, text = "", 0, text.strip()
    while at < len(text):
        part = PART.match(text, at)
        if not part:
            raise SystemExit(f"an expression that is not understood: {text}")
        word, at = part.group(1), part.end()
        if word[0] == "'":
            source += repr(word[1:-1].replace("''", "'"))
        elif word in WORDS or word in ("(", ")", "==", "!=") or word in FUNCTIONS:
            source += WORDS.get(word, word)
        else:
            source += f"look({word!r})"

    def look(name):
        value = contexts
        for key in name.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value

    return eval(source.strip(), {"look": look, "fromJSON": json.loads, **functions})


def filled(text, contexts, functions):
    """A text with its expressions put in."""
    def value(found):
        return told(evaluate(found.group(1), contexts, functions))
    return re.sub(r"\$\{\{(.*?)\}\}", value, told(text))


def told(value):
    """A value of YAML or of an expression as text."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


class Dead(Exception):
    """The machine ended in the middle of a step."""


class Machine(runner.Job):
    """A job of the workflow."""

    def __init__(self, play, name):
        super().__init__(f"{play.name}-{name}")
        self.play, self.run_id, self.sha = play, play.run_id, play.sha
        self.event, self.log, self.summary, self.outputs, self.path = play.event, "", "", {}, []
        self.variables = {**play.variables, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": None,
                          "ACTIONS_RUNTIME_TOKEN": play.secret("runtime", name)}
        (self.folder / "home").mkdir()
        shutil.copytree(ACTION / "setup", self.folder / "actions/setup")
        shutil.copy(ACTION / "Cargo.toml", self.folder / "actions")
        subprocess.run(["chown", "-R", f"{self.owner}:{self.owner}", self.folder], check=True)
        self.machine, self.held = None, set()

    def note(self, variables):
        """Notes which variables hold a secret."""
        self.held |= {name for name, value in variables.items() if value and self.play.hub.word in value}

    def up(self):
        if self.machine:
            return
        self.machine = f"perftrail-ci-{uuid.uuid4().hex[:12]}"
        command = [DOCKER, "run", "-d", "--rm", "--init", "--name", self.machine, "--network", "host"]
        command += ["--user", f"{self.owner}:{self.owner}"]
        for host, inside in (("home", HOME), ("_temp", TEMP), ("workspace", WORKSPACE), ("actions", ACTIONS)):
            command += ["-v", f"{self.folder / host}:{inside}"]
        subprocess.run([*command, "--entrypoint", "sleep", IMAGE, "600"], check=True, stdout=subprocess.DEVNULL)

    def down(self):
        if self.machine:
            subprocess.run([DOCKER, "rm", "-f", self.machine], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def script(self, text, env, shell="bash -e"):
        """A `run:` step; gives its code."""
        self.up()
        self.begin(self.event, self.play.payload)
        script = self.temp / f"{uuid.uuid4()}.sh"
        script.write_text(text)
        self.own()
        usual = {"HOME": HOME, "GITHUB_EVENT_PATH": f"{TEMP}/_github_workflow/event.json", "RUNNER_TEMP": TEMP,
                 "GITHUB_WORKSPACE": WORKSPACE, **self.usual(),
                 **{name: f"{TEMP}/_runner_file_commands/{path.name}" for name, path in self.files.items()},
                 "PATH": ":".join([*self.path, "/opt/venv/bin", "/usr/local/bin", "/usr/bin", "/bin"])}
        usual = {name: value for name, value in usual.items() if not name.startswith("ACTIONS_") and value is not None}
        self.note({**usual, **env})
        command = [DOCKER, "exec", "--workdir", WORKSPACE]
        command += [word for name in {**usual, **env} for word in ("-e", name)]
        process = subprocess.Popen([*command, self.machine, *shell.split(), f"{TEMP}/{script.name}"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", env={**os.environ, **usual, **env})
        for line in process.stdout:
            self.log += line
            if self.play.dies_at and self.play.dies_at in line:
                subprocess.run([DOCKER, "kill", self.machine], stdout=subprocess.DEVNULL)
        code = process.wait()
        there = subprocess.run([DOCKER, "inspect", self.machine], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if there.returncode:
            raise Dead
        self.gather()
        return code

    def gather(self):
        """What a step left in the runner's files."""
        self.summary += self.files["GITHUB_STEP_SUMMARY"].read_text()
        self.step_outputs = runner.values(self.files["GITHUB_OUTPUT"].read_text())
        self.path = self.files["GITHUB_PATH"].read_text().split() + self.path

    def action(self, given):
        """A step of the Action; gives its code."""
        before = self.log
        self.note({**self.variables, **{f"INPUT_{name.upper()}": value for name, value in given.items()}})
        code = self.step(self.event, self.play.payload, **given).code
        self.log = before + self.log
        self.step_outputs = self.outputs
        return code

    def checkout(self, given):
        """As actions/checkout does: a credential for the fetch, which is not kept."""
        credential = f"http.extraheader=Authorization: Basic {runner.basic(self.token)}"
        git(self.workspace, "init", "-q", "-b", "main")
        git(self.workspace, "remote", "add", "origin", f"{ADDRESS}/octo-org/engine")
        fetch = ["fetch", "-q", "--no-tags", "origin", "+refs/heads/*:refs/remotes/origin/*", given["ref"]]
        git(self.workspace, "-c", credential, *fetch)
        git(self.workspace, "checkout", "-q", "--detach", given["ref"])
        if given.get("persist-credentials") != "false":
            git(self.workspace, "config", "http.extraheader", credential.removeprefix("http.extraheader="))
        self.own()


class Play:
    """One run of the workflow for one event."""

    def __init__(self, name, workflow, event, payload, sha, hub, inputs, secrets):
        self.name, self.event, self.payload, self.sha, self.hub = name, event, payload, sha, hub
        self.workflow = yaml.safe_load(workflow.read_text())
        self.action = yaml.safe_load((ACTION / "action.yml").read_text())
        declared = self.workflow[True]["workflow_call"]["inputs"]  # YAML reads `on` as a truth value
        self.inputs = {name: one.get("default", "") for name, one in declared.items()} | inputs
        self.secrets, self.variables = secrets, hub.variables
        self.run_id = str(uuid.uuid4().int % 10**9)
        self.needs, self.machines, self.artifacts = {}, {}, {}
        self.dies_at = self.before_upload = None

    def secret(self, what, job):
        return f"{what}_{self.hub.word}_of_{job}"

    def play(self):
        for name, job in self.workflow["jobs"].items():
            needs = job.get("needs", [])
            needs = {one: self.needs[one] for one in ([needs] if isinstance(needs, str) else needs)}
            contexts = {"needs": needs, "inputs": self.inputs, "secrets": self.secrets, "steps": {},
                        "github": {"event_name": self.event, "event": self.payload, "run_id": self.run_id,
                                   "run_attempt": "1", "token": self.secret("ghs", name)}}
            self.needs[name] = {"result": "skipped", "outputs": {}}
            if self.holds(job.get("if", ""), contexts, [one["result"] for one in needs.values()]):
                self.needs[name] = self.job(name, job, contexts)
        return self

    def holds(self, condition, contexts, results):
        """Whether an `if` holds. One that names no status wants that all went well before."""
        condition = str(condition).strip().removeprefix("${{").removesuffix("}}")
        well, bad = all(one == "success" for one in results), "failure" in results
        functions = {"always": lambda: True, "cancelled": lambda: False, "success": lambda: well, "failure": lambda: bad}
        if not re.search(r"\b(always|cancelled|success|failure)\(", condition):
            condition = f"success() && ({condition})" if condition else "success()"
        return evaluate(condition, contexts, functions)

    def job(self, name, job, contexts):
        machine = self.machines[name] = Machine(self, name)
        machine.token = contexts["github"]["token"]
        self.hub.token(machine.token, job.get("permissions", {}))
        results = []
        try:
            for step in job["steps"]:
                if not self.holds(step.get("if", ""), contexts, results):
                    continue
                code = self.step(machine, step, contexts)
                if step.get("id"):
                    contexts["steps"][step["id"]] = {"outputs": machine.step_outputs}
                if not step.get("continue-on-error"):
                    results.append("failure" if code else "success")
        except Dead:
            return {"result": "failure", "outputs": {}}
        finally:
            machine.down()
        outputs = {key: filled(text, contexts, {}) for key, text in job.get("outputs", {}).items()}
        return {"result": "failure" if "failure" in results else "success", "outputs": outputs}

    def step(self, machine, step, contexts):
        """Runs a step; gives its code."""
        machine.step_outputs = {}

        def fill(some):
            return {key: filled(value, contexts, {"fromJSON": json.loads}) for key, value in some.items()}

        given, env, uses = fill(step.get("with", {})), fill(step.get("env", {})), step.get("uses", "")
        if "run" in step:
            return machine.script(filled(step["run"], contexts, {}), env)
        if uses == "OWNER/perftrail@v0":
            defaults = {key: one["default"] for key, one in self.action["inputs"].items() if one.get("default")}
            machine.variables = {**machine.variables, **env}
            return machine.action({**fill(defaults), **given})
        if uses == "OWNER/perftrail/setup@v0":
            env = {"GH_TOKEN": machine.token, "PERFTRAIL_SETUP_PATH": "/usr/local/bin/perftrail"}
            return machine.script(f"exec sh {ACTIONS}/setup/install.sh", env)
        uses = uses.partition("@")[0]
        if uses == "actions/checkout":
            return machine.checkout(given)
        place = machine.workspace / given["path"] if "path" in given else None
        if uses == "actions/upload-artifact":
            if self.before_upload:
                self.before_upload(machine)
            if place.exists():
                self.artifacts[given["name"]] = kept = machine.folder / "artifact"
                shutil.copytree(place, kept, symlinks=True, ignore=shutil.ignore_patterns(".[!.]*"))
            return 0
        if uses == "actions/download-artifact":
            if given["name"] not in self.artifacts:
                return 1
            shutil.copytree(self.artifacts[given["name"]], place, symlinks=True)
            return 0
        raise SystemExit(f"a step that cannot be played: {step}")

    def results(self):
        return {name: one["result"] for name, one in self.needs.items()}

    def log(self):
        return "".join(f"== {name}\n{machine.log}" for name, machine in self.machines.items())
