"""The browser's codec, terrain and tracks agree with Python's to the last digit."""

import random

import pytest

from server.messages.protocol import NAME_LIMIT, clean
from tests.model import Model
from tests.vectors import load


@pytest.fixture(scope="module")
def blank(browser, server):
    page = browser.new_page()
    page.goto(server.url)
    yield page
    page.close()


def test_terrain(blank):
    wrong = blank.evaluate(
        """async (vectors) => {
          const { Terrain } = await import('/terrain.js');
          return vectors.filter(({ seed, chunk, sums, first }) => {
            const { kinds, heights, woods, paths } = new Terrain(seed).chunk(...chunk);
            const layers = [kinds, heights, woods, paths];
            const tile = (i) => layers.map((layer) => layer[i]);
            const got = layers.map((layer) => layer.reduce((sum, v, i) => sum + v * (i + 1), 0));
            return JSON.stringify(got) !== JSON.stringify(sums)
              || first.some((expected, i) => tile(i).join() !== expected.join());
          });
        }""",
        load("terrain"),
    )
    assert wrong == []


def test_tracks(blank):
    wrong = blank.evaluate(
        """async (vectors) => {
          const { Terrain } = await import('/terrain.js');
          const { leg, positionAt } = await import('/track.js');
          const terrain = new Terrain(2013), blocked = (x, y) => terrain.blocked(x, y);
          return vectors.filter(({ start, intent, legs }) => {
            let [x, y, t] = start;
            for (const { track, at } of legs) {
              const got = leg(blocked, x, y, intent, t);
              if (got === null) return true;
              const { x: gx, y: gy, dx, dy, start: from, duration } = got;
              const fields = [gx, gy, dx, dy, from, duration];
              if (fields.some((value, i) => value !== track[i])) return true;
              if (at.some(([age, ax, ay]) => {
                const [px, py] = positionAt(got, t + age);
                return px !== ax || py !== ay;
              })) return true;
              t = from + duration;
              [x, y] = positionAt(got, t);
            }
            return legs.length < 12 && leg(blocked, x, y, intent, t) !== null;
          });
        }""",
        load("track"),
    )
    assert wrong == []


def test_messagepack(blank):
    wrong = blank.evaluate(
        """async ({ good, bad }) => {
          const { encode, decode } = await import('/msgpack.js');
          const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (b) => parseInt(b, 16));
          const hex = (array) => Array.from(array, (b) => b.toString(16).padStart(2, '0')).join('');
          const wrong = good.filter(({ value, bytes: text }) =>
            JSON.stringify(decode(bytes(text).buffer)) !== JSON.stringify(value)
            || hex(encode(value)) !== text);
          for (const text of bad) {
            try {
              wrong.push([text, decode(bytes(text).buffer)]);
            } catch (error) {
              if (!(error instanceof RangeError)) wrong.push([text, String(error)]);
            }
          }
          for (const value of [1.5, NaN, 2 ** 53, undefined, {}, 1n]) {
            try {
              wrong.push([String(value), hex(encode(value))]);
            } catch (error) {
              if (!(error instanceof TypeError)) wrong.push([String(value), String(error)]);
            }
          }
          return wrong;
        }""",
        load("msgpack"),
    )
    assert wrong == []


def sequences(count):
    """Messages as a server could send them, in any order, about few players and squares."""
    chance = random.Random(5)
    for _ in range(count):
        messages, now = [[18, 0, 0, 1, 1]], 10_000
        for _ in range(60):
            now += chance.choice((0, 5, 300, 1500, 4000))
            square = [chance.randint(0, 2), chance.randint(0, 1)]
            events = []
            for _ in range(chance.randint(1, 3)):
                id, seq = chance.randint(1, 4), chance.randint(1, 40)
                track = [chance.randint(-9, 9) * 100 for _ in range(4)]
                track += [chance.randint(-5, 99), 7]
                events.append(
                    chance.choice(
                        [
                            [0, id, seq, seq // 2, f"P{id}", seq % 3 == 0, *track],
                            [1, id, seq, seq // 2, *track],
                            [2, id, seq, chance.randint(0, 2), chance.randint(0, 1)],
                            [3, id, seq],
                            [4, id, "hello"],
                        ]
                    )
                )
            entries = [event for event in events if event[0] == 0]
            message = chance.choices(
                [
                    [20, *square, 77, len(messages), len(messages) + 1, now - 9, 0, events],
                    [19, *square, now - 9, entries],
                    [18, chance.randint(0, 1), 0, chance.randint(1, 2), chance.randint(0, 1)],
                    [22],
                    [25, [[77, chance.randint(-900, 900)]]],
                ],
                [20, 3, 2, 0.3, 1],
            )[0]
            messages.append((now, message))
            if message == [22]:
                messages.append((now, [18, 0, 0, 1, 1]))
        yield [(10_000, messages[0]), *messages[1:]]


def test_what_is_known_follows_the_protocols_rules(blank):
    runs, expected = list(sequences(150)), []
    for run in runs:
        model = Model()
        for now, message in run:
            model.expire(now)
            if message[0] != 19 or model.holds((message[1], message[2])):
                model.take(message, now)
        expected.append(
            {
                str(p.id): [p.seq, p.ack, p.name, p.dimmed, list(p.track), list(p.square)]
                for p in model.players.values()
            }
        )
    got = blank.evaluate(
        """async (runs) => {
          const { State } = await import('/state.js');
          return runs.map((run) => {
            const state = new State();
            for (const [now, message] of run) {
              state.expire(now);
              state.apply(message, now);
            }
            return Object.fromEntries([...state.players.values()].map((p) => {
              const { x, y, dx, dy, start, duration } = p.track;
              const track = [x, y, dx, dy, start, duration];
              return [p.id, [p.seq, p.ack, p.name, p.dimmed, track, p.square]];
            }));
          });
        }""",
        runs,
    )
    assert sum(map(len, expected)) > 150
    for run, mine, theirs in zip(runs, expected, got, strict=True):
        assert mine == theirs, run


def test_what_the_browser_knows_to_show_nothing_is_refused_in_names(blank):
    hidden = blank.evaluate(
        """() => {
          const found = [];
          for (let code = 0; code < 0x110000; code++) {
            const character = String.fromCodePoint(code);
            if (/[\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}\\p{Cc}\\p{Co}]/u
              .test(character)) found.push(code);
          }
          return found;
        }"""
    )
    assert len(hidden) > 130_000
    shown = {code for code in hidden if clean(f"a{chr(code)}", NAME_LIMIT) is not None}
    # What joins letters, and chooses between text and emoji.
    assert shown == {0x200C, 0x200D, 0xFE0E, 0xFE0F}


def test_a_clock_never_goes_back_but_at_a_node_whose_clock_is_behind(blank):
    told = blank.evaluate(
        """async () => {
          const { Clock } = await import('/clock.js');
          const clock = new Clock();
          clock.sample(0, 100000, 10);
          const first = clock.now(10);
          clock.sample(20, 99000, 30);
          const later = clock.now(30);
          clock.reset();
          clock.sample(40, 40000, 40);
          return [first, later, clock.now(40), clock.now(1040)];
        }"""
    )
    first, later, elsewhere, soon = told
    assert first == 100005 and later >= first
    assert [elsewhere, soon] == [40000, 41000]
