"""Redis and Valkey: one server (broker.py), or a cluster (cluster.py).

hiredis packs the commands and parses the replies; the server depends on it. The package `redis`
(redis-py) is another one, and only the load tests and the tests need it.
"""
