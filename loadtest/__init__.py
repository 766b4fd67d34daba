"""Load tests: the swarm (bots.py) and the benchmark of the brokers (two_queues.py)."""
