"""Moderation: who is kept out, who is muted, and whether newcomers are let in.

Each action of an operator is an item in the store, which expires by itself. Every node reads all
actions every two seconds and applies those that are new; the node that was asked applies its own at
once. Without a store only that node does, and forgets them when it stops. server/web/admin.py
checks who may act. Whoever can write to the store can act too.
"""

import ipaddress
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import msgpack

from flatlands.server.messages.protocol import POLICY, TRY_LATER, Refused, error
from flatlands.server.players.resident import Resident
from flatlands.server.players.residents import Residents
from flatlands.server.runtime.logs import log_line
from flatlands.server.runtime.loop import Loop
from flatlands.server.storage.client import StoreClient
from flatlands.stores.base import Item, Store

#: The actions: keep out a player; keep out an address; mute a player; let no newcomers in; send a
#: notice to all clients.
KICK: Final = "kick"
BAR: Final = "bar"
MUTE: Final = "mute"
DOOR: Final = "close the door"
NOTICE: Final = "notice"

#: The actions that apply to a player's id -> the same for all players with a key.
BY_OWNER: Final = {KICK: "kick owner", MUTE: "mute owner"}

#: Not an action: links a player's id to its owner, so that an action on the id applies to all
#: players of that owner.
OWNER_LINK: Final = "key"

#: How many characters of an owner, a hash of a key, identify it.
OWNER_PREFIX_CHARS: Final = 16

#: The name of their queue in the store, which is one group.
ACTIONS_QUEUE: Final = "orders"

#: How often actions are read.
ACTIONS_EVERY_MS: Final = 2000

#: How long the store keeps a notice.
NOTICE_FOR_S: Final = 30

#: How long the store keeps an action that ends another: the node that applied the other may not
#: have reached the store yet.
END_FOR_S: Final = 600

#: The longest time for which an action lasts.
ACTION_MOST_S: Final = 7 * 24 * 3600

#: The most actions. Beyond that those that end first are forgotten.
ACTIONS_MOST: Final = 1000


class _Action(NamedTuple):
    """An action that is in force until the node time `until`; one that ends another has 0. It was
    applied at the node time `at`, which distinguishes it from an earlier action on the same
    subject."""

    at: int
    until: int


#: (action, subject) -> the action.
_Actions = dict[tuple[str, str], _Action]


