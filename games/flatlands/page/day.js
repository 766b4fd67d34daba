// The day: sixteen minutes of node time from one morning to the next, so dusk falls for everybody at
// once. It is a function of time alone: it keeps nothing and is never sent.

export const DAY = 16 * 60 * 1000;        // ms

// The light at parts of a day: [part, red, green, blue, how much this colour covers the land]. Between
// two of them it changes gradually.
const LIGHT = [
  [0, 255, 206, 150, 0], [0.55, 255, 190, 110, 0], [0.6, 226, 132, 74, 0.17],
  [0.645, 92, 62, 116, 0.38], [0.7, 12, 22, 74, 0.58], [0.88, 12, 22, 74, 0.58],
  [0.93, 74, 66, 120, 0.36], [0.97, 244, 166, 120, 0.13], [1, 255, 206, 150, 0],
];
// Lamps are lit one after the other between these parts of a day.
const LIT_FROM = 0.6, LIT_BY = 0.66, OUT_FROM = 0.915, OUT_BY = 0.955;

/** The light at one time: a colour that covers the land, as `style` and its share `dark` (0 by day), and
 * how brightly lamps burn, `lit` from 0 to 1.
 * @typedef {{ style: string, dark: number, lit: number }} Sky */

/** Return the light at node time `now`, ms, which is counted from 1970 in UTC.
 * @returns {Sky} */
export function skyAt(now) {
  const part = (now / DAY) - Math.floor(now / DAY);
  let next = 1;
  while (LIGHT[next][0] <= part) next++;
  const [from, ...before] = LIGHT[next - 1], [to, ...after] = LIGHT[next];
  const share = (part - from) / (to - from);
  const [red, green, blue, dark] = before.map((value, i) => value + (after[i] - value) * share);
  const lit = Math.min(smooth((part - LIT_FROM) / (LIT_BY - LIT_FROM)),
    1 - smooth((part - OUT_FROM) / (OUT_BY - OUT_FROM)));
  return { style: `rgb(${Math.round(red)}, ${Math.round(green)}, ${Math.round(blue)})`, dark, lit };
}

function smooth(share) {
  const x = Math.min(Math.max(share, 0), 1);
  return x * x * (3 - 2 * x);
}
