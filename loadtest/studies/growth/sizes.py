"""How large the worlds are that are measured, and the targets for what they cost."""

#: Seconds that are measured in each run.
SECONDS = 6.0

#: Seconds in which players move before workers are measured: by then each player has gone to the
#: worker that serves its part of the world, and the others have forgotten its surroundings.
SETTLED = 20.0

#: The broker between workers, and between nodes.
BROKER = "redis://"

# The bots are the same, and in the same squares, for each number of workers.
BOTS = 800
SQUARES = 40
WORKERS = 1, 2, 4, 8
#: How the bots move.
SCENARIOS = "mill", "wander"

#: Workers -> how many times the CPU of a delivery with one worker a delivery may cost.
TARGETS_WORKERS = {2: 1.15, 4: 1.25, 8: 1.4}

NODES = 1, 10, 100, 300, 1000
#: So many nodes are all real processes, as a check of the others.
REAL = 4, 8, 16
#: Each node has so many players.
PLAYERS = 50
PLAYERS_A_SQUARE = 10
#: Each player makes so many moves.
MOVES_A_SECOND = 1.0

#: Servers that are machines of one world, each with PLAYERS players in SQUARES squares.
MACHINES = 4

#: The share of a core that hearing a thousand nodes may take.
TARGET_NODES = {1000: 0.02}

#: So many players are in one square.
CROWDS = 625, 1250, 2500, 5000
#: Each of them makes so many moves.
CROWD_MOVES_A_SECOND = 1.0
#: They join within this time: each newcomer is shown to all that are there already.
CROWD_JOIN_SECONDS = 10.0
#: One process of bots cannot read what 5,000 are told.
CROWD_PROCESSES = 2

#: The largest crowd's target: so much goes to each player.
TARGET_CROWD_BYTES_A_SECOND = 32 * 1024
#: The largest crowd's target: its CPU grows by this exponent.
TARGET_CROWD_EXPONENT = 1.3
