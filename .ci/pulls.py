"""Shows how pull requests are measured without being asked: pull-request.yml, which holds nothing, and
pull-request-publish.yml, which `workflow_run` starts and which takes nothing of the first on trust.

Called as runner.py says.
"""

import json
import re
import shutil

import runner
from desk import CONFIG, Desk, bundle_in, edited, leaks
from hub import ago
from runner import check

RULES = '[triggers]\nskip_when_only = ["docs/**"]\nlabels = []\n'
NEEDS = ("gate", "preflight", "run", "publish", "confirm", "publish-again")
# What GitHub gives to containers and to the setup action, and all that is held beside it.
HELD = {"gate": ["ACTIONS_RUNTIME_TOKEN", "INPUT_GITHUB-TOKEN"], "run": ["GH_TOKEN"]}
HELD_LATER = {"gate": ["ACTIONS_RUNTIME_TOKEN", "INPUT_GITHUB-TOKEN"],
              "publish": ["ACTIONS_RUNTIME_TOKEN", "INPUT_GITHUB-TOKEN", "INPUT_RESULTS-TOKEN"]}
# The merge that GitHub makes to try a pull request: nobody's commit, and nothing is measured there.
MERGE = "6" * 40


def jobs(**results):
    """How all jobs ended; those that are not named were skipped."""
    return dict.fromkeys(NEEDS, "skipped") | results


def opened(desk, number, who, action="opened"):
    """A pull request is opened, and its own workflow is ready to begin."""
    payload = desk.hub.pulled(number, who, action)
    fork = payload["pull_request"]["head"]["repo"]["fork"]
    usual = {"GITHUB_ACTOR": who, "GITHUB_REF": f"refs/pull/{number}/merge", "GITHUB_RUN_NUMBER": "31",
             "GITHUB_HEAD_REF": payload["pull_request"]["head"]["ref"], "GITHUB_BASE_REF": "main"}
    play = desk.hears("pull-request", f"{desk.name}-{number}", "pull_request", payload, sha=MERGE, variables=usual,
                      from_fork=fork)
    play.who, play.began = who, ago(minutes=1)
    return play


def after(desk, first, change=None):
    """It ended, and the workflow that publishes is ready to begin."""
    payload = desk.hub.ended(first, first.who, first.began)
    if change:
        change(payload["workflow_run"])
    usual = {"GITHUB_ACTOR": first.who, "GITHUB_RUN_NUMBER": "77"}
    return desk.hears("pull-request-publish", f"{first.name}-later", "workflow_run", payload, variables=usual)


def of_a_branch():
    with Desk("branch") as desk:
        head = desk.project.faster
        first = opened(desk, 7, "bob")
        seen = {}
        first.before_upload = lambda _: seen.update(comments=desk.hub.comments(7), statuses=desk.hub.statuses(head))
        first.play()
        check("a pull request of a branch: gate says run, it is measured, and nothing is published",
              first.results() == jobs(gate="success", run="success") and desk.published() == [],
              (first.results(), first.log()))
        check("  at its head, not at the merge that GitHub tries", first.needs["gate"]["outputs"]["commit"] == head
              and runner.git(first.machines["run"].workspace, "rev-parse", "HEAD") == head, first.log())
        check("  one comment says running, and the status is pending", len(seen["comments"]) == 1
              and "sim: running" in seen["comments"][0] and seen["statuses"] == ["pending"], seen)
        held = {name: sorted(machine.held) for name, machine in first.machines.items()}
        check("  no job holds a secret of the project", held == HELD, held)
        later = after(desk, first).play()
        check("  the workflow after it publishes, and measures nothing",
              later.results() == jobs(gate="success", publish="success"), (later.results(), later.log()))
        published_well(desk, first, later, 7, head, "bob")


def published_well(desk, first, later, number, head, who):
    """The run stands there as event and API tell it, comment and status tell the result."""
    held = {name: sorted(machine.held) for name, machine in later.machines.items()}
    check("  those that publish hold what they need, and nothing of the project", held == HELD_LATER
          and not any(list(machine.workspace.rglob("sim.py")) for machine in later.machines.values()), held)
    found = [(one["commit"]["sha"], one["run"]["status"], one["run"]["identity"], one["trigger"]["pull_request"],
              one["trigger"]["event"], one["trigger"]["actor"], one["trigger"]["run_id"], one["trigger"]["run_number"])
             for one in desk.results.records()]
    check("  one run: its commit, pull request, event, actor, and the workflow that measured it",
          found == [(head, "succeeded", "planned", number, "pull_request", who, int(first.run_id), 31)], (found, later.log()))
    last = desk.hub.comments(number)
    check("  one comment tells the result", len(last) == 1 and "CPU time" in last[0] and head[:12] in last[0]
          and f"{desk.results.name}/tree/results/runs/" in last[0] and "running" not in last[0], last)
    statuses = desk.hub.statuses(head)
    check("  the newest status is final", statuses[-1:] == ["success"], statuses)
    found, places = leaks(desk, first, later)
    check(f"  no secret in any of {places} places", found == [] and places > 15, found)
    desk.fits()


