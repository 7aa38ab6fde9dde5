"""Shows what happens a second time: a run that is unusual is measured again, a publisher that was killed
between two requests begins again, a new level is accepted.

Called as runner.py says.
"""

import subprocess
import tomllib

import runner
from desk import RESULTS_TOKEN, Desk
from play import Machine
from runner import DOCKER, check, git

# The job reports a number with some noise; its machine may say which.
CONFIG = """
[[job]]
name = "sim"
run = "python3 sim.py {output}"
machine = "ci"
[[job.read]]
path = "answer.json"
as = "metrics"
[metric.work]
better = "lower"
"""
SIM = """
import json, os, random, sys
calm = os.path.exists(os.path.expanduser('~/calm'))
level = 100 if calm else LEVEL
json.dump({'work': level * (1 + 0.01 * random.uniform(-1, 1))}, open(sys.argv[1] + '/answer.json', 'w'))
"""
NIGHTS = """
night=0
for commit in $(git rev-list --reverse "$FIRST..origin/main"); do
  git checkout -q "$commit"
  night=$((night + 1))
  GITHUB_SHA=$commit GITHUB_RUN_ID=$night GITHUB_RUN_NUMBER=$night perftrail run >/dev/null
done
perftrail publish perftrail-out --to "$TO"
"""
COUNT = 12


def levelled(level):
    return SIM.replace("LEVEL", str(level))


def with_history():
    """A desk whose results hold a run of each commit of the default branch, by schedule."""
    desk = Desk("again", CONFIG)
    project = desk.project
    clone = runner.WORK / "project"
    first = project.base
    git(clone, "checkout", "-q", "-B", "main", first)
    project.base = project.commit(clone, {"sim.py": levelled(100)}, "refs/heads/main")
    for _ in range(COUNT - 1):
        git(clone, "commit", "-q", "--allow-empty", "-m", "Go on")
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/main")
    project.base = git(clone, "rev-parse", "HEAD")
    project.heads = {}
    for number, level, branch in ((11, 100.5, "calm"), (12, 150, "slow"), (13, 151, "slower"), (14, 152, "chance")):
        git(clone, "checkout", "-q", "--detach", project.base)
        project.heads[number] = project.commit(clone, {"sim.py": levelled(level)}, f"refs/heads/{branch}")
        desk.hub.pull(number, branch, project.heads[number], project.base)
    machine = Machine(desk.says("alice", 11), "nights")
    machine.event, machine.token = "schedule", machine.play.secret("ghs", "nights")
    desk.hub.token(machine.token, {})
    try:
        machine.checkout({"ref": project.base, "persist-credentials": "false"})
        code = machine.script(NIGHTS, {"FIRST": first, "TO": desk.results.name, "PERFTRAIL_RESULTS_TOKEN": RESULTS_TOKEN})
    finally:
        machine.down()
    if code or len(desk.results.records()) != COUNT:
        raise SystemExit(f"there is no history: {machine.log}")
    return desk


def runs_of(desk, number):
    head = desk.project.heads[number]
    return [one for one in desk.results.records() if one["commit"]["sha"] == head]


def unusual():
    with with_history() as desk:
        play = desk.says("alice", 11).play()
        check("a run within its limits: it is not measured again", play.needs["publish"]["outputs"]["confirm"] == "false"
              and play.results()["confirm"] == play.results()["publish-again"] == "skipped", (play.results(), play.log()))

        play, seen = desk.says("alice", 12), {}
        play.on_machine = lambda machine: machine.job == "confirm" and seen.update(
            comments=desk.hub.comments(12), statuses=desk.hub.statuses(desk.project.heads[12]))
        play.play()
        check("a run that is unusual: publish asks for another, which is measured and published",
              play.needs["publish"]["outputs"]["confirm"] == "true" and set(play.results().values()) == {"success"},
              (play.results(), play.log()))
        held = {name: sorted(machine.held) for name, machine in play.machines.items()}
        check("  the second holds as little as the first", held["confirm"] == held["run"] == ["GH_TOKEN"]
              and held["publish-again"] == held["publish"], held)
        check("  before it the comment warns, and the status is no failure", len(seen["comments"]) == 1
              and "unusual" in seen["comments"][0] and seen["statuses"] == ["pending", "success"], seen)
        two = runs_of(desk, 12)
        check("  two runs of that commit, each with a name of its own", len(two) == 2
              and len({one["run"]["id"] for one in two}) == 2 and all(one["trigger"]["pull_request"] == 12
              and one["run"]["identity"] == "planned" for one in two), [one["run"] for one in two])
        told = desk.hub.comments(12)
        check("  the verdict of both: regressed, in 2 runs", "unusual in 2 runs" in told[-1] and "Regressed" in told[-1], told)
        # It got worse, of which people hear by a new comment.
        check("  one comment tells it, and the one before points to it", len(told) == 2
              and "The newest result is in" in told[0] and "CPU time" not in told[0], told)
        statuses = desk.hub.statuses(desk.project.heads[12])
        check("  and the one status is a failure now", statuses == ["pending", "success", "failure"], statuses)

        play = desk.says("alice", 14)
        play.on_machine = lambda machine: machine.job == "confirm" and (machine.folder / "home/calm").touch()
        play.play()
        told, statuses = desk.hub.comments(14), desk.hub.statuses(desk.project.heads[14])
        check("a run that was unusual by chance: the second says unchanged", set(play.results().values()) == {"success"}
              and len(runs_of(desk, 14)) == 2 and len(told) == 1 and "Unchanged" in told[0]
              and statuses[-1] == "success", (told, statuses, play.log()))

        play = desk.says("alice", 13)
        play.inputs["confirm"] = False
        play.play()
        check("an unusual run where nobody wants a second: no job confirms it",
              play.needs["publish"]["outputs"]["confirm"] == "true" and play.results()["confirm"] == "skipped"
              and play.results()["publish-again"] == "skipped" and len(runs_of(desk, 13)) == 1, (play.results(), play.log()))
        desk.fits()


