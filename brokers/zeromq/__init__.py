"""Brokers that a forwarder joins over ZeroMQ, and that forwarder: `python -m brokers.zeromq`.

    zeromq://HOST                      messages go to port 5561 and come from port 5562
    zeromq://HOST:7000                 to port 7000, from port 7001
    zeromq://HOST:7000?pub=7005        to port 7000, from port 7005
    zeromq+ipc:///path/prefix          to the socket /path/prefix.pull, from /path/prefix.pub

The forwarder's options have the same names: --pull and --pub are its ports, --ipc is its prefix.
There is neither a password nor encryption: whoever reaches these ports is trusted.
"""
