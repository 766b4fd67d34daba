"""Two queues, again: measures how much the brokers carry without the game.

Apart from loadtest/kit/ it imports only brokers/. The processes that measure are its own children,
and what they have counted never travels over the broker that is measured.
"""