def told_once(desk, play):
    """Whatever was killed and begun again: one run, one comment, a final status."""
    records = desk.results.records()
    check("  one run is there", [(one["run"]["status"], one["commit"]["sha"]) for one in records]
          == [("succeeded", desk.project.faster)], play.log())
    last = desk.hub.comments(7)
    check("  one comment tells the result", len(last) == 1 and "CPU time" in last[0] and "running" not in last[0], last)
    statuses = {(one["context"], one["state"]) for one in desk.hub.state()["statuses"]}
    newest = desk.hub.statuses(desk.project.faster)[-1]
    check("  and one status, which is final", newest == "success"
          and statuses <= {("perftrail/sim", "pending"), ("perftrail/sim", "success")}, statuses)


def killed():
    with Desk("killed") as desk:
        play = desk.says("alice", 7)

        def kill_at(method, word):
            """The container of the publisher ends when such a request is carried out, before it hears the answer."""
            def carried_out(asked):
                machine = play.machines.get("publish")
                if machine and asked.startswith(method) and word in asked:
                    kill_at.done = asked
                    desk.hub.carried_out = lambda _: None
                    subprocess.run([DOCKER, "kill", machine.container], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            kill_at.done, desk.hub.carried_out = None, carried_out

        attempt = play.play
        for method, word, what in (("GET", "/repos/octo-org/comment", "before anything is pushed"),
                                   ("GET", "/comments", "after the push, before anything is told"),
                                   ("PATCH", "/comments/", "after the comment"),
                                   ("POST", "/statuses/", "after the status")):
            kill_at(method, word)
            attempt()
            check(f"the publisher is killed {what}: its job fails", kill_at.done and play.results()["publish"] == "failure",
                  (kill_at.done, play.results(), play.log()))
            check("  no comment more, no run more", len(desk.hub.comments(7)) == 1 and len(desk.results.records()) <= 1,
                  desk.hub.comments(7))
            attempt = play.again
        desk.hub.carried_out = lambda _: None
        measured = play.machines["run"]
        play.again()
        check("the failed job is run again: it ends well, and nothing was measured again", play.attempt == 5
              and set(play.results().values()) == {"success", "skipped"} and play.machines["run"] is measured, play.log())
        told_once(desk, play)
        # A whole new attempt: gate, machine and publisher once more.
        play.attempt += 1
        play.variables["GITHUB_RUN_ATTEMPT"] = str(play.attempt)
        play.play()
        last = desk.hub.comments(7)
        check("all jobs once more: a run of its own, in the same comment", len(desk.results.records()) == 2
              and len(last) == 1 and "running" not in last[0], (last, play.log()))
        signs = [one["content"] for one in desk.hub.state()["reactions"]]
        check("  and the comment that asked has one sign", signs == ["eyes"], signs)
        desk.fits()


def epochs(desk):
    return tomllib.loads(desk.blobs().get("epochs.toml", b"").decode()).get("epoch", [])


def accepted():
    with Desk("accepts") as desk:
        desk.says("alice", 7).play()
        before = len(desk.hub.comments(7))
        words = "/profile accept cpu_time because the new solver is exact"
        play = desk.says("reader", 7, words).play()
        check("somebody who may not write accepts: no", play.results()["publish"] == "skipped" and epochs(desk) == []
              and "only people who can push" in desk.hub.comments(7)[-1], play.log())
        play = desk.says("alice", 7, words).play()
        check("a reviewer accepts: nothing is measured, publish writes it down", play.results() == {
            "gate": "success", "preflight": "skipped", "run": "skipped", "publish": "success", "confirm": "skipped",
            "publish-again": "skipped"}, (play.results(), play.log()))
        found = [{name: one.get(name) for name in ("metric", "pull_request", "because", "author")} for one in epochs(desk)]
        check("  epochs.toml has metric, pull request, reason and author", found == [
            {"metric": "cpu_time", "pull_request": 7, "because": "the new solver is exact", "author": "alice"}], found)
        answers = desk.hub.comments(7)[before + 1:]
        check("  one comment answers", len(answers) == 1 and "cpu" in answers[0]
              and "is accepted since pull request 7" in answers[0], desk.hub.comments(7))
        signs = [one["content"] for one in desk.hub.state()["reactions"]]
        check("  each comment that asked has one sign", signs == ["eyes", "confused", "eyes"], signs)
        play.play()
        check("the same once more: no second epoch, no second answer", len(epochs(desk)) == 1
              and len(desk.hub.comments(7)) == before + 2, play.log())
        play = desk.says("alice", 7, "/profile accept cpu_tme because it is late").play()
        check("a slip is asked back, and nothing is written", "did you mean" in desk.hub.comments(7)[-1]
              and play.results()["publish"] == "skipped" and len(epochs(desk)) == 1, play.log())
        play = desk.says("alice", 7, "/profile accept happiness because it is late").play()
        check("a metric that no run has: publish fails, and one comment says why", play.results()["publish"] == "failure"
              and "Nothing is accepted" in desk.hub.comments(7)[-1] and len(epochs(desk)) == 1,
              (desk.hub.comments(7)[-1], play.log()))
        desk.fits()


runner.show((unusual, killed, accepted))
