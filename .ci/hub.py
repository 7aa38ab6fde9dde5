"""GitHub as the workflow sees it: the bench's fake, which holds every request and answer against
GitHub's own description, and before it what that keeps no state of: files of a repository at a
commit, the list of pushes, whose token it is.
"""

import atexit
import json
import os
import re
import socket
import subprocess
import threading
import urllib.request
from datetime import datetime, timedelta, timezone
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from runner import SERVER, git

BENCH = Path(os.environ["BENCH_GIT_SERVER"]).parent
BOT = {"login": "github-actions[bot]", "id": 41898282, "type": "Bot"}


def free():
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]


PORT = free()


def ago(**time):
    return (datetime.now(timezone.utc) - timedelta(**time)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Hub:
    """The hub holds one repository, `octo-org/engine`, which lies in the git server too."""

    def __init__(self, word, source):
        self.word, self.source, self.asked, self.pushes = word, source, [], {}
        # What runs of workflows left, by run and name; what happens when a request is carried out.
        self.artifacts, self.carried_out = {}, lambda asked: None
        self.tokens = SERVER / "tokens"
        self.told = self.tokens.read_text()
        node = ["node", str(BENCH / "50-fake-github.mjs"), "--port", str(PORT)]
        modules = Path(os.environ["BENCH_DIR"]) / "node_modules"
        self.fake = subprocess.Popen(node, env={**os.environ, "NODE_MODULES": str(modules)}, stdout=subprocess.PIPE,
                                     text=True)
        atexit.register(self.fake.kill)
        if not self.fake.stdout.readline().startswith("fake GitHub API"):
            raise SystemExit("the fake GitHub does not start")
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Front", (Front,), {"hub": self}))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{self.server.server_port}"
        self.variables = {"GITHUB_API_URL": address, "GITHUB_GRAPHQL_URL": f"{address}/graphql"}

    def end(self):
        self.server.shutdown()
        self.fake.terminate()
        self.fake.wait()
        self.tokens.write_text(self.told)

    def control(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}/__bench{path}", data, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def state(self):
        return self.control("GET", "/state")

    def token(self, token, permissions, git_write=False):
        """A token, with these rights at the API; it may read the git server, or write."""
        may_tell = "write" if permissions.get("pull-requests") == permissions.get("statuses") == "write" else "read"
        self.control("PATCH", "/state", {"tokens": {token: may_tell}})
        if token not in self.tokens.read_text():
            with self.tokens.open("a") as tokens:
                tokens.write(f"{token} {'write' if git_write else 'read'}\n")

    def pull(self, number, branch, head, base, repository="octo-org/engine", files=("sim.py",), draft=False,
             state="open"):
        """A pull request, pushed an hour ago."""
        pushed = ago(hours=1)
        if repository == "octo-org/engine":
            self.pushes[branch] = (head, pushed)
        compare = {f"{base}...{head}": {"status": "ahead", "ahead_by": 1, "behind_by": 0, "total_commits": 1,
                                        "merge_base_commit": {"sha": base}}}
        self.control("PATCH", "/state", {"repos": {"octo-org/engine": {"compare": compare, "pulls": {str(number): {
            "title": "Make it fast", "state": state, "draft": draft, "merged": False,
            "head": {"ref": branch, "sha": head,
                     "repo": {"full_name": repository, "fork": repository != "octo-org/engine", "pushed_at": pushed}},
            "base": {"ref": "main", "sha": base}, "files": list(files)}}}}})

    def people(self, **roles):
        # Everybody may read what is public.
        self.control("PATCH", "/state", {"repos": {"octo-org/engine": {"permissions": roles, "unknown_user": "read"}}})

    def says(self, who, number, text):
        """Somebody comments; gives the event."""
        self.control("PATCH", "/state", {"app": {"login": who, "id": 7, "type": "User"}})
        address = f"http://127.0.0.1:{PORT}/repos/octo-org/engine/issues/{number}/comments"
        headers = {"Authorization": "Bearer bench-token", "User-Agent": "ci", "Content-Type": "application/json"}
        request = urllib.request.Request(address, json.dumps({"body": text}).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            comment = json.load(answer)
        self.control("PATCH", "/state", {"app": BOT})
        payload = self.event("issue_comment", "--pr", number, "--body", text, "--user", who, "--comment-id", comment["id"])
        payload["comment"]["created_at"] = comment["created_at"]
        self.asked.clear()
        return payload

    def event(self, *words):
        """An event as GitHub's own examples have it."""
        event = subprocess.run(["node", str(BENCH / "21-make-event.mjs"), *map(str, words)],
                               check=True, text=True, stdout=subprocess.PIPE)
        return json.loads(event.stdout)

    def pulled(self, number, who, action="opened"):
        """Something happened to a pull request; gives the event."""
        pull = self.state()["repos"]["octo-org/engine"]["pulls"][str(number)]
        head = pull["head"]
        fork = ["--fork", head["repo"]["full_name"]] if head["repo"]["fork"] else []
        payload = self.event("pull_request", "--action", action, "--pr", number, "--user", who, "--head-sha", head["sha"],
                             "--head-ref", head["ref"], "--base-sha", pull["base"]["sha"], *fork)
        payload["pull_request"]["draft"] = pull["draft"]
        return payload

    def ended(self, play, who, began):
        """A workflow that a pull request started came to its end; gives the event."""
        head = play.payload["pull_request"]["head"]
        place = next(pull["head"]["repo"]["full_name"] for pull in self.state()["repos"]["octo-org/engine"]["pulls"].values()
                     if pull["head"]["sha"] == head["sha"])
        payload = self.event("workflow_run", "--action", "completed")
        payload["workflow"]["name"], payload["repository"]["private"] = play.example.name, False
        run = payload["workflow_run"]
        run |= {"id": int(play.run_id), "run_attempt": play.attempt, "run_number": int(play.variables["GITHUB_RUN_NUMBER"]),
                "name": play.example.name, "event": play.event, "head_sha": head["sha"], "head_branch": head["ref"],
                "actor": {**payload["sender"], "login": who}, "created_at": began, "run_started_at": began, "updated_at": ago(),
                "status": "completed", "conclusion": "failure" if "failure" in play.results().values() else "success",
                # GitHub names none of those that come from forks.
                "pull_requests": [], "head_repository": {**run["head_repository"], "full_name": place}}
        return payload

    def comments(self, number):
        """What the workflow said under a pull request."""
        return [one["body"] for one in self.state()["comments"]
                if one["_issue"] == number and one["user"]["login"] == BOT["login"]]

    def statuses(self, sha):
        return [one["state"] for one in self.state()["statuses"] if one["_sha"] == sha]

    def misfits(self):
        """Requests and answers that do not fit the description of GitHub."""
        wrong = ("request_errors", "answer_errors", "unknown_fields", "bug")
        return [one for one in self.control("GET", "/log") if any(key in one for key in wrong)]


class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub = None

    def log_message(self, *_):
        pass

    def say(self, status, body, kind="application/json; charset=utf-8", headers=()):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        try:
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # whoever asked was killed

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.hub.asked.append(f"{self.command} {self.path}")
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        token = (self.headers.get("Authorization") or "").partition(" ")[2]
        known = token in self.hub.state()["tokens"]
        if found := known and re.fullmatch(r"/repos/octo-org/engine/contents/(.+)", url.path):
            try:
                text = git(self.hub.source, "show", f"{query['ref']}:{found.group(1)}").encode()
            except SystemExit:
                return self.say(404, {"message": "Not Found", "status": "404"})
            return self.say(200, text, "application/vnd.github.raw+json; charset=utf-8")
        if known and url.path == "/repos/octo-org/engine/activity":
            branch = query.get("ref", "").removeprefix("refs/heads/")
            head, pushed = self.hub.pushes.get(branch, (None, None))
            one = {"id": 1, "node_id": "PSH_1", "before": "0" * 40, "after": head, "ref": f"refs/heads/{branch}",
                   "timestamp": pushed, "activity_type": "push", "actor": None}
            return self.say(200, [one] if head else [])
        if known and re.fullmatch(r"/repos/[^/]+/[^/]+/activity", url.path):
            return self.say(404, {"message": "Not Found", "status": "404"})
        if known and self.command == "GET" and url.path == "/repos/octo-org/engine/pulls":
            return self.pulls(query, token)
        # A job's own token has no user that it could ask for.
        if known and url.path == "/user":
            return self.say(403, {"message": "Resource not accessible by integration", "status": "403"})
        if known and url.path == "/graphql":
            return self.say(200, {"data": {"viewer": {"login": BOT["login"]}}})
        answer, body = self.passed_on(self.command, self.path, body or None, dict(self.headers))
        self.hub.carried_out(f"{self.command} {self.path}")
        if self.command == "GET" and (found := re.fullmatch(r"/repos/([^/]+/[^/]+)", url.path)) and answer.status == 200:
            pushes = f"{token} write\n" in self.hub.tokens.read_text()
            body = json.dumps({**json.loads(body), "full_name": found.group(1), "visibility": "public", "private": False,
                               "permissions": {"pull": True, "push": pushes, "admin": False}}).encode()
        kept = [(name, value) for name, value in answer.getheaders() if name.lower().startswith(("x-", "link", "location"))]
        return self.say(answer.status, body, answer.getheader("Content-Type"), kept)

    def passed_on(self, *request):
        fake = HTTPConnection("127.0.0.1", PORT)
        fake.request(*request)
        answer = fake.getresponse()
        return answer, answer.read()

    def pulls(self, query, token):
        """The pull requests of a branch, each as it is told alone."""
        owner, _, branch = query["head"].partition(":")
        found = []
        for number, pull in self.hub.state()["repos"]["octo-org/engine"]["pulls"].items():
            head = pull["head"]
            if (head["ref"], head["repo"]["full_name"].split("/")[0]) == (branch, owner) and \
                    query["state"] in (pull["state"], "all"):
                headers = {"Authorization": f"Bearer {token}", "User-Agent": self.headers["User-Agent"]}
                _, body = self.passed_on("GET", f"/repos/octo-org/engine/pulls/{number}", None, headers)
                found.append(json.loads(body))
        return self.say(200, found)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = answer