def of_a_fork():
    with Desk("fork") as desk:
        head = desk.project.hostile
        first = opened(desk, 8, "mallory").play()
        log = first.machines["run"].log if "run" in first.machines else first.log()
        check("a pull request of a fork that hunts for secrets: ran to its end", "hunted" in log
              and first.results() == jobs(gate="success", run="success"), (first.results(), log))
        check("  and found none", "FOUND" not in log, re.findall("FOUND.*", log))
        check("  it could give the runner no command", not re.search(r"^\s*(::error::|##\[warning\])", log, re.M), log)
        check("  the network opens nothing without a token", "issues/7/comments 401" in log and "PUSH 128" in log, log)
        check("  its token may only read: the gate says so, and goes on", desk.hub.comments(8) == []
              and desk.hub.statuses(head) == [] and "permission" in first.machines["gate"].log, first.machines["gate"].log)
        held = {name: sorted(machine.held) for name, machine in first.machines.items()}
        check("  no job holds a secret of the project", held == HELD and desk.published() == [], held)
        later = after(desk, first).play()
        check("  the workflow after it publishes, and measures nothing",
              later.results() == jobs(gate="success", publish="success"), (later.results(), later.log()))
        published_well(desk, first, later, 8, head, "mallory")


def said(before, now):
    """Changes a text of the record, once."""
    def change(text):
        if before not in text:
            raise SystemExit(f"no {before} in the record: {text}")
        return text.replace(before, now, 1)
    return change


FORGED = (
    ("another commit", "of no run of the plan", lambda head, base: said(f'"sha": "{head}"', f'"sha": "{base}"')),
    ("another job", "of no run of the plan", lambda *_: said('"job": "sim"', '"job": "night"')),
    ("another pull request", "its pull request is", lambda *_: said('"pull_request": 7', '"pull_request": 8')),
    ("another repository", "its repository is", lambda *_: said('"owner": "octo-org"', '"owner": "other-org"')),
    ("another event", "its event is", lambda *_: said('"event": "pull_request"', '"event": "schedule"')),
    ("another actor", "its actor is", lambda *_: said('"actor": "bob"', '"actor": "alice"')),
    ("another workflow", "its workflow run is", lambda *_: said('"run_number": 31', '"run_number": 1')),
)


def forged():
    """What the code of a pull request can leave instead of what was measured: any bytes."""
    with Desk("forged") as desk:
        head, base = desk.project.faster, desk.project.base
        first = opened(desk, 7, "bob").play()
        ((name, honest),) = first.artifacts.items()
        for what, why, change in FORGED:
            first.artifacts[name] = honest.with_name("forged")
            shutil.rmtree(first.artifacts[name], ignore_errors=True)
            shutil.copytree(honest, first.artifacts[name])
            edited(bundle_in(first.artifacts[name]), change(head, base))
            later = after(desk, first).play()
            log = later.machines["publish"].log
            check(f"a forged record, {what}: publish refuses it", later.results() == jobs(gate="success", publish="failure")
                  and why in log, (later.results(), log))
            told = desk.hub.comments(7)
            check("  nothing is published; the comment says so, and why", desk.tree() == [] and len(told) == 1
                  and "sim: not published" in told[0] and why in told[0], (desk.tree(), told))
            check("  the status is an error, of the real commit alone", desk.hub.statuses(head)[-1] == "error"
                  and desk.hub.statuses(base) == [] and desk.hub.comments(8) == [], desk.hub.state()["statuses"])
        first.artifacts[name] = honest
        # A plan that travels with the bundle, as nobody's: the gate of the second workflow makes its own.
        plan = json.loads(first.needs["gate"]["outputs"]["plan"])
        plan["facts"]["commit"] = plan["facts"]["pull_request"]["head"] = base
        plan["facts"]["pull_request"]["number"] = 8
        (honest / "plan.json").write_text(json.dumps(plan))
        first.needs["gate"]["outputs"] |= {"plan": json.dumps(plan), "commit": base}
        later = after(desk, first).play()
        check("a forged plan beside an honest bundle: it counts for nothing", later.results() == jobs(gate="success",
              publish="success") and not any(path.endswith("plan.json") for path in desk.tree()), later.log())
        published_well(desk, first, later, 7, head, "bob")


def nothing_came():
    with Desk("nothing") as desk:
        first = opened(desk, 9, "mallory")
        first.dies_at = "begun"
        first.play()
        check("the machine that measures a pull request ends: no artifact",
              first.results() == jobs(gate="success", run="failure") and first.artifacts == {}, first.log())
        later = after(desk, first).play()
        found = [(one["run"]["status"], one["commit"]["sha"], one["trigger"]["pull_request"], one["trigger"]["actor"])
                 for one in desk.results.records()]
        check("  a lost record is published", found == [("lost", desk.project.dying, 9, "mallory")], (found, later.log()))
        told, statuses = desk.hub.comments(9), desk.hub.statuses(desk.project.dying)
        check("  the comment says lost, and the status is an error", len(told) == 1 and "sim: lost" in told[0]
              and statuses[-1:] == ["error"], (told, statuses))
        desk.fits()


