// The page of the game: its colours, and its board. `flatlands docs` shows all that `join` can do.

import { join } from './game.js';

const COLOURS = ['#333', '#e8524a', '#f2a13b', '#f4dc5b', '#63b75a', '#4fb3c6', '#5a7de0', '#a06ad6', '#e57fb5'];
const [canvas] = document.querySelectorAll('canvas'), [line, board] = document.querySelectorAll('#line, #board');

const game = join({ canvas, keys: { Space: () => game.do.spill(2) } });

game.on.line((text) => {
  line.textContent = text;
});
game.on.message('board', (rows) => board.replaceChildren(...rows.map(([colour, tiles]) => {
  const row = document.createElement('li');
  row.textContent = `${tiles}`;
  row.style.color = COLOURS[colour];
  return row;
})));

game.draw.cells('floor', (ctx, colour, x, y) => {
  ctx.fillStyle = COLOURS[colour];
  ctx.fillRect(x, y, 0.95, 0.95);
});
game.draw.player((ctx, { id, name, own }) => {
  game.draw.disc(0.4, COLOURS[id % 8 + 1], own ? '#fff' : '#000');
  game.draw.label(name, 0, -0.6);
});

// For again.js.
document.documentElement.dataset.begun = '';
