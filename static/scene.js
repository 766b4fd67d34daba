// What is to be drawn now, made from what is known: the walkers and where they are, the camera, the
// arrows to those out of sight. It keeps only what drawing needs (fades, delay), sends nothing.

import { drawnAt } from './track.js';
import { tellApart } from './names.js';

const FADE = 300;                         // ms to fade in or out
const SAID_FOR = [4000, 6000];            // ms that a bubble stays: for short and for long texts
const DELAY = [50, 400];                  // ms: others are drawn this much in the past, at least
                                          // and at most, so that what they do is known in time
const DELAY_SLEW = 0.05;                  // ms that the delay changes by, per ms
const LATE_FADES = 0.9995;                // share of a lateness kept per ms
const CAMERA_LAG = 90;                    // ms in which the camera closes two thirds of its gap
const CAMERA_JUMP = 12;                   // tiles: farther, it does not pan but cut
const ARROWS = 3;                         // players pointed at, the nearest
const GOAL_SHOWN = 4000;                  // ms

export class Scene {
  constructor(state, walk, clock) {
    this.state = state;
    this.walk = walk;
    this.clock = clock;
    this.drawn = new Map();               // id -> walker, as static/view takes them
    this.muted = new Set();
    this.camera = { x: 0.5, y: 0.5 };
    this.cameraAt = 0;
    this.delay = DELAY[0];
    this.late = 0;                        // the most ms an event was late, of late
    this.lateAt = 0;
    this.names = new Map();
    this.namesOf = -1;
    this.goal = null;
    this.overlay = false;
  }

  /** Forget who was drawn, as after the connection was lost. */
  clear() {
    this.drawn.clear();
    this.namesOf = -1;
  }

  /** An event told of something that began `late` ms ago. */
  heard(late) {
    if (late > this.late) this.late = late;
  }

  /** A player said something; `at` is performance time. */
  say(player, text, at) {
    const walker = this.drawn.get(player.id);
    if (walker !== undefined && !this.muted.has(player.id)) {
      const length = Math.min(text.length / 60, 1);
      const until = at + SAID_FOR[0] + (SAID_FOR[1] - SAID_FOR[0]) * length;
      walker.saying = { text, at, until };
    }
  }

  /** The camera cuts to oneself, as after a jump. */
  cut() {
    this.cameraAt = 0;
  }

  /** The scene at performance time `at`; `ownId` is null while nobody plays. */
  make(at, ownId, viewport, margins, still) {
    const node = this.clock.now(at);
    this.#slewDelay(at);
    if (this.namesOf !== this.state.names) {
      this.namesOf = this.state.names;
      this.names = tellApart(this.state.players.values());
    }
    const own = ownId !== null && this.walk.drawn(node);
    const walkers = [];
    for (const player of this.state.players.values()) {
      const mine = player.id === ownId;
      const walker = this.#walker(player, at);
      const track = mine ? this.walk.track : player.track;
      const time = mine ? this.walk.time(node) : node - this.delay;
      this.#place(walker, mine ? own : drawnAt(track, time), at, mine);
      walker.walking = time >= track.start && time < track.start + track.duration;
      if (track.duration > 0 && time >= track.start) {
        const [ax, ay] = [Math.abs(track.dx), Math.abs(track.dy)];
        walker.dx = ax * 2 > ay ? Math.sign(track.dx) : 0;
        walker.dy = ay * 2 > ax ? Math.sign(track.dy) : 0;
      }
      walker.name = this.names.get(player.id) ?? player.name;
      walker.dimmed = player.dimmed;
      walker.muted = this.muted.has(player.id);
      walker.own = mine;
      walker.seenAt = at;
    }
    for (const [id, walker] of this.drawn) {
      const gone = at - walker.seenAt;
      if (gone > FADE) {
        this.drawn.delete(id);
        continue;
      }
      const step = (at - walker.fadedAt) / FADE;
      walker.alpha = Math.min(Math.max(walker.alpha + (gone > 0 ? -step : step), 0), 1);
      walker.fadedAt = at;
      walker.said = this.#said(walker, at);
      walkers.push(walker);
    }
    this.#moveCamera(own || [0.5, 0.5], at);
    return {
      now: at,
      still,
      camera: this.camera,
      walkers,
      goal: this.#goal(at),
      overlay: this.overlay && ownId !== null && this.state.held !== null
        ? this.#overlay(node, own, viewport, margins) : null,
      arrows: ownId === null ? [] : this.#arrows(walkers, own, viewport),
    };
  }

