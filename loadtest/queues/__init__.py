"""Two queues, again: how much the brokers carry, without the game.

It imports brokers/ and nothing else of the project; the processes that measure are its own
children, and what they counted never travels over the broker that is measured.
"""
