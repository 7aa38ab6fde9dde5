"""Shows `/profile` under a pull request through profile.yml: gate, run and publish on machines of
their own, each with what the workflow gives it, before a git server and a GitHub that demand tokens.

Called as runner.py says.
"""

import json
import re
import shutil
import time

import runner
from desk import Desk, bundle_in, edited, leaks
from hunt import ANY
from play import Machine
from runner import check, git

# The variables of each job that hold a secret. GitHub gives a token of the runner to containers, and
# `GH_TOKEN` is given to one step of the setup action.
HELD = {
    "gate": ["ACTIONS_RUNTIME_TOKEN", "INPUT_GITHUB-TOKEN"],
    "preflight": ["GH_TOKEN", "PERFTRAIL_RESULTS_TOKEN"],
    "run": ["GH_TOKEN"],
    "publish": ["ACTIONS_RUNTIME_TOKEN", "INPUT_GITHUB-TOKEN", "INPUT_RESULTS-TOKEN"],
}


def reviewer_asks():
    with Desk("asks") as desk:
        play, seen = desk.says("alice", 7), {}
        # What stands under the pull request when the job that measures is over.
        play.before_upload = lambda _: seen.update(comments=desk.hub.comments(7),
                                                   statuses=desk.hub.statuses(desk.project.faster))
        began = time.monotonic()
        play.play()
        gate, measure = play.needs["gate"], play.machines.get("run")
        check("a reviewer's /profile: gate says run, at the head of the pull request",
              gate["outputs"].get("run") == "true" and gate["outputs"]["commit"] == desk.project.faster, play.log())
        check(f"  gate, preflight, run, publish succeed, and no more is needed ({time.monotonic() - began:.1f} s)",
              play.results() == {"gate": "success", "preflight": "success", "run": "success", "publish": "success",
                                 "confirm": "skipped", "publish-again": "skipped"}, (play.results(), play.log()))
        first = seen.get("comments", [])
        check("  while it is measured one comment says running, as alice asked", len(first) == 1
              and "sim: running" in first[0] and "as alice asked" in first[0] and desk.project.faster[:12] in first[0], seen)
        check("  and the status of the commit is pending", seen.get("statuses") == ["pending"], seen)
        held = {name: sorted(machine.held) for name, machine in play.machines.items()}
        check("  each job holds what it needs and no more", held == HELD, held)
        head = git(measure.workspace, "rev-parse", "HEAD") if measure else ""
        check("  the machine that measures has that commit", head == desk.project.faster, head)
        records = desk.results.records()
        bare = [name for name in ("gate", "publish") if any(play.machines[name].workspace.rglob("sim.py"))]
        check("  those that hold a token have nothing of the project", bare == [], bare)
        check("  one run is published, of that commit and pull request", [(
            one["commit"]["sha"], one["run"]["status"], one["run"]["identity"], one["trigger"]["pull_request"])
            for one in records] == [(desk.project.faster, "succeeded", "planned", 7)], records)
        last = desk.hub.comments(7)
        check("  the same comment tells the result", len(last) == 1 and "running" not in last[0]
              and "CPU time" in last[0] and f"{desk.results.name}/tree/results/runs/" in last[0], last)
        statuses = desk.hub.statuses(desk.project.faster)
        check("  and the status is final", statuses == ["pending", "success"], statuses)
        signs = [one["content"] for one in desk.hub.state()["reactions"]]
        check("  one sign stands under the comment that asked", signs == ["eyes"], signs)
        found, places = leaks(desk, play)
        check(f"  no secret in any of {places} places", found == [] and places > 15, found)
        desk.fits()


def hostile_job():
    with Desk("hostile") as desk:
        play = desk.says("alice", 8).play()
        log = play.machines["run"].log if "run" in play.machines else play.log()
        check("a job that hunts for secrets: ran to its end", "hunted" in log and play.results()["run"] == "success", log)
        check("  it could give the runner no command", "mine" in log
              and not re.search(r"^\s*(::error::|##\[warning\])", log, re.M), log)
        check("  and found none", "FOUND" not in log, re.findall("FOUND.*", log))
        check("  it has the network, which opens nothing without a token",
              re.findall(r"NETWORK (\S+) (\d+)", log)[:2] == [("pulls/7", "200"), ("issues/7/comments", "401")]
              and "PUSH 128" in log, re.findall("(?:NETWORK|PUSH).*", log))
        records = desk.results.records()
        check("  its run is published like every other", [(one["commit"]["sha"], one["run"]["identity"])
              for one in records] == [(desk.project.hostile, "planned")], play.log())
        written = [path for path in desk.tree() if path.endswith("/files/seen.txt")]
        seen = desk.blobs()[written[0]] if written else b""
        check("  with all that it saw", b"GITHUB_REPOSITORY=octo-org/engine" in seen and b"/cmdline" in seen, desk.tree())
        found, places = leaks(desk, play)
        check(f"  no secret in any of {places} places", found == [] and places > 15, found)
        desk.fits()


def hunt_finds():
    """What the hunt says is worth something only if it finds what is there."""
    with Desk("finds") as desk:
        play = desk.says("alice", 8)
        machine = Machine(play, "control")
        machine.token = play.secret("ghs", "control")
        desk.hub.token(machine.token, {})
        try:
            machine.checkout({"ref": desk.project.hostile, "persist-credentials": "true"})
            machine.script(f"echo '{machine.token}' >~/.netrc\nSECRET={machine.token} sleep 300 & python3 hunt.py hunted",
                           {"GITHUB_TOKEN": machine.token})
        finally:
            machine.down()
        for what, pattern in (("the environment", "environment"), ("another process", r"/proc/\d+/environ"),
                              ("memory", r"memory of \d+"), ("home", ".*/.netrc"), (".git", ".*/.git/config"),
                              ("git's configuration", "git config")):
            check(f"the hunt finds a token in {what}", re.search(f"^FOUND {pattern}$", machine.log, re.M), machine.log)
        text = (machine.workspace / "hunted/seen.txt").read_bytes()
        check("the search finds it in what was written", ANY.search(text))


