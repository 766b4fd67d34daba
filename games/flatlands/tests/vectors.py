"""`python -m games.flatlands.tests.vectors`: makes the golden vectors of Flatlands (make vectors).

The trees and other props are made by the page's own code, since Python has none for them.
"""

import json
import random
import shutil
import subprocess
from typing import Any

from flatlands.games.flatlands.echoes.run import packed
from flatlands.games.flatlands.ground.landmarks import PART, Landmarks
from flatlands.games.flatlands.ground.posts import SIDES, Posts
from flatlands.server.storage.kinds import middle_of
from flatlands.world.terrain import GROUND_LIMIT, PLOT_SIDE, Terrain
from flatlands.world.track import UNIT
from tests.processes import ROOT
from tests.vectors.make import SEEDS, main


def landmarks() -> list[dict[str, Any]]:
    """Return tile and name of the landmark, or None, of some parts of the world."""
    far = GROUND_LIMIT // PART
    parts = [(i, j) for i in range(-2, 3) for j in range(-2, 3)]
    parts += [(4000, -7000), (far - 1, -far), (far, far), (far + 1, 0)]
    worlds = [(seed, Landmarks(Terrain(seed))) for seed in SEEDS]
    return [
        {"seed": seed, "part": part, "tile": marks.of(*part), "name": marks.name(*part)}
        for seed, marks in worlds
        for part in parts
    ]


def posts() -> list[dict[str, Any]]:
    """Return the courses of some plots, one for each side: the tiles of two signposts, or None."""
    far = GROUND_LIMIT // PLOT_SIDE
    plots = [(i, j) for i in range(-2, 3) for j in range(-2, 3)]
    plots += [(4000, -7000), (far - 1, -far), (far, far), (-far - 1, 0)]
    vectors = []
    for seed in SEEDS:
        land = Posts(Terrain(seed))
        for plot in plots:
            courses = [land.course(plot, side) for side in range(len(SIDES))]
            vectors.append({"seed": seed, "plot": plot, "courses": courses})
    return vectors


def runs() -> list[dict[str, Any]]:
    """Return runs from a signpost as they are kept, and where they were at some times: [ms, x, y],
    in units."""
    chance = random.Random(3)
    vectors = []
    while len(vectors) < 30:
        post = [chance.randint(-(10**6), 10**6) for _ in range(2)]
        t, x, y = chance.randrange(10**6), *[at * UNIT + chance.randint(-4000, 4000) for at in post]
        begun, way = t, [(t, x, y)]
        while t < begun + 15_000:
            lasts = chance.randint(100, 3000)
            dx, dy = [chance.choice((-5, 0, 5)) * lasts for _ in range(2)]
            t, x, y = t + lasts, x + dx, y + dy
            way.append((t, x, y))
        text = packed(way, middle_of(tuple(post)))
        points = [[at - begun, x, y] for at, x, y in way]
        vectors.append({"post": post, "text": text, "points": points})
    return vectors


def standing() -> Any:
    """Return what stands on the tiles of some chunks: [x, y, name, feet] of each prop."""
    node = shutil.which("node")
    if node is None:
        raise SystemExit("The vectors of what stands where need Node.js: see tests/need.sh.")
    module = "./games/flatlands/tests/js/standing.js"
    script = f"import('{module}').then((m) => console.log(JSON.stringify(m.make())))"
    command = [node, "--import", "./tests/js/modules.js", "--eval", script]
    made = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(made.stdout)


if __name__ == "__main__":
    main({"landmarks": landmarks, "posts": posts, "runs": runs, "standing": standing})
