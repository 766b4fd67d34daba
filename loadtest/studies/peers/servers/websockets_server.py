"""A world of squares on websockets: each square is a set of connections, which get broadcasts.

Prints its port when it listens.
"""

import asyncio
import itertools
import json
from collections import defaultdict

from websockets.asyncio.server import broadcast, serve

subscribers = defaultdict(set)
ids = itertools.count(1)


async def play(connection):
    id, square, held = next(ids), None, []
    try:
        async for text in connection:
            message = json.loads(text)
            if message["type"] == "move":
                broadcast(subscribers[square], json.dumps({**message, "id": id}))
            elif message["type"] == "join":
                column, row = square = message["column"], message["row"]
                held = [(column + x, row + y) for x in (-1, 0, 1) for y in (-1, 0, 1)]
                for each in held:
                    subscribers[each].add(connection)
                await connection.send(json.dumps({"type": "joined"}))
    finally:
        for each in held:
            subscribers[each].discard(connection)


async def main():
    async with serve(play, "127.0.0.1", 0, compression=None) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
