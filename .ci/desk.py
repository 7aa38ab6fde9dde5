"""A measured project, its results, people and pull requests on a GitHub of its own, for scenes that
play the examples of workflows: what they need, and what they look at.
"""

import gzip
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import runner
from hub import Hub
from hunt import ANY, WORD
from play import Example, Play
from runner import ACTION, Results, check, git

HERE = Path(__file__).parent
EXAMPLES = ACTION / "examples/workflows"
RESULTS_TOKEN = f"github_pat_{WORD}_of_results"

CONFIG = """
[[job]]
name = "sim"
run = "python3 sim.py {output}"
"""
SIM = "import sys\nfor i in range(300000):\n    pass\nopen(sys.argv[1] + '/answer.txt', 'w').write('42')\nprint('measured')\n"
HOSTILE = "import subprocess, sys\nprint('::error::mine\\n##[warning]mine', flush=True)\nsubprocess.run([sys.executable, 'hunt.py', sys.argv[1]])\n"
# It lives until its machine ends.
DYING = "import time\nprint('begun', flush=True)\ntime.sleep(600)\n"


class Project:
    """The measured project on the git server: a default branch and three pull requests."""

    def __init__(self, config):
        self.results = Results("engine")
        self.path = self.results.path
        (self.path / "bench-private").touch()
        clone = runner.WORK / "project"
        shutil.rmtree(clone, ignore_errors=True)
        git(self.path, "clone", "-q", self.path, clone)
        git(clone, "checkout", "-q", "-b", "main")
        self.base = self.commit(clone, {"perftrail.toml": config, "sim.py": SIM}, "refs/heads/main")
        self.faster = self.commit(clone, {"sim.py": SIM.replace("300000", "200000")}, "refs/heads/faster")
        git(clone, "checkout", "-q", "main")
        hunt = (HERE / "hunt.py").read_text()
        # Of forks the server holds no more than this name.
        self.hostile = self.commit(clone, {"sim.py": HOSTILE, "hunt.py": hunt}, "refs/pull/8/head")
        git(clone, "checkout", "-q", "--detach", self.base)
        self.dying = self.commit(clone, {"sim.py": DYING}, "refs/pull/9/head")

    def commit(self, clone, files, reference):
        for path, text in files.items():
            (clone / path).write_text(text)
        git(clone, "add", "-A")
        git(clone, "commit", "-q", "-m", f"Change {', '.join(files)}")
        git(clone, "push", "-q", "origin", f"HEAD:{reference}")
        return git(clone, "rev-parse", "HEAD")


class Desk:
    """Everything that a scene needs, fresh."""

    def __init__(self, name, config=CONFIG):
        self.name, self.project, self.results = name, Project(config), Results("comment")
        self.hub = Hub(WORD, self.project.path)
        self.hub.token(RESULTS_TOKEN, {}, git_write=True)
        self.hub.people(alice="write", reader="read", admin="admin")
        project = self.project
        self.hub.pull(7, "faster", project.faster, project.base)
        self.hub.pull(8, "x", project.hostile, project.base, "mallory/engine")
        self.hub.pull(9, "y", project.dying, project.base, "mallory/engine")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.hub.end()

    def says(self, who, number, text="/profile"):
        """Somebody comments, and the workflow is ready to begin."""
        payload = self.hub.says(who, number, text)
        return self.hears("comment", self.name, "issue_comment", payload)

    def hears(self, example, name, event, payload, **more):
        """An example of a workflow hears of an event, and is ready to begin."""
        # The project needs no package and no other Python.
        instead = {"your-org/your-results": self.results.name, "pip install -e .": "test -f sim.py"}
        return Play(name, Example(EXAMPLES / f"{example}.yml", instead), event, payload, self.hub,
                    secrets={"RESULTS_TOKEN": RESULTS_TOKEN}, **{"sha": self.project.base, **more})

    def blobs(self):
        """The results branch, file by file."""
        return {path: subprocess.run(["git", "-c", "safe.directory=*", "-C", self.results.path, "show", f"results:{path}"],
                                     check=True, stdout=subprocess.PIPE).stdout for path in self.tree()}

    def tree(self):
        return self.results.tree() if git(self.results.path, "branch", "--list", "results") else []

    def published(self):
        return [path for path in self.tree() if path.startswith("runs/")]

    def fits(self):
        misfits = self.hub.misfits()
        check("  every request and answer fits GitHub's description", misfits == [], misfits)


def leaks(desk, *plays):
    """Places that hold a secret: all that anybody outside of the jobs can see, and the bundle."""
    state = desk.hub.state()
    places = {f"GitHub's {name}": json.dumps(state[name]).encode()
              for name in ("comments", "statuses", "check_runs", "reactions")}
    places |= {f"results:{path}": data for path, data in desk.blobs().items()}
    places["results: history"] = git(desk.results.path, "log", "--all", "--format=%an %ae %cn %ce %B").encode()
    for play in plays:
        for name, machine in play.machines.items():
            name = f"{play.name}'s {name}"
            places |= {f"log of {name}": machine.log.encode(), f"summary of {name}": machine.summary.encode(),
                       f"outputs of {name}": json.dumps(play.needs[machine.job]).encode()}
        for name, folder in play.artifacts.items():
            places |= {f"{name}: {path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    opened = {place: gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data for place, data in places.items()}
    return [place for place, data in opened.items() if ANY.search(data)], len(opened)


def digest(text):
    """The digest of a record, as the program makes it; numbers stay as they are written."""
    record = json.loads(text, parse_float=lambda number: f"\0{number}")
    for place, keys in ((record["run"], ("digest", "identity")), (record["commit"], ("against",)),
                        (record, ("comparison", "amended")), *((file, ("left_out",)) for file in record["files"])):
        for key in keys:
            place.pop(key, None)
    canonical = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(re.sub(r'"\\u0000([^"]*)"', r"\1", canonical).encode()).hexdigest()


def edited(bundle, change):
    """Changes a record, whose digest fits again."""
    path = bundle / "stats.json"
    text = path.read_text()
    before = json.loads(text)["run"]["digest"]
    if digest(text) != before:
        raise SystemExit("the digest of a record is made another way")
    text = change(text)
    path.write_text(text.replace(before, digest(text)))


def bundle_in(folder):
    """The bundle of the job among what a machine, or an artifact, holds."""
    return next(folder.glob("*-sim"))
