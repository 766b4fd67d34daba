"""Real NATS servers as child processes on loopback, which end with a `with` block."""

import json
import socket
from functools import partial

from tests.brokers.servers import PASSWORD, USER, Server, certify, run


class Nats(Server):
    """A nats-server; its options are lines of its configuration."""

    scheme = "nats"
    tls_scheme = "tls"
    program = "nats-server"

    def configured(self, *options):
        lines = [f"listen: 127.0.0.1:{self.port}", *options]
        if self.tls:
            key, certificate = certify()
            lines.append(
                f"tls: {{cert_file: {json.dumps(str(certificate))}, key_file: "
                f"{json.dumps(str(key))}}}"
            )
        if self.login:
            who = {"user": USER, "password": PASSWORD}
            lines.append(f"authorization: {json.dumps(who)}")
        path = self.folder / "server.conf"
        path.write_text("\n".join(lines) + "\n")
        return ["--config", str(path)]

    def answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(4) == b"INFO"
        except OSError:
            return False


running = partial(run, Nats)