def other_commit(machine):
    """Measures another commit by the program itself, as the plan of the gate would have it."""
    code = machine.script("""
        rm -r perftrail-out
        git checkout -q origin/main
        sed "s/$HEAD/$(git rev-parse HEAD)/g" "$RUNNER_TEMP/plan.json" >"$RUNNER_TEMP/forged.json"
        perftrail run --plan "$RUNNER_TEMP/forged.json"
        """, {"HEAD": machine.play.needs["gate"]["outputs"]["commit"]})
    if code:
        raise SystemExit(machine.log)


def bundle_of(machine):
    return bundle_in(machine.workspace / "perftrail-out")


def link(machine):
    log = bundle_of(machine) / "log.txt.gz"
    log.unlink()
    log.symlink_to("/etc/passwd")


def climbing(machine):
    """One more file in the record, with a name that climbs."""
    def more(text):
        at = text.index('"files": [') + len('"files": [')
        one = {"path": "files/../../../README.md", "bytes": 5, "role": "collected", "sha256": "0" * 64, "left_out": None}
        return f"{text[:at]}{json.dumps(one)},{text[at:]}"
    edited(bundle_of(machine), more)


def climbing_file(machine):
    (bundle_of(machine) / "files/..\\..\\README.md").write_text("mine")


def extra_run(machine):
    bundle = bundle_of(machine)
    shutil.copytree(bundle, bundle.with_name("more"))
    edited(bundle.with_name("more"), lambda text: text.replace('"job": "sim"', '"job": "night"', 1))


def second_run(machine):
    bundle = bundle_of(machine)
    shutil.copytree(bundle, bundle.with_name("more"))


FORGED = (
    (other_commit, "another commit's sha", "of no run of the plan"),
    (link, "a link", "it is a link"),
    (climbing, "a name that climbs, in the record", "a part that leads elsewhere"),
    (climbing_file, "a file whose name climbs", "cannot be shown or stored everywhere"),
    (second_run, "the same run twice", "another bundle is of the same run"),
)


def forged_bundles():
    for forge, what, why in FORGED:
        with Desk("forged") as desk:
            play = desk.says("alice", 7)
            play.before_upload = forge
            play.play()
            check(f"a forged bundle, {what}: publish refuses it", play.results()["run"] == "success"
                  and play.results()["publish"] == "failure" and why in play.machines["publish"].log, play.log())
            check("  nothing is published", desk.tree() == [], desk.tree())
            told = desk.hub.comments(7)
            check("  the comment says so, and why", len(told) == 1 and "sim: not published" in told[0] and why in told[0],
                  told)
            statuses = desk.hub.statuses(desk.project.faster)
            check("  and the status is an error", statuses == ["pending", "error"], statuses)
            desk.fits()


def extra_bundle():
    with Desk("extra") as desk:
        play = desk.says("alice", 7)
        play.before_upload = extra_run
        play.play()
        check("a run that nobody planned beside the planned one: publish refuses it",
              play.results()["publish"] == "failure" and "of no run of the plan" in play.machines["publish"].log, play.log())
        records = desk.results.records()
        check("  only the planned one is published", [one["run"]["job"] for one in records] == ["sim"]
              and not any(b"night" in data for data in desk.blobs().values()), desk.tree())
        told = desk.hub.comments(7)
        check("  the comment tells its result, and what was refused", len(told) == 1 and "CPU time" in told[0]
              and "of no run of the plan" in told[0], told)
        desk.fits()


def machine_dies():
    with Desk("dies") as desk:
        play = desk.says("alice", 9)
        play.dies_at = "begun"
        play.play()
        check("the machine that measures ends: no artifact", play.results()["run"] == "failure" and play.artifacts == {},
              play.log())
        records = desk.results.records()
        check("  a lost record is published", [(one["run"]["status"], one["commit"]["sha"], one["trigger"]["pull_request"])
              for one in records] == [("lost", desk.project.dying, 9)], play.log())
        last = desk.hub.comments(9)
        check("  the comment says lost", len(last) == 1 and "sim: lost" in last[0], last)
        statuses = desk.hub.statuses(desk.project.dying)
        check("  and the status is an error", statuses == ["pending", "error"], statuses)
        desk.fits()


def others():
    nothing = {"gate": "success"} | dict.fromkeys(("preflight", "run", "publish", "confirm", "publish-again"), "skipped")
    with Desk("others") as desk:
        for who in ("reader", "mallory"):
            play = desk.says(who, 8).play()
            check(f"/profile by {who}, who may not write: no run", play.results() == nothing
                  and play.needs["gate"]["outputs"]["run"] == "false", (play.results(), play.log()))
        told = desk.hub.comments(8)
        check("  each is told so once, and no status is set", len(told) == 2 and desk.hub.statuses(desk.project.hostile) == []
              and all("only people who can push" in one for one in told), told)
        play = desk.says("alice", 8, "Looks good to me. Did you /profile it?").play()
        check("a passing comment: no run", play.results() == nothing, play.log())
        check("  and not one request", desk.hub.asked == [], desk.hub.asked)
        check("  nothing is published", desk.published() == [])
        desk.fits()


runner.show((reviewer_asks, hunt_finds, hostile_job, forged_bundles, extra_bundle, machine_dies, others))
