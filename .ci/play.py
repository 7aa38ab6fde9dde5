"""Plays an example of a workflow, and the reusable one that it calls: job after job, each on a machine
of its own.

What a job is given is read from both: the events that are heard, the rights, inputs and secrets of the
call; the environment of each step, the inputs of actions, the token of the job with the rights that
`permissions` names, outputs of other jobs, artifacts. A machine is a container in which the steps run as
the runner's user; a step of the Action is a container of its own, as on GitHub.
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
PART = re.compile(r"\s*('(?:[^']|'')*'|&&|\|\||[!=]=|!|[(),]|[\w.-]+)")
WORDS = {"&&": " and ", "||": " or ", "!": " not ", "true": "True", "false": "False", "null": "None"}
FUNCTIONS = ("always", "cancelled", "success", "failure", "fromJSON", "contains")
LEVELS = ("none", "read", "write")


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
        elif word in WORDS or word in ("(", ")", ",", "==", "!=") or word in FUNCTIONS:
            source += WORDS.get(word, word)
        else:
            source += f"look({word!r})"

    def look(name):
        value = contexts
        for key in name.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def contains(text, part):
        return str(part).lower() in str(text).lower()

    return eval(source.strip(), {"look": look, "fromJSON": json.loads, "contains": contains, **functions})


def filled(text, contexts, functions):
    """A text with its expressions put in."""
    def value(found):
        return told(evaluate(found.group(1), contexts, functions))
    return re.sub(r"\$\{\{(.*?)\}\}", value, told(text))


def told(value):
    """A value of YAML or of an expression as text."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def needed(job):
    """The jobs that a job waits for."""
    needs = job.get("needs", [])
    return [needs] if isinstance(needs, str) else needs


class Dead(Exception):
    """The machine ended in the middle of a step."""


class Machine(runner.Job):
    """A job of the workflow."""

    def __init__(self, play, name):
        super().__init__(f"{play.name}-{name}")
        self.play, self.job, self.run_id, self.sha = play, name, play.run_id, play.sha
        self.event, self.log, self.summary, self.outputs, self.path = play.event, "", "", {}, []
        self.given, self.rights = [], {}
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
        if self.play.dies_at and self.play.dies_at in self.log:
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
        before = self.log, self.summary
        self.note({**self.variables, **{f"INPUT_{name.upper()}": value for name, value in given.items()}})
        self.given.append(given)
        code = self.step(self.event, self.play.payload, **given).code
        self.log, self.summary = before[0] + self.log, before[1] + self.summary
        self.step_outputs = self.outputs
        return code

    def posts(self):
        """What the steps of the Action do at the end of the job, the last one first."""
        for given in reversed(self.given):
            before = self.log, self.summary
            self.post(**given)
            self.log, self.summary = before[0] + self.log, before[1] + self.summary

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


class Example:
    """A workflow that calls a reusable one of this repository. `instead` says which texts of what it
    gives are others here."""

    def __init__(self, path, instead):
        self.text = yaml.safe_load(path.read_text())
        self.name, self.events = self.text["name"], self.text[True]  # YAML reads `on` as a truth value
        (self.call,) = self.text["jobs"].values()
        self.workflow = yaml.safe_load((ACTION / self.call["uses"].partition("@")[0].split("/", 2)[2]).read_text())
        self.instead = instead
        # GitHub does not begin a workflow whose jobs ask for more than the one who calls allows.
        rights = self.call.get("permissions", self.text.get("permissions"))
        for name, job in self.workflow["jobs"].items():
            for right, level in job.get("permissions", {}).items():
                if LEVELS.index(level) > LEVELS.index(rights.get(right, "none")):
                    raise SystemExit(f"{path.name} does not allow what {name} asks for: {right}: {level}")

    def is_for(self, event, payload):
        """Whether GitHub begins it for an event."""
        if event not in self.events:
            return False
        rules = self.events[event] or {}
        if "types" in rules and payload.get("action") not in rules["types"]:
            return False
        return "workflows" not in rules or payload["workflow_run"]["name"] in rules["workflows"]

    def given(self, what, contexts):
        """The inputs or secrets of the call."""
        told = {name: value if isinstance(value, bool) else filled(value, contexts, {})
                for name, value in self.call.get(what, {}).items()}
        return {name: self.instead.get(value, value) for name, value in told.items()}


