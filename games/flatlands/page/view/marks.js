// Marks that are not part of the world: the goal of a click, and arrows at the screen's edge that point
// to what is out of sight. A click on an arrow makes the player walk there.

import { faceOf } from '../faces.js';
import { drawFlag } from './flag.js';
import { EXTENTS, miniatureOf } from './miniature.js';
import { textOf } from './text.js';

const GOAL_MS = 900;                      // ms of one pulse
const PILL = 24, ARROW = 8, EDGE = 10;    // css px
const SIZE = 12, SIGN = 13, PAD = 7, GAP = 4;   // css px of words, of the sign before them, and around
const LABEL = 52, NAME = 120;             // css px: the greatest width of a name in a pill, and of that of
                                          // a landmark or of somebody who waits
const PICTURE = 19;                       // css px: the height of a landmark's picture
const HOME_COLOUR = '#ffd166', AIM_COLOUR = '#ff7d9c';
const SLIDES = 180, SLIDE = 4;            // number of steps in which an arrow gives way along
                                          // the edge; css px of a step
const NOTHING = { left: 0, top: 0, right: 0 };
/** Tiles from a landmark's feet down to the ground below its hearth. */
export const BELOW = 2.5;
const TAU = Math.PI * 2;

/** @typedef {import('../state.js').Arrow} Arrow */

/** @type {{ at: { x: number, y: number, halfW: number, halfH: number, arrow: Arrow | null }[],
 * count: number }} The arrows of this frame, in device px: the first `count` entries. */
const taken = { at: [], count: 0 };

/** Draw rings that close in on the goal of the walk. */
export function drawGoal(ctx, state, screen) {
  const { goal } = state, { tile } = screen;
  const x = screen.x(goal.x), y = screen.y(goal.y);
  const pulse = state.still ? 0.5 : ((state.now - goal.at) / GOAL_MS) % 1;
  for (const { style, width } of [{ style: 'rgba(20, 26, 36, 0.4)', width: 0.16 },
    { style: '#ffffff', width: 0.08 }]) {
    ctx.strokeStyle = style;
    ctx.lineWidth = width * tile;
    ctx.beginPath();
    ctx.ellipse(x, y, 0.2 * tile, 0.11 * tile, 0, 0, TAU);
    ctx.stroke();
    ctx.globalAlpha = pulse;
    ctx.beginPath();
    const wide = 0.75 - 0.5 * pulse;
    ctx.ellipse(x, y, wide * tile, wide * 0.55 * tile, 0, 0, TAU);
    ctx.stroke();
    ctx.globalAlpha = 1;
  }
}

/** Return the arrow at most `reach` device px from a device px, or null.
 * @returns {Arrow | null} */
export function arrowAt(px, py, reach) {
  for (let i = 0; i < taken.count; i++) {
    const { x, y, halfW, halfH, arrow } = taken.at[i];
    if (Math.abs(px - x) <= halfW + reach && Math.abs(py - y) <= halfH + reach) return arrow;
  }
  return null;
}

/** Draw no arrow in this frame. */
export function forgetArrows() {
  taken.count = 0;
}

/** Draw arrows for all of state.arrows that are out of sight and find room. `dpr` is device px per css
 * px for words, and `pageDpr` for the page's panels.
 * @param {import('../state.js').State} state */
export function drawArrows(ctx, state, screen, dpr, pageDpr) {
  const edge = EDGE * dpr;
  const area = { left: edge, top: edge, right: screen.width - edge, bottom: screen.height - edge,
    panels: state.panels, pageDpr };
  forgetArrows();
  for (const arrow of state.arrows) drawArrow(ctx, state, screen, arrow, area, dpr);
}

/** Return the middle of an arrow's pill on the edge of the area, as near to its direction as panels and
 * other arrows allow: it slides along the edge, to either side in turn. If there is no room beside the
 * panels, it lies under them; null if it would lie on another arrow even there. */
function edgePlace(dx, dy, area, halfW, halfH) {
  const middleX = (area.left + area.right) / 2, middleY = (area.top + area.bottom) / 2;
  const reachX = Math.max((area.right - area.left) / 2 - halfW, 1);
  const reachY = Math.max((area.bottom - area.top) / 2 - halfH, 1);
  const share = Math.min(reachX / Math.max(Math.abs(dx), 1e-9),
    reachY / Math.max(Math.abs(dy), 1e-9));
  let along = aroundOf(dx * share, dy * share, reachX, reachY);
  const round = 4 * (reachX + reachY);
  for (let i = 0; i < SLIDES; i++) {
    along += (i % 2 === 0 ? i : -i) * SLIDE * area.pageDpr;
    const place = placeAround(mod(along, round), reachX, reachY);
    place.x = Math.round(middleX + place.x);
    place.y = Math.round(middleY + place.y);
    if (!onPanel(area, place.x, place.y, halfW, halfH)
      && !onArrow(place.x, place.y, halfW, halfH)) return place;
  }
  const x = Math.round(middleX + dx * share), y = Math.round(middleY + dy * share);
  return onArrow(x, y, halfW, halfH) ? null : { x, y };
}

