"""Real MQTT servers as child processes on loopback, which end with a `with` block."""

import subprocess
from functools import partial

from tests.brokers.servers import PASSWORD, USER, Server, certify, run


class Mosquitto(Server):
    """A mosquitto; its options are lines of its configuration."""

    scheme = "mqtt"
    tls_scheme = "mqtts"
    program = "mosquitto"

    def configured(self, *options):
        # If several lines have the same setting, the last one counts.
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


running = partial(run, Mosquitto)