def silent(desk, number, head):
    """Nobody heard of anything."""
    check("  nothing is published, no comment, no status", desk.tree() == [] and desk.hub.comments(number) == []
          and desk.hub.statuses(head) == [], (desk.tree(), desk.hub.state()))


def not_measured():
    with Desk("skipped", RULES + CONFIG) as desk:
        head, base = desk.project.faster, desk.project.base
        for what, why, pull in (("a draft", "drafts are not measured", {"draft": True}),
                                ("only files of skip_when_only", "skip_when_only", {"files": ["docs/a.md", "docs/b.md"]})):
            desk.hub.pull(7, "faster", head, base, **pull)
            first = opened(desk, 7, "bob").play()
            later = after(desk, first).play()
            check(f"a pull request, {what}: both workflows end well, and do nothing", first.results() == later.results()
                  == jobs(gate="success") and all(why in play.machines["gate"].log for play in (first, later)),
                  first.log() + later.log())
            silent(desk, 7, head)
        # The workflow of a pull request is the pull request's own: it may leave what nobody asked for.
        desk.hub.pull(7, "faster", head, base)
        measured = opened(desk, 7, "bob").play()
        clear(desk)
        desk.hub.pull(7, "faster", head, base, draft=True)
        later = after(desk, measured).play()
        check("a draft whose own workflow left a bundle all the same: nothing is published",
              later.results() == jobs(gate="success"), later.log())
        silent(desk, 7, head)
        # What was skipped is not lost, whatever was decided since.
        first = opened(desk, 7, "bob").play()
        desk.hub.pull(7, "faster", head, base)
        later = after(desk, first).play()
        check("a draft that is none any more when its workflow has ended: not lost, but skipped",
              later.results() == jobs(gate="success", publish="success") and "lost" not in later.log(), later.log())
        silent(desk, 7, head)
        desk.fits()


def while_it_was_measured():
    with Desk("closed") as desk:
        head, base = desk.project.faster, desk.project.base
        first = opened(desk, 7, "bob").play()
        desk.hub.pull(7, "faster", head, base, state="closed")
        later = after(desk, first).play()
        check("a pull request that is closed while it is measured: published all the same",
              later.results() == jobs(gate="success", publish="success"), (later.results(), later.log()))
        published_well(desk, first, later, 7, head, "bob")
    with Desk("back") as desk:
        head, base = desk.project.faster, desk.project.base
        first = opened(desk, 7, "bob").play()
        desk.hub.pull(7, "faster", head, base, draft=True)
        later = after(desk, first).play()
        check("one that becomes a draft while it is measured: nothing is published",
              later.results() == jobs(gate="success") and desk.tree() == [], (later.results(), later.log()))
        told, statuses = desk.hub.comments(7), desk.hub.statuses(head)
        check("  the comment does not say running any more, but why", len(told) == 1 and "sim: not published" in told[0]
              and "drafts are not measured" in told[0], told)
        check("  and the status does not wait", statuses == ["pending", "error"], statuses)
        desk.fits()


def clear(desk):
    """Forgets what was said so far."""
    desk.hub.control("PATCH", "/state", {"comments": [], "statuses": []})


def not_ours():
    """Ends of workflows that are not to be followed by anything."""
    with Desk("other") as desk:
        first = opened(desk, 7, "bob").play()
        clear(desk)
        desk.hub.asked.clear()
        head = desk.project.faster
        for what, why, change in (
            ("of a push", "did not end a run for a pull request", {"event": "push"}),
            ("at a commit that is not the head any more", "no pull request stands at", {"head_sha": "7" * 40}),
            ("of a repository that is gone", "is gone", {"head_repository": None}),
            ("of a fork that names the branch of somebody else", "no pull request stands at", {
                "head_repository": {"full_name": "mallory/engine"}}),
        ):
            later = after(desk, first, lambda run, change=change: run.update(change)).play()
            check(f"a workflow {what}: nothing is done", later.results() == jobs(gate="success")
                  and why in later.machines["gate"].log, later.log())
        silent(desk, 7, head)
        # GitHub begins the second workflow by the name of the first, and for what the first hears of.
        check("the pair knows each other by name", not after(desk, first).example.is_for(
            "workflow_run", {"action": "completed", "workflow_run": {"name": "another"}}))
        heard = [event for event, action in (("pull_request", "labeled"), ("issue_comment", "created"),
                                             ("pull_request_target", "opened"), ("push", ""))
                 if first.example.is_for(event, {"action": action})]
        check("  and hear of no label, comment or push, and never with the rights of the base", heard == [], heard)
        desk.fits()


runner.show((of_a_branch, of_a_fork, forged, nothing_came, not_measured, while_it_was_measured, not_ours))
