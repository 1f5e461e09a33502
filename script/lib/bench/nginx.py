"""nginx with a constant answer: what HTTP alone costs on this machine."""

from pathlib import Path

from server import Server

TEMPLATE = Path(__file__).resolve().parents[3] / "Benchmarks/nginx/nginx.conf"


class Nginx(Server):
    """Answers everything with as many bytes as asked for, in two workers."""

    def __init__(self, directory, body_bytes):
        super().__init__(directory / "nginx.log")
        self.directory = directory / "nginx"
        self.directory.mkdir()
        self.directory.chmod(0o755)
        self.configuration = self.directory / "nginx.conf"
        # A body of one letter has no character that the configuration would have to escape.
        text = TEMPLATE.read_text()
        for name, value in {"DIRECTORY": str(self.directory), "PORT": str(self.port), "BODY": "x" * body_bytes}.items():
            text = text.replace(f"@{name}@", value)
        self.configuration.write_text(text)

    def command(self):
        return ["/usr/sbin/nginx", "-p", str(self.directory), "-e", str(self.log), "-c", str(self.configuration)]
