"""Redis and Valkey: one server (broker.py), or a cluster (cluster.py).

hiredis packs the commands and parses the replies. The package `redis` (redis-py) is a different
one, which a store in Redis uses.
"""