class Moderation:
    """The actions that are in force, as this node last read or applied them.

    `subject` is what an action applies to: for KICK and MUTE a player's id in digits, for BY_OWNER
    the first OWNER_PREFIX_CHARS characters of an owner or, for a player without a key, as many
    hexadecimal digits of its id; for BAR an address or network as `network` gives it, for DOOR "",
    and for NOTICE the text.

    What applies to an id applies to all players with the same key. So the node that has the player
    gives OWNER_LINK to all, with the first characters of its owner and its id as `subject`. There
    is one for each id, so a client that sends one key after the other displaces no actions.
    """

    def __init__(
        self,
        store_client: StoreClient,
        loop: Loop,
        residents: Residents,
    ) -> None:
        self._store_client = store_client
        self._loop = loop
        self._residents = residents
        self._known: _Actions = {}
        #: Those that were applied here and are not written yet.
        self._unwritten: _Actions = {}
        #: The prefix of an owner -> the ids that are linked to it.
        self._ids: dict[str, list[str]] = {}
        self._exchanging = False
        self._silenced: Callable[[int], None]

    def set_silenced_listener(self, silenced: Callable[[int], None]) -> None:
        """Call `silenced` with the id of each player that is kicked or muted."""
        self._silenced = silenced

    def __len__(self) -> int:
        """Return how many actions are in force."""
        return sum(
            self.seconds(*one) > 0 for one in self._known if one[0] not in (NOTICE, OWNER_LINK)
        )

    def start(self) -> None:
        """Begin to read the actions of other nodes."""
        self._loop.every(ACTIONS_EVERY_MS, self._exchange)
        self._exchange()

    def apply(self, action: str, subject: str, seconds: int) -> None:
        """Apply an action here and at all other nodes. With 0 `seconds` it ends, except a notice,
        which is given without seconds; one for an owner then also ends those for the ids that were
        seen with it."""
        for by_id, by_owner in BY_OWNER.items():
            if action == by_owner and not seconds:
                # A player without a key is named by its id.
                for id in (*self._ids.get(subject, ()), str(int(subject, 16))):
                    if self.seconds(by_id, id):
                        self._apply(by_id, id, 0)
        if action in BY_OWNER:
            for owner_prefix, ids in self._ids.items():
                # The link to the owner must last as long as the action.
                if (
                    subject in ids
                    and self.seconds(OWNER_LINK, f"{owner_prefix} {subject}") < seconds
                ):
                    self._apply(OWNER_LINK, f"{owner_prefix} {subject}", seconds)
        self._apply(action, subject, seconds)

    def _apply(self, action: str, subject: str, seconds: int) -> None:
        lasts = NOTICE_FOR_S if action == NOTICE else seconds
        before, now = self._known.get((action, subject)), self._loop.now()
        at = now if before is None else max(now, before.at + 1)
        entry = _Action(at, now + 1000 * lasts if lasts else 0)
        if self._store_client.store is not None:
            self._unwritten[action, subject] = entry
        self._learn({**self._known, (action, subject): entry})
        self._exchange()

    def seconds(self, action: str, subject: str = "") -> int:
        """Return for how many seconds an action is still in force, rounded up; 0 if it is not."""
        entry = self._known.get((action, subject))
        return 0 if entry is None else max(-((self._loop.now() - entry.until) // 1000), 0)

    # What sessions ask.

    def link_owner(self, id: int, owner: str) -> None:
        """Let what applies to a player's id apply to its owner, if it has one, at all nodes. Call
        it before `check_access` for each player that has shown its key."""
        seconds = max(self.seconds(action, str(id)) for action in BY_OWNER)
        if owner and seconds and not any(str(id) in ids for ids in self._ids.values()):
            self._apply(OWNER_LINK, f"{owner[:OWNER_PREFIX_CHARS]} {id}", seconds)

    def check_access(self, id: int | None, address: str, owner: str) -> None:
        """Raise Refused if an action keeps out a player, its owner or its address, or newcomers.

        `id` is None for a newcomer. `address` is an IP address. `owner` is "" while the player has
        shown no key.
        """
        if not self._known:
            return
        seconds = max(self.seconds(BAR, network(address)), self._against(KICK, id, owner))
        if seconds:
            raise kicked(seconds)
        if id is None and self.seconds(DOOR):
            raise Refused(
                "door",
                "this world lets no new players in at the moment: try again later",
                TRY_LATER,
            )

    def check_voice(self, id: int, owner: str) -> None:
        """Raise Refused if a player is muted; `owner` is "" if it has shown no key."""
        if seconds := self._against(MUTE, id, owner):
            raise Refused("muted", f"an operator muted you for {_minutes(seconds)}", None)

    def is_muted(self, id: int, owner: str) -> bool:
        """Return whether a player is muted; `owner` is "" if it has shown no key."""
        return self._against(MUTE, id, owner) > 0

    def _against(self, action: str, id: int | None, owner: str) -> int:
        """Return for how many seconds a player is still kicked or muted, by its id or its key."""
        if not self._known:
            return 0
        owner_prefix, by_owner = owner[:OWNER_PREFIX_CHARS], BY_OWNER[action]
        entries = [(by_owner, owner_prefix)]
        entries += [(action, same) for same in self._ids.get(owner_prefix, ())]
        if id is not None:
            entries += [(action, str(id)), (by_owner, f"{id:016x}")]
        return max(self.seconds(*entry) for entry in entries)

    # What all nodes share.

    def _exchange(self) -> None:
        """Write the actions that were applied here, and read all."""
        if self._exchanging:
            return
        self._exchanging, given = True, dict(self._unwritten)

        def answered(items: list[Item]) -> None:
            self._exchanging, now = False, self._loop.now()
            for entry in given.items() & self._unwritten.items():
                del self._unwritten[entry[0]]
            read: _Actions = {}
            for item in items:
                action, subject, at, *ends = msgpack.unpackb(item.body)
                read[action, subject] = _Action(at, 0 if ends else now + item.delay)
            self._learn({**read, **self._unwritten})

        def failed() -> None:
            self._exchanging = False

        self._store_client.ask(lambda store: self._write(store, given), answered, failed)

    def _write(self, store: Store, given: _Actions) -> list[Item]:
        """Write these actions; return all. It waits for the store."""
        for (action, subject), entry in given.items():
            lasts = entry.until - self._loop.now() if entry.until else 1000 * END_FOR_S
            body = msgpack.packb((action, subject, entry.at) + (() if entry.until else (0,)))
            item = Item(f"{action} {subject}", max(lasts, 0), ACTIONS_QUEUE, body)
            store.change(ACTIONS_QUEUE, item.id, partial(_later, item, entry.at))
        items = store.group(ACTIONS_QUEUE, ACTIONS_QUEUE)
        over = [
            item
            for at, item in enumerate(items)
            if not item.delay or at < len(items) - ACTIONS_MOST
        ]
        for item in over:
            store.take(ACTIONS_QUEUE, item.id, only=item.body)
        return items[len(over) :]

    def _learn(self, entries: _Actions) -> None:
        """Replace all actions with these, and carry out those that are new."""
        before, now = self._known, self._loop.now()
        last = sorted(entries.items(), key=lambda one: one[1].until)[-ACTIONS_MOST:]
        self._known = {key: entry for key, entry in last if entry.until > now}
        self._ids = {}
        for action, subject in self._known:
            if action == OWNER_LINK:
                owner_prefix, id = subject.split()
                self._ids.setdefault(owner_prefix, []).append(id)
        for (action, subject), entry in self._known.items():
            old = before.get((action, subject))
            if old is None or old.at != entry.at:
                self._carry_out(action, subject)

    def _carry_out(self, action: str, subject: str) -> None:
        seconds = self.seconds(action, subject)
        self._loop.stats["moderation_actions"] += action != OWNER_LINK
        log_line("moderation", action=action, who=subject, seconds=seconds)
        if action == NOTICE:
            message = error("notice", subject)
            self._residents.each_session(lambda session: session.answer(message))
        if action in (*BY_OWNER, *BY_OWNER.values(), OWNER_LINK):
            for player in self._meant(subject):
                self._enforce(player)
        if action in BY_OWNER:
            resident = self._residents.by_id.get(int(subject))
            if resident is None:
                self._silenced(int(subject))
            else:
                self.link_owner(resident.id, resident.owner)
        if action == BAR:
            for session in self._residents.sessions():
                if network(session.address) == subject:
                    session.refuse(kicked(seconds))

    def _meant(self, subject: str) -> list[Resident]:
        """Return the players of this node that an action applies to, by id or by key. For an
        OWNER_LINK these are the others with that key."""
        first, _, linked = subject.partition(" ")
        owner_prefixes = {first} | {
            owner_prefix for owner_prefix, ids in self._ids.items() if subject in ids
        }
        return [
            r
            for r in self._residents.by_id.values()
            if str(r.id) != linked
            and (
                r.owner[:OWNER_PREFIX_CHARS] in owner_prefixes
                or subject in (str(r.id), f"{r.id:016x}")
            )
        ]

    def _enforce(self, resident: Resident) -> None:
        """Send a player away if it is kicked, and report it if it is silenced."""
        seconds = self._against(KICK, resident.id, resident.owner)
        if seconds or self.is_muted(resident.id, resident.owner):
            self._silenced(resident.id)
        if seconds and resident.session is not None:
            resident.session.refuse(kicked(seconds))
        elif seconds and resident.dimmed:
            self._residents.leave(resident)


def _later(item: Item, at: int, there: Item | None) -> Item | None:
    """Return the item of an action of the time `at`, or None if a later one is there."""
    is_later = there is not None and there.delay and msgpack.unpackb(there.body)[2] > at
    return None if is_later else item


def network(address: str) -> str:
    """Return what is kept out together with an address, as the `subject` of a BAR.

    For IPv4 it is the address itself, for IPv6 its network of 64 bits. A text that is no address is
    returned unchanged, and keeps nobody out.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if ip.version == 4:
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((ip, 64), strict=False))


def kicked(seconds: int) -> Refused:
    """Return the refusal for a client whose player or address is kept out for `seconds` more."""
    return Refused("kicked", f"an operator removed you for {_minutes(seconds)}", POLICY)


def _minutes(seconds: int) -> str:
    minutes = -(-seconds // 60)
    return "a minute" if minutes == 1 else f"{minutes} minutes"
