"""How large the worlds are that are measured, and the targets for what they cost."""

#: Seconds that are measured in each run.
SECONDS = 6.0

#: Seconds in which players move before workers are measured: by then each player has gone to the
#: worker that serves its part of the world, and the others have forgotten its surroundings.
SETTLED = 20.0

#: The broker between workers, and between nodes.
BROKER = "redis://"

#: The same players and squares for each number of workers, and how they move.
BOTS, SQUARES = 800, 40
WORKERS = 1, 2, 4, 8
SCENARIOS = "mill", "wander"

#: Workers -> how many times the CPU of a delivery with one worker a delivery may cost.
TARGETS_WORKERS = {2: 1.15, 4: 1.25, 8: 1.4}

#: Nodes, and how many are all real processes, as a check of the others; players of each node,
#: players in each square, and moves a second of each player.
NODES = 1, 10, 100, 300, 1000
REAL = 4, 8, 16
PLAYERS, TOGETHER, MOVES = 50, 10, 1.0

#: Servers that are machines of one world, each with PLAYERS players in SQUARES squares.
MACHINES = 4

#: The share of a core that hearing a thousand nodes may take.
TARGET_NODES = {1000: 0.02}

#: Players in one square, moves a second of each, and the seconds in which they join: each newcomer
#: is shown to all that are there already. One process of bots cannot read what
#: 5,000 are told.
CROWDS = 625, 1250, 2500, 5000
CROWD_MOVES, CROWD_JOINS = 1.0, 10.0
CROWD_PROCESSES = 2

#: The largest crowd's target: bytes a second to each player, and the exponent of its CPU.
TARGET_CROWD_BYTES, TARGET_CROWD_EXPONENT = 32 * 1024, 1.3
