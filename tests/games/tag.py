"""Tag: one player is it, walks faster, and makes it whoever it touches."""

from flatlands import Game as Engine
from flatlands import Record, Records, number, plain

#: For how long, in ms, whoever passed it on cannot get it back.
SAFE_MS = 3000


class Tag(Record):
    """Who is it (0: nobody), who was it before, and since when, in world time."""

    it = number(0, 2**52)
    before = number(0, 2**52)
    since = number(0, 2**52)


class Game(Engine):
    """Tag."""

    ground, presence, tags = plain(), True, Records(Tag)
    messages = {"it": {"id": int}}

    def __init__(self, *args):
        super().__init__(*args)
        self.here = set()

    def pass_on(self, giver, taker):
        """Make `taker` it if `giver` is; 0 stands for nobody."""
        now = self.world_now()

        def passed(tag):
            tag = tag or Tag("tag")
            safe = taker and tag.before == taker and now - tag.since < SAFE_MS
            if tag.it == giver and not safe:
                return tag.again(it=taker, before=giver, since=now)

        tag = self.tags.change("tag", passed) or Tag("tag")
        if (tag.it, tag.since) == (taker, now):
            self.publish("passed", giver, taker)

    def on_news(self, _name, fields):
        giver, taker = fields
        for id, pace in (giver, 1), (taker, 1.2):
            if me := self.player(id):
                me.pace(pace)
        self.broadcast_local("it", taker)
        if taker == 0 and self.here:
            self.pass_on(0, min(self.here))

    def on_join(self, me, back):
        self.here.add(me.id)
        self.pass_on(0, me.id)
        if (tag := self.tags.read("tag")) and tag.it == me.id:
            me.pace(1.2)
        me.send("it", tag.it if tag else 0)

    def on_leave(self, me):
        self.here.discard(me.id)

    def on_meet(self, me, other):
        self.pass_on(me.id, other.id)

    def on_player_gone(self, player, _owner):
        self.pass_on(player, 0)
