"""Work queues: measures what it costs to give each message to exactly one consumer.

Besides loadtest/kit/ it imports stores/ only. The processes that measure are its own children, and
what they have counted never travels through the queue that is measured.
"""
