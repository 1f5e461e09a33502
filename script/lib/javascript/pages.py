"""Serves the module, the web example and the page of the tests, with a policy that permits no inline script."""

import functools
import http.server
import threading
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".html": "text/html", ".css": "text/css",
         ".svg": "image/svg+xml", ".json": "application/json"}


class Pages:
    """A web server on a free port. `files` maps paths to files; `reachable` are the origins that pages may ask."""

    def __init__(self, files):
        self.files = files
        self.reachable = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, self))
        self.base = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def policy(self):
        stores = " ".join(self.reachable)
        return (f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' data: {stores}; "
                f"img-src 'self' data: {stores}; base-uri 'none'; form-action 'none'")


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET."""

    def __init__(self, pages, *arguments):
        self.pages = pages
        super().__init__(*arguments)

    def do_GET(self):
        file = self.pages.files.get(urlsplit(self.path).path)
        if file is None:
            self.send_error(404)
            return
        body = file.read_bytes() if isinstance(file, Path) else file()
        self.send_response(200)
        self.send_header("Content-Type", TYPES[file.suffix] if isinstance(file, Path) else TYPES[".json"])
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", self.pages.policy())
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