class Play:
    """One run of a workflow for one event. Who sends a pull request from a fork gets no secret and a
    token that may only read."""

    def __init__(self, name, example, event, payload, hub, sha, secrets, variables=None, inputs=None, from_fork=False):
        self.name, self.example, self.event, self.payload, self.sha, self.hub = name, example, event, payload, sha, hub
        self.workflow, self.from_fork = example.workflow, from_fork
        self.action = yaml.safe_load((ACTION / "action.yml").read_text())
        self.variables = {**hub.variables, **(variables or {})}
        self.run_id = self.variables.get("GITHUB_RUN_ID", str(uuid.uuid4().int % 10**9))
        self.attempt = 1
        contexts = {"github": self.github("caller"), "secrets": {} if from_fork else secrets}
        if not example.is_for(event, payload):
            raise SystemExit(f"{example.name} is not for the event {event}")
        self.begins = self.holds(example.call.get("if", ""), contexts, [])
        declared = self.workflow[True]["workflow_call"]["inputs"]
        self.inputs = {name: one.get("default", "") for name, one in declared.items()}
        self.inputs |= example.given("with", contexts) | (inputs or {})
        self.secrets = example.given("secrets", contexts)
        self.needs, self.machines, self.artifacts = {}, {}, hub.artifacts.setdefault(self.run_id, {})
        self.dies_at = self.before_upload = self.on_machine = None

    def github(self, job):
        """The context of this name."""
        return {"event_name": self.event, "event": self.payload, "run_id": self.run_id,
                "run_attempt": str(self.attempt), "token": self.secret("ghs", job)}

    def secret(self, what, job):
        return f"{what}_{self.hub.word}_of_{job}"

    def play(self):
        return self.jobs(self.workflow["jobs"] if self.begins else {})

    def again(self):
        """Runs the jobs again that failed, and those that need them, as people do by hand."""
        jobs = {}
        for name, job in self.workflow["jobs"].items():
            if self.needs[name]["result"] == "failure" or jobs.keys() & set(needed(job)):
                jobs[name] = job
        self.attempt += 1
        self.variables["GITHUB_RUN_ATTEMPT"] = str(self.attempt)
        return self.jobs(jobs)

    def jobs(self, jobs):
        for name, job in jobs.items():
            needs = {one: self.needs[one] for one in needed(job)}
            contexts = {"needs": needs, "inputs": self.inputs, "secrets": self.secrets, "steps": {},
                        "github": self.github(name)}
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
        machine.rights = job.get("permissions", {})
        if self.from_fork:
            machine.rights = dict.fromkeys(machine.rights, "read")
        self.hub.token(machine.token, machine.rights)
        if self.on_machine:
            self.on_machine(machine)
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
            machine.posts()
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
            if given["name"] in self.artifacts and given.get("overwrite") != "true":
                return 1
            if place.exists():
                self.artifacts[given["name"]] = kept = machine.folder / "artifact"
                shutil.copytree(place, kept, symlinks=True, ignore=shutil.ignore_patterns(".[!.]*"))
            return 0
        if uses == "actions/download-artifact":
            run = given.get("run-id", self.run_id)
            if run != self.run_id and (machine.rights.get("actions") != "read" or given["github-token"] != machine.token):
                raise SystemExit("artifacts of another run need a token with `actions: read`")
            kept = self.hub.artifacts.get(run, {}).get(given["name"])
            if not kept:
                return 1
            shutil.copytree(kept, place, symlinks=True)
            return 0
        if uses == "actions/setup-python":
            return 0  # the image has the only one
        raise SystemExit(f"a step that cannot be played: {step}")

    def results(self):
        return {name: one["result"] for name, one in self.needs.items()}

    def log(self):
        return "".join(f"== {name}\n{machine.log}" for name, machine in self.machines.items())
