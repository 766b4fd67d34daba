"""A peer for tests, made of the standard library only: it sends every move to all players.

It answers a join after its ping was answered, and writes frames in two pieces, cut anywhere.
`--die-after N` ends it with an error after N moves; `--drop-every N` leaves out each Nth delivery;
`--work MS` makes each move cost MS ms of CPU. It prints its port when it listens.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import time

players = []
moves = sent = 0


def frame(payload, opcode=1):
    head = bytes((0x80 | opcode,))
    size = len(payload)
    return head + (bytes((size,)) if size < 126 else b"\x7e" + size.to_bytes(2, "big")) + payload


async def read_frame(reader):
    first, second = await reader.readexactly(2)
    size = second & 0x7F
    assert second & 0x80 and size < 126
    key = await reader.readexactly(4)
    masked = await reader.readexactly(size)
    return first & 15, bytes(byte ^ key[at % 4] for at, byte in enumerate(masked))


def write(writer, data):
    cut = random.randrange(len(data))
    for piece in (data[:cut], data[cut:]):
        writer.write(piece)


async def play(reader, writer):
    try:
        await talk(reader, writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def talk(reader, writer):
    global moves, sent
    await reader.readuntil(b"\r\n\r\n")
    # The first frame comes in one write with the handshake, as may happen.
    writer.write(b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + frame(b"sure?", 9))
    joins = False
    while True:
        opcode, payload = await read_frame(reader)
        if opcode == 10:
            assert payload == b"sure?" and joins
            players.append(writer)
            write(writer, frame(b'{"type":"joined"}'))
            continue
        message = json.loads(payload)
        if message["type"] == "join":
            joins = True
            continue
        moves += 1
        idle_from = time.process_time() + given.work / 1000
        while time.process_time() < idle_from:
            pass
        if moves == given.die_after:
            print("Error: too many moves", file=sys.stderr, flush=True)
            os._exit(1)
        for other in players:
            sent += 1
            if not given.drop_every or sent % given.drop_every:
                write(other, frame(payload + b" " * random.randrange(200)))


async def main():
    server = await asyncio.start_server(play, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--die-after", type=int)
    parser.add_argument("--drop-every", type=int)
    parser.add_argument("--work", type=float, default=0.0)
    given = parser.parse_args()
    asyncio.run(main())
