"""Monsters walk to a castle; towers hit each that comes near, once, and earn gold if it falls."""

from flatlands import Game as Engine
from flatlands import (
    Me,
    Mover,
    Record,
    Records,
    Refused,
    Thing,
    Transaction,
    action,
    every,
    number,
    plain,
    text,
)

#: Where monsters come from, and where they go.
GATES = ((-24, -9), (-24, 9))
CASTLE = (18, 0)
LIVES = 20  # of the castle
#: The monsters of the first round; each next one has as many more.
MONSTERS = 8
PAUSE_SECONDS = 12
#: The gold of a newcomer, of a tower and of a monster.
GOLD = 30
COST = 10
BOUNTY = 3
ARM = 6  # tiles within which players build


class Monster(Mover, speed=2, reach=4):
    """It walks to the castle, and comes near to towers within four tiles."""

    health = most = number(0, 1000)


class Tower(Thing, reach=1):
    """It hits monsters. `by` is the owner who built it."""

    by = text(0, 40)


class Castle(Record):
    """The only castle: its lives, the round, how many monsters are to come, and when the next."""

    lives = round = coming = number(0, 10**6)
    at = number(0, 2**53 - 1)


class Purse(Record):
    """The gold of a person."""

    gold = number(0, 10**9)


class Game(Engine):
    """A castle, and those who want it."""

    ground = plain()
    page = "page"
    things = [Monster, Tower]
    castles = Records(Castle)
    purses = Records(Purse)
    messages = {"castle": {"lives": int, "round": int}, "purse": {"gold": int}}

    def way(self, tile: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the way of a monster that is on a tile: along its row, then to the castle."""
        return [*[(at, tile[1]) for at in (-8, 4) if at > tile[0]], CASTLE]

    @every(1.5, once=True, waits=True)
    def come(self) -> None:
        """Let the next monster come, when its time has come."""
        now, coming = self.world_now(), list[Castle]()

        def step(castle: Castle | None) -> Castle:
            coming.clear()
            if castle is not None and now < castle.at:
                return castle
            if castle is None or castle.lives == 0:
                return Castle("castle", lives=LIVES, round=1, coming=MONSTERS)
            if castle.coming:
                coming.append(castle)
                return castle.again(coming=castle.coming - 1)
            round, at = castle.round + 1, now + PAUSE_SECONDS * 1000
            return castle.again(round=round, coming=MONSTERS * round, at=at)

        if castle := self.castles.change("castle", step):
            self.broadcast("castle", castle.lives, castle.round)
        for one in coming:
            gate, health = GATES[one.coming % len(GATES)], 2 + one.round
            self.spawn(Monster(gate, health=health, most=health), self.way(gate))

    def on_arrive(self, monster: Monster) -> None:
        """Let a monster into the castle."""

        def enter(there: Monster | None, castle: Castle | None) -> Transaction | None:
            if there is None or castle is None:
                return None
            lives = max(castle.lives - 1, 0)
            at = castle.at if lives else self.world_now() + PAUSE_SECONDS * 5000
            return Transaction(put=[castle.again(lives=lives, at=at)], remove=[there])

        self.store.transact([monster, Castle.key("castle")], enter)

    def on_adopt(self, monster: Monster) -> None:
        """Let a monster go on whose node has died."""
        self.go(monster, self.way(monster.tile))

    def on_near(self, monster: Monster, tower: Thing) -> None:
        """Let a tower hit a monster; if that falls, who built the tower gets gold and a point."""
        if not isinstance(tower, Tower):
            return

        def hit(there: Monster | None, purse: Purse | None) -> Transaction | None:
            if there is None:
                return None
            if there.health > 1:
                return Transaction(put=[there.again(health=there.health - 1)])
            has = purse or Purse(tower.by, gold=GOLD)
            paid, point = has.again(gold=has.gold + BOUNTY), (tower.by, "monsters", 1)
            return Transaction(put=[paid], remove=[there], scores=[point])

        self.store.transact([monster, Purse.key(tower.by)], hit)

    @action(rate=2, burst=4)
    def build(self, me: Me, column: int = number(-64, 64), row: int = number(-64, 64)) -> None:
        """Build a tower on a tile, if the player is near and has the gold."""
        tile = column, row
        if not me.owner or not me.near(tile, ARM):
            raise Refused("far", f"Come nearer: you build within {ARM} tiles.")
        if any(one.tile == tile for one in self.things_in((column // self.side, row // self.side))):
            raise Refused("taken", "There is a tower already.")

        def pay(purse: Purse | None) -> Transaction | None:
            has = purse or Purse(me.owner, gold=GOLD)
            if has.gold < COST:
                return None
            return Transaction(put=[has.again(gold=has.gold - COST), Tower(tile, by=me.owner)])

        if not self.store.transact([Purse.key(me.owner)], pay):
            raise Refused("gold", f"A tower costs {COST} gold: towers earn it.")
        self.look(me)

    @action(rate=1, burst=2)
    def look(self, me: Me) -> None:
        """Tell a page what its player has."""
        purse = self.purses.read(me.owner) if me.owner else None
        me.send("purse", purse.gold if purse else GOLD)
