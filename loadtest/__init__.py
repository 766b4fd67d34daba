"""Load tests: the swarm (bots.py) and the brokers' benchmark (two_queues.py)."""
