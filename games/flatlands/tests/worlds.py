"""What tests of several parts of Flatlands do in a world of flatlands.testkit."""

from flatlands.games.flatlands.options import Options
from flatlands.testkit import World


def lonely(nodes=2, *, walkers=0, twins=0, gem_pause=120, **more):
    """Return a world without gems, and without computer players unless it is to have some."""
    options = Options(walkers=walkers, deer=0, gems=0, twins=twins, gem_pause=gem_pause)
    return World("flatlands", nodes, options=options, **more)


def resident(world, player):
    """Return what the node of a player has of it."""
    return world.game(player.node).node.residents.by_id[player.id]


def part(world, kind, node=0):
    """Return the part of this kind of a node's game."""
    [found] = [one for one in world.game(node).node.play._parts if isinstance(one, kind)]
    return found


def put(world, player, tile):
    """Put a player onto a tile."""
    game = world.game(player.node)
    game.me(game.node, resident(world, player)).teleport(tile)
    world.run(1)


def same_person(world, player, other):
    """Let a player be the person that another one is, as its second window is."""
    resident(world, player).owner = resident(world, other).owner


def ask(world, player, action, *fields):
    """Let a player do something; return why it is refused, or ""."""
    before = len(player.errors())
    player.do(action, *fields)
    world.run(1)
    return "".join(player.errors()[before:])


def noted(world, player, *kinds):
    """Return the lines in a player's book, or those of some kinds: (kind, who, n, x, y)."""
    world.run(6)
    assert not ask(world, player, "book")
    lines = [(kind, *more) for kind, _at, *more in player.message("book")[0]]
    return [line for line in lines if not kinds or line[0] in kinds]


def spoil(world, nodes, chance):
    """Make something fail at the living nodes, or make all well again."""
    what = chance.choice(("kill", "cut", "store", "delay", "heal", "heal"))
    if what == "kill" and len(nodes) > 1:
        world.kill(nodes.pop(chance.randrange(len(nodes))))
    elif what == "cut" and len(nodes) > 1:
        world.cut(*chance.sample(nodes, 2))
    elif what == "store":
        world.lose_store()
    elif what == "delay":
        world.delay(chance.random())
    else:
        world.heal()