/** Return the middle of the pill of an arrow to a place that a panel covers: between the place and the middle of the
 * screen, as near to the place as panels, other arrows and the `box` of what stands there allow; null if there is no
 * room. @returns {{ x: number, y: number } | null} */
function placeBeside(px, py, screen, area, halfW, halfH, box) {
  for (let part = 0; part < 1; part += 0.02) {
    const x = Math.round(px + (screen.width / 2 - px) * part);
    const y = Math.round(py + (screen.height / 2 - py) * part);
    if (!onPanel(area, x, y, halfW, halfH) && !onArrow(x, y, halfW, halfH) && !(x + halfW > box.left
      && x - halfW < box.right && y + halfH > box.top && y - halfH < box.bottom)) return { x, y };
  }
  return null;
}

/** Return the box of the landmark with this name, in device px, from the top of its picture to its hearth; or only the
 * point (px, py), where its feet are, if there is none.
 * @param {import('../state.js').State} state */
function boxOf({ marks }, label, px, py, tile) {
  const mark = marks.find(({ name }) => name === label), { left, top, right } = mark === undefined ? NOTHING : EXTENTS[mark.kind];
  return { left: px + left * tile, top: py + top * tile, right: px + right * tile,
    bottom: py + (mark === undefined ? 0 : BELOW) * tile };
}

/** Return whether a panel covers the feet of a landmark, at (px, py), so that an arrow says its name. */
export function isCovered({ panels }, px, py, tile, pageDpr) {
  return onPanel({ panels, pageDpr }, px, py - tile, tile, tile);
}

/** Return how far along the edge of the rectangle a place is, clockwise from the upper left corner. */
function aroundOf(x, y, reachX, reachY) {
  if (y <= -reachY + 0.5) return x + reachX;
  if (x >= reachX - 0.5) return 2 * reachX + y + reachY;
  if (y >= reachY - 0.5) return 2 * reachX + 2 * reachY + reachX - x;
  return 4 * reachX + 2 * reachY + reachY - y;
}

function placeAround(along, reachX, reachY) {
  if (along < 2 * reachX) return { x: along - reachX, y: -reachY };
  if (along < 2 * (reachX + reachY)) return { x: reachX, y: along - 2 * reachX - reachY };
  if (along < 4 * reachX + 2 * reachY) {
    return { x: 3 * reachX + 2 * reachY - along, y: reachY };
  }
  return { x: -reachX, y: 4 * reachX + 3 * reachY - along };
}

const mod = (number, by) => number - by * Math.floor(number / by);

/** Return whether an arrow there would touch a panel. */
function onPanel({ panels, pageDpr: dpr }, x, y, halfW, halfH) {
  for (const { left, top, right, bottom } of panels) {
    if (x + halfW > left * dpr && x - halfW < right * dpr && y + halfH > top * dpr
      && y - halfH < bottom * dpr) return true;
  }
  return false;
}

/** Return whether an arrow there would touch another one. */
function onArrow(x, y, halfW, halfH) {
  for (let i = 0; i < taken.count; i++) {
    const other = taken.at[i];
    if (Math.abs(x - other.x) < halfW + other.halfW
      && Math.abs(y - other.y) < halfH + other.halfH) return true;
  }
  return false;
}

function keepClear(x, y, halfW, halfH, arrow) {
  const { at } = taken;
  if (at.length === taken.count) at.push({ x: 0, y: 0, halfW: 0, halfH: 0, arrow: null });
  Object.assign(at[taken.count++], { x, y, halfW, halfH, arrow });
}

