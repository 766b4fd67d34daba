"""Real MQTT servers as child processes on loopback, for as long as a block lasts."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.brokers.servers import (
    PASSWORD,
    QUOTED,
    QUOTED_USER,
    USER,
    Server,
    certify,
    run,
)


class Mosquitto(Server):
    """A mosquitto; its options are lines of its configuration."""

    scheme, tls_scheme, program = "mqtt", "mqtts", "mosquitto"

    def configured(self, *options):
        # Of lines of one kind the last counts.
        lines = ["max_queued_messages 1000000", "set_tcp_nodelay true", "user root", *options]
        lines.append(f"listener {self.port} 127.0.0.1")
        if self.tls:
            key, certificate = certify()
            lines += [f"keyfile {key}", f"certfile {certificate}"]
        if self.login:
            path = self.folder / "passwords"
            subprocess.run(
                ["mosquitto_passwd", "-b", "-c", str(path), USER, PASSWORD],
                check=True,
                capture_output=True,
            )
            lines += [f"password_file {path}", "allow_anonymous false"]
        else:
            lines.append("allow_anonymous true")
        path = self.folder / "mosquitto.conf"
        path.write_text("\n".join(lines) + "\n")
        return ["-c", str(path)]


@contextmanager
def running(*options: str, tls: bool = False, login: bool = False) -> Iterator[Mosquitto]:
    """Run a server."""
    who = f"{QUOTED_USER}:{QUOTED}@" if login else ""
    with run(Mosquitto(*options, tls=tls, login=who)) as server:
        yield server


@contextmanager
def mqtt_url() -> Iterator[str]:
    with running(login=True) as server:
        yield server.url


@contextmanager
def mqtts_url() -> Iterator[str]:
    with running(tls=True) as server:
        yield server.url
