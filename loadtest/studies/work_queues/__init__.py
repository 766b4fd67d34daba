"""Work queues: measures what it costs to give each message to exactly one consumer.

Apart from loadtest/kit/ it imports only stores/. The processes that measure are its own children,
and what they have counted never travels through the queue that is measured.
"""
