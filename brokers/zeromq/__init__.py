"""Brokers joined by a forwarder over ZeroMQ, and that forwarder: `python -m brokers.zeromq`.

    zeromq://HOST                      what is published goes to port 5561, and comes from 5562
    zeromq://HOST:7000                 to port 7000, from 7001
    zeromq://HOST:7000?pub=7005        to port 7000, from 7005
    zeromq+ipc:///path/prefix          to the socket /path/prefix.pull, from /path/prefix.pub

The forwarder's options have the same names: --pull and --pub are its ports, --ipc is its prefix.
There is neither a password nor encryption: whoever reaches these ports is trusted.
"""
