// Cairns: what the page shows of them, and what a player does about them.

import { PLAZA } from '../terrain.js';
import { sayable } from '../texts.js';
import { INK } from '../view/atlas.js';
import { FIELDSTONE_TONES } from '../view/palette.js';
import { CAIRN, Cairns, NOTES } from './cairns.js';
import { Heaps } from './heaps.js';
import { CairnCard, CairnDialog } from './panels.js';

const STONE_EVERY = 2000;                 // ms
// Tiles from the foot of a cairn to the tip of its card.
const CARD_ABOVE = 1.1, CARD_BELOW = 0.3;
const FROM_PLAZA = 60;                    // tiles: so far out a cairn is a next step
const SHOWN_FROM = 1.2;                   // css px per tile of the map of everybody
const [{ light: STONE }] = FIELDSTONE_TONES;

/** @param {import('../main.js').Game} game */
export function install({ client, state, view, minimap, map, hud, session, controls, events }) {
  const cairns = new Cairns(), dialog = new CairnDialog((text) => build(text));
  const card = new CairnCard({ stone: () => stone(), hide: () => hide(), closeCairn: () => cairns.close() },
    () => hud.focusWorld(), () => hud.room.moved());
  /** @type {Map<string, number>} Id of a cairn -> its stones when this window added one. */
  const stoned = new Map();
  let stoneAt = -Infinity;                // performance time, ms, of the last stone

  /** Ask the player for a line, where a cairn can be left. */
  function open() {
    const { here, terrain } = state;
    if (!client.net.playing || !hud.lasts) return;
    if (terrain.kind(Math.floor(here.x), Math.floor(here.y)) !== PLAZA) hud.openDialog(dialog.root);
    else hud.toast('You cannot leave a cairn on the plaza: walk on a little.');
  }

  function build(text) {
    const line = sayable(text);
    if (!session.connected()) dialog.keep();
    else if (line !== '') {
      client.do.build(line);
      events.emit('did', 'cairn');
    }
  }

  /** Add a stone to the cairn that is read, but not twice by a double click. */
  function stone() {
    const { read } = cairns, now = performance.now();
    hud.focusWorld();
    if (read === null || now - stoneAt < STONE_EVERY) return;
    stoneAt = now;
    stoned.set(read.thing.id, read.thing.values.stones);
    client.do.stone(...read.thing.square);
  }

  /** Mute the player who built the cairn that is read. */
  function hide() {
    const { read } = cairns;
    hud.focusWorld();
    if (read === null) return;
    events.emit('mute', read.thing.values.player, true);
    hud.toast(`${read.thing.values.name} is muted.`);
  }

  /** Show the card of the cairn that is read. */
  function show() {
    const { read, near } = cairns, { here } = state;
    if (read === null) return card.close();
    const { id, values: { player, stones } } = read.thing, others = player !== state.ownId;
    const may = { stone: others && near && stones <= (stoned.get(id) ?? Infinity), hide: others };
    // The card must not cover this page's player.
    const below = here.y < read.y - 0.5;
    const foot = below ? read.y + CARD_BELOW : Math.min(read.y, here.y) - CARD_ABOVE;
    card.show(read.thing, may, { ...view.pointOf(state, read.x, foot), below });
  }

  view.things.add({ type: CAIRN, Pictures: Heaps });
  minimap.kinds.set(CAIRN, (drawing, px, py) => drawing.dot(px, py, 1.7 * drawing.dpr, STONE));
  map.under.add(10, (ctx, picture) => drawAll(ctx, state, picture));
  hud.over.append(card.root, card.liveRegion);
  hud.room.watch(card.root);
  hud.deed({ letter: 'c', sign: 'cairn', label: 'Leave a cairn', lasts: true, at: 50, act: open });
  state.steps.add(5, () => cairns.advance(state));
  state.next.add(50, ({ here, did }) => did.has('cairn') || !hud.lasts || Math.hypot(here.x, here.y) < FROM_PLAZA ? null
    : { key: 'cairn', text: 'Leave a cairn, with a line for others', act: open });
  NOTES.forEach((each, i) => state.notes.add(20 + i, each));
  session.shownErrors.add('cairn');
  controls.escapes.add(20, () => cairns.close());
  controls.targets.add(40, (cssX, cssY) => {
    const found = view.thingAt(CAIRN, cssX, cssY);
    return found === null ? null : () => {
      cairns.meant = found;
    };
  });
  events.on('frame', show);
  events.on('steer', () => {
    cairns.meant = null;
  });
  events.on('refused', () => dialog.keep());
  events.on('cleared', () => cairns.clear());
  return cairns;
}

/** Draw the cairns that this page knows on the map of everybody. */
function drawAll(ctx, { things }, { gaze, side, named }) {
  if (gaze.scale / side < SHOWN_FROM) return;
  for (const { x, y, thing } of things.values()) {
    if (thing.type !== CAIRN) continue;
    const at = gaze.toScreen(x / side, y / side);
    named.push({ x, y, label: `${thing.values.name}’s cairn`, px: at.x, py: at.y, w: 4, h: 4 });
    for (const { radius, style } of [{ radius: 4.2, style: INK }, { radius: 2.8, style: STONE }]) {
      ctx.fillStyle = style;
      ctx.beginPath();
      ctx.arc(at.x, at.y, radius, 0, Math.PI * 2);
      ctx.fill();
    }
  }
}