function drawArrow(ctx, state, screen, arrow, area, dpr) {
  const dx = arrow.x - state.camera.x, dy = arrow.y - state.camera.y;
  const px = screen.width / 2 + dx * screen.tile, py = screen.height / 2 + dy * screen.tile;
  const inView = px > 0 && py > 0 && px < screen.width && py < screen.height, { tile } = screen;
  const ofMark = arrow.kind !== undefined, { sign } = arrow, named = ofMark || sign !== undefined;
  if (inView && !(arrow.aim === true && onPanel(area, px, py, 0, 0))
    && !(ofMark && isCovered(state, px, py, tile, area.pageDpr))) return;
  const distance = Math.hypot(dx, dy), home = arrow.id === null;
  const colour = arrow.aim === true ? AIM_COLOUR : sign !== undefined ? sign.colour
    : home ? HOME_COLOUR : faceOf(arrow.id, arrow.look).colour;
  // A face shows whose name it is, a picture which landmark it is, and house and flag what is that far away.
  const label = textOf(home && !named ? distanceOf(distance) : arrow.label,
    { size: SIZE, dpr, colour: '#ffffff', widest: named ? NAME : LABEL });
  const pill = PILL * dpr, tip = ARROW * dpr, before = (PAD + SIGN + GAP) * dpr;
  const width = before + label.w + PAD * dpr;
  const halfW = width / 2 + tip, halfH = pill / 2 + tip;
  const place = inView ? placeBeside(px, py, screen, area, halfW, halfH, boxOf(state, arrow.label, px, py, tile))
    : edgePlace(dx, dy, area, halfW, halfH);
  if (place === null) return;
  const { x, y } = place;
  keepClear(x, y, halfW, halfH, arrow);
  drawTip(ctx, x, y, inView ? px - x : dx, inView ? py - y : dy, width / 2, pill / 2, tip, colour);
  ctx.fillStyle = 'rgba(20, 26, 36, 0.86)';
  ctx.beginPath();
  ctx.roundRect(x - width / 2, y - pill / 2, width, pill, pill / 2);
  ctx.fill();
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2 * dpr;
  ctx.stroke();
  const signX = x - width / 2 + (PAD + SIGN / 2) * dpr;
  if (arrow.aim === true) drawFlag(ctx, signX - 4 * dpr, y + 8 * dpr, 0.7 * dpr);
  else if (ofMark) {
    const picture = miniatureOf(arrow.kind, Math.round(PICTURE * dpr));
    ctx.drawImage(picture, Math.round(signX - picture.width / 2), Math.round(y - picture.height / 2));
  } else if (sign !== undefined) sign.draw(ctx, signX, y, dpr);
  else if (home) drawHouse(ctx, signX, y, 6 * dpr, colour);
  else drawHead(ctx, signX, y, 6 * dpr, colour);
  ctx.drawImage(label.canvas, Math.round(x - width / 2 + before), Math.round(y - label.h / 2));
}

/** Draw a triangle on the pill's edge that points to the target. */
function drawTip(ctx, x, y, dx, dy, halfWidth, halfHeight, tip, colour) {
  const length = Math.hypot(dx, dy) || 1, cos = dx / length, sin = dy / length;
  const flat = halfWidth - halfHeight;
  const from = Math.min(Math.max(cos * halfWidth, -flat), flat);
  const far = halfHeight + tip, near = halfHeight - 2;
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.moveTo(x + from + cos * far, y + sin * far);
  ctx.lineTo(x + from + cos * near - sin * tip, y + sin * near + cos * tip);
  ctx.lineTo(x + from + cos * near + sin * tip, y + sin * near - cos * tip);
  ctx.fill();
}

function drawHouse(ctx, x, y, size, colour) {
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.moveTo(x, y - size);
  ctx.lineTo(x + size, y);
  ctx.lineTo(x + size * 0.7, y);
  ctx.lineTo(x + size * 0.7, y + size * 0.85);
  ctx.lineTo(x - size * 0.7, y + size * 0.85);
  ctx.lineTo(x - size * 0.7, y);
  ctx.lineTo(x - size, y);
  ctx.fill();
}

function drawHead(ctx, x, y, size, colour) {
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.ellipse(x, y, size * 0.82, size, 0, 0, TAU);
  ctx.fill();
  for (const side of [-1, 1]) {
    ctx.fillStyle = '#1d2430';
    ctx.beginPath();
    ctx.arc(x + side * size * 0.32, y - size * 0.15, size * 0.17, 0, TAU);
    ctx.fill();
  }
}

/** Return a distance in tiles as a short text. */
function distanceOf(tiles) {
  if (tiles < 1000) return String(Math.round(tiles));
  if (tiles < 1e6) return (tiles / 1000).toFixed(tiles < 1e4 ? 1 : 0) + 'k';
  return (tiles / 1e6).toFixed(1) + 'M';
}