  #walker(player, at) {
    let walker = this.drawn.get(player.id);
    if (walker === undefined) {
      walker = {
        id: player.id, x: NaN, y: NaN, dx: 0, dy: 1, alpha: 0, fadedAt: at, said: null,
        saying: null, seenAt: at,
      };
      this.drawn.set(player.id, walker);
    }
    return walker;
  }

  #place(walker, [x, y], at, mine) {
    // Somebody who is suddenly elsewhere fades in there instead of flying through the air.
    if (!mine && Math.hypot(walker.x - x, walker.y - y) > CAMERA_JUMP) walker.alpha = 0;
    walker.x = x;
    walker.y = y;
  }

  #said(walker, at) {
    if (walker.saying === null) return null;
    if (at >= walker.saying.until || walker.muted) {
      walker.saying = null;
      return null;
    }
    return { text: walker.saying.text, age: at - walker.saying.at, left: walker.saying.until - at };
  }

  #slewDelay(at) {
    const passed = Math.min(at - this.lateAt, 1000);
    this.lateAt = at;
    this.late *= LATE_FADES ** passed;
    const wanted = Math.min(Math.max(this.late, DELAY[0]), DELAY[1]);
    const most = passed * DELAY_SLEW;
    this.delay += Math.min(Math.max(wanted - this.delay, -most), most);
  }

  #moveCamera([x, y], at) {
    const far = Math.hypot(x - this.camera.x, y - this.camera.y) > CAMERA_JUMP;
    const part = this.cameraAt === 0 || far ? 1 : 1 - Math.exp((this.cameraAt - at) / CAMERA_LAG);
    this.camera.x += (x - this.camera.x) * part;
    this.camera.y += (y - this.camera.y) * part;
    this.cameraAt = at;
  }

  #goal(at) {
    if (this.goal === null || this.walk.arrived || at - this.goal.at > GOAL_SHOWN) return null;
    return { x: this.goal.x, y: this.goal.y, age: at - this.goal.at };
  }

  #overlay(node, [x, y], viewport, { lead, drop }) {
    const { side, held, dropped } = this.state;
    return {
      held,
      dropped: dropped.map(({ col, row, at }) => ({ col, row, age: node - at })),
      squares: this.state.census(node),
      viewport,
      centre: { x, y },
      lead,
      drop,
      mine: { col: Math.floor(x / side), row: Math.floor(y / side) },
    };
  }

  #arrows(walkers, [x, y], viewport) {
    const hidden = (at) => Math.abs(at.x - this.camera.x) > viewport.w / 2
      || Math.abs(at.y - this.camera.y) > viewport.h / 2;
    const arrows = [];
    if (hidden({ x: 0.5, y: 0.5 })) {
      arrows.push({ x: 0.5, y: 0.5, label: 'plaza', kind: 'home', id: null });
    }
    const others = walkers.filter((walker) => !walker.own && !walker.muted && hidden(walker));
    others.sort((a, b) => Math.hypot(a.x - x, a.y - y) - Math.hypot(b.x - x, b.y - y));
    for (const { x: ax, y: ay, name, id } of others.slice(0, ARROWS)) {
      arrows.push({ x: ax, y: ay, label: name, kind: 'player', id });
    }
    return arrows;
  }
}
