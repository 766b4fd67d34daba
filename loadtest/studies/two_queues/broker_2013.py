"""The broker of the article of 2013: `python -m
loadtest.studies.two_queues.broker_2013 PULL PUB`, two ports.

It receives on a PULL socket and sends everything on a PUB socket. It counts nothing: where a queue
to a subscriber is full, ZeroMQ drops the message, and nobody knows. brokers/zeromq/forwarder.py is
what the game uses instead.
"""

import sys

import zmq


def main(pull: str, pub: str) -> None:
    """Pass messages on from one port of loopback to the other one, until a signal ends it."""
    context = zmq.Context()
    receiver, sender = context.socket(zmq.PULL), context.socket(zmq.PUB)
    receiver.bind(f"tcp://127.0.0.1:{pull}")
    sender.bind(f"tcp://127.0.0.1:{pub}")
    print("ready", flush=True)
    while True:
        sender.send(receiver.recv())


if __name__ == "__main__":
    main(*sys.argv[1:])
