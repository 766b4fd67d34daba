"""Redis and Valkey: one server (broker.py), or a cluster (cluster.py).

What they say is packed and parsed by hiredis, which is the server's dependency. The package
`redis` (redis-py) is another one, which only the load tests and the tests need.
"""
