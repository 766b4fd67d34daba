"""Whether a number of connections is possible here: descriptors, ports, and source addresses.

It counts, and opens nothing.
"""

from pathlib import Path

from flatlands.loadtest.kit.processes import SPARE_DESCRIPTORS

#: Where Linux says which ports connections come from.
PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")

#: The number of these ports where there is no such file.
USUAL_PORTS = 28_232


def ports(path: Path = PORT_RANGE) -> int:
    """Return how many ports one source address has for connections to one port."""
    if not path.exists():
        return USUAL_PORTS
    low, high = map(int, path.read_text().split())
    return high - low + 1


def processes_for(connections: int, descriptors: int) -> int:
    """Return how many processes are needed to have descriptors for this many connections."""
    return -(-connections // (descriptors - SPARE_DESCRIPTORS))


def sources(connections: int, ports: int) -> list[str]:
    """Return the addresses that connections to loopback come from, to be used in turn.

    No address uses more than half of its ports: the kernel takes long to find one of the last.
    """
    return [f"127.0.0.{1 + n}" for n in range(-(-connections // max(ports // 2, 1)))]


def why_not(
    connections: int,
    processes: int,
    workers: int | None,
    descriptors: int,
    ports: int | None,
) -> str:
    """Return a sentence that says what is lacking for this many connections, or an empty text.

    `processes` are those of the clients, and `workers` those of the server, or None if it is not
    started here. `descriptors` is what each of them may have. `ports` are those of the only source
    address; None stands for any number of addresses.
    """
    needed = processes_for(connections, descriptors)
    each = f"{connections:,} connections need {needed} processes at least, because each may have "
    each += f"{descriptors:,} file descriptors here"
    if processes < needed:
        return f"{each}: give --processes {needed}, or raise the limit (ulimit -n)"
    if workers is not None and workers < needed:
        return f"{each}: give --workers {needed}, or raise the limit (ulimit -n)"
    if ports is not None and connections > ports:
        return (
            f"{connections:,} connections need more ports than the {ports:,} that this machine's "
            f"one address has (net.ipv4.ip_local_port_range): ramp to {ports:,} at most"
        )
    return ""
