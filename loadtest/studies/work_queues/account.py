"""Accounts for the messages of a queue. It is pure arithmetic.

Messages are numbered from 0, in the order in which they were put. For each queue

    put = done + waiting + held

must hold. `done` counts each message once, by its number, as consumers have counted it; `waiting`
and `held` (claimed, but not acknowledged) are what the queue says. What is missing is `lost`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence


def account(put: Sequence[int], got: Sequence[int], waiting: int, held: int) -> dict[str, int]:
    """Return what became of the messages `put` into a queue, of which `got` came, in this order.

    `disordered` are those that came after a later one, `foreign` are numbers that nobody put.
    """
    known = set(put)
    counts = Counter(got)
    done = len(known & counts.keys())
    highest, disordered = -1, 0
    for number in got:
        disordered += number < highest
        highest = max(highest, number)
    return {
        "put": len(put),
        "done": done,
        "waiting": waiting,
        "held": held,
        "lost": len(put) - done - waiting - held,
        "duplicates": counts.total() - len(counts),
        "disordered": disordered,
        "foreign": len(counts) - done,
    }


def handed_out_again(
    claims: Iterable[tuple[int, int]], held: Iterable[Iterable[int]]
) -> dict[str, int]:
    """Compare what was handed out more than once with what consumers held when they died.

    `claims` are (number, tries) of messages as consumers got them, and `held` has for each death
    the numbers of the messages that the queue said were held. A consumer may die before it can tell
    what it got: the tries, which the queue counts, reveal this too. `mismatched` is the number of
    messages for which the two differ.
    """
    tries: dict[int, int] = {}
    for number, count in claims:
        tries[number] = max(count, tries.get(number, 0))
    again = Counter({number: count - 1 for number, count in tries.items() if count > 1})
    expected = Counter(number for numbers in held for number in numbers)
    return {
        "again": again.total(),
        "held_by_dead": expected.total(),
        "mismatched": sum(again[n] != expected[n] for n in again.keys() | expected.keys()),
    }


def together(accounts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Return the account of several queues together."""
    found: Counter[str] = Counter()
    for one in accounts:
        found.update(one)
    return dict(found)


def fault(found: dict[str, int]) -> str:
    """Return what is wrong with an account, as the end of a sentence, or an empty text.

    Every message must be done: a measurement takes messages until none is left.
    """
    if found.get("mismatched"):
        return (
            f"{found['again']:,} messages were handed out again, and those who died held"
            f" {found['held_by_dead']:,}: {found['mismatched']:,} are not the same"
        )
    if found["lost"]:
        what = "are missing" if found["lost"] > 0 else "are too many"
        return f"{abs(found['lost']):,} of {found['put']:,} messages {what}"
    for name, what in (
        ("duplicates", "came twice"),
        ("foreign", "were never put"),
        ("disordered", "came after a later one"),
        ("waiting", "were left waiting"),
        ("held", "were never acknowledged"),
    ):
        if found[name]:
            return f"{found[name]:,} messages {what}"
    return ""
