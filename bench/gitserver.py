"""A git server over HTTP on this machine, the git program behind it, that counts every byte."""

import base64
import os
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "ghs_of_the_bench"
# What a CGI program is told, by the header of the request.
HEADERS = {
    "CONTENT_TYPE": "Content-Type",
    "HTTP_CONTENT_ENCODING": "Content-Encoding",
    "GIT_PROTOCOL": "Git-Protocol",
}


class Link:
    """A way to the server: so many bytes a second, and so many seconds for a question and its answer."""

    def __init__(self, rate, delay):
        self.rate, self.delay = rate, delay

    def carry(self, count):
        time.sleep(count / self.rate)

    def turn(self):
        time.sleep(self.delay)


class NoLink:
    """Both on one machine."""

    def carry(self, count):
        pass

    def turn(self):
        pass


class Counted:
    """A stream whose bytes are counted."""

    def __init__(self, stream, add):
        self.stream, self.add = stream, add

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def read(self, size=-1):
        return self.took(self.stream.read(size))

    def readline(self, size=-1):
        return self.took(self.stream.readline(size))

    def took(self, content):
        self.add(len(content))
        return content

    def write(self, content):
        self.add(len(content))
        return self.stream.write(content)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body of an answer go out apart: waiting for an acknowledgement in between costs 40 ms.
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.server.link.turn()
        self.rfile = Counted(self.rfile, self.server.pushed)
        self.wfile = Counted(self.wfile, self.server.received)

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.serve(b"")

    def do_POST(self):
        self.serve(self.body())

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def serve(self, body):
        self.server.link.turn()
        wanted = "Basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
        if self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "REMOTE_USER": "bench",
            "REMOTE_ADDR": "127.0.0.1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_LENGTH": str(len(body)),
        }
        environment.update({name: self.headers.get(header, "") for name, header in HEADERS.items()})
        with subprocess.Popen(
            ["git", "http-backend"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as child:
            # A program that answers before it has read everything must not be waited for.
            writer = threading.Thread(target=self.feed, args=(child.stdin, body))
            writer.start()
            self.answer(child.stdout)
            writer.join()

    @staticmethod
    def feed(stream, body):
        try:
            stream.write(body)
            stream.close()
        except BrokenPipeError:
            pass

    def answer(self, output):
        status, headers = 200, []
        while line := output.readline().decode().strip():
            name, _, value = line.partition(": ")
            if name == "Status":
                status = int(value.split()[0])
            else:
                headers.append((name, value))
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while content := output.read1(1 << 16):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.write(b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    """Serves the repositories below `root` to whoever has the token."""

    daemon_threads = True

    def __init__(self, root):
        super().__init__(("127.0.0.1", 0), Handler)
        self.root = root
        self.link = NoLink()
        self.lock = threading.Lock()
        self.sums = {"pushed": 0, "received": 0}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, name):
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"

    def pushed(self, count):
        self.count("pushed", count)

    def received(self, count):
        self.count("received", count)

    def count(self, way, count):
        self.link.carry(count)
        with self.lock:
            self.sums[way] += count

    def take(self):
        """Bytes pushed and received by clients since the last time."""
        with self.lock:
            sums, self.sums = self.sums, {"pushed": 0, "received": 0}
        return sums["pushed"], sums["received"]
