// Looks into the game of a server that runs: asks what there is once a second while the page is visible, listens to the
// events of one square, and asks the server to act. The server decides what may be done, and says why if it does not.

const EVERY = 1000;                       // ms between two looks
const LOOK_WITHIN = 4000;                 // ms
const DONE_WITHIN = 15_000;               // ms; the server waits 10 s for an action
const SAID_FOR = 6000;                    // ms
const EVENTS_KEPT = 100;
const TILE = 20;                          // pixels of the canvas
const ORDERS = { name: 'Name', near: 'Place', latency: 'Latency' };

/** @type {(id: string) => any} */
const $ = (id) => document.getElementById(id);
const body = (table) => $(table).tBodies[0];
const make = (tag, text = '', more = {}) => Object.assign(document.createElement(tag), { textContent: text, ...more });
const shownValue = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
const listed = (fields) => Object.entries(fields).map(([name, value]) => `${name} ${shownValue(value)}`).join(', ');

const place = { x: 0, y: 0 };             // what is looked at, unless a player is followed
/** @type {any} */
let about = null;                         // what the game declares
/** @type {any} */
let state = null;                         // the last look
/** @type {any} */
let ground = null;                        // the values of the ground, and around which tile they are
let order = 'near', chosen = 0, tile = { x: 0, y: 0 };
let asIs = false;                         // whether the author has said where to look
let isPicked = false;                     // whether the author has chosen a tile: until then it is the middle one
/** @type {any} */
let record = null;                        // the record that is changed: its values as they were read, or null
/** @type {AbortController | null} */
let listening = null;
let hiding = 0;                           // what hides the last message
let heard = '';                           // the square that is listened to

// Asking the server.

/** @param {object | undefined} sent */
async function ask(path, sent = undefined, within = DONE_WITHIN) {
  const post = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(sent) };
  const signal = AbortSignal.timeout(within);
  const answer = await fetch(`inspect/${path}`, sent === undefined ? { signal } : { ...post, signal }).catch(() => {
    throw new Error('The server does not answer.');
  });
  const told = await answer.json().catch(() => ({ sentence: `The server answers ${answer.status}.` }));
  if (!answer.ok) throw new Error(told.sentence);
  return told;
}

function say(text, wrong = false) {
  $('said').textContent = text;
  $('said').classList.toggle('wrong', wrong);
  $('said').hidden = false;
  clearTimeout(hiding);
  // What went wrong stays until it is clicked, or something else is said.
  hiding = wrong ? 0 : setTimeout(() => { $('said').hidden = true; }, SAID_FOR);
}

/** Let a form ask for something, and say what has become of it. */
function onSubmit(id, act) {
  $(id).addEventListener('submit', (event) => {
    event.preventDefault();
    attempt(act);
  });
}

async function attempt(act) {
  try {
    const done = await act();
    if (done) say(done);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), true);
  }
}

async function look() {
  if (document.visibilityState === 'visible') {
    try {
      await lookOnce();
      $('trouble').textContent = state.warnings.join(' ');
    } catch (error) {
      $('trouble').textContent = `${error instanceof Error ? error.message : error} It is asked again each second.`;
    }
    $('trouble').hidden = $('trouble').textContent === '';
  }
  setTimeout(look, EVERY);
}

async function lookOnce() {
  const asked = new URLSearchParams({ at: `${place.x},${place.y}`, find: $('find').value.trim(), order,
    most: $('most').value });
  if (state !== null) asked.set('node', state.node);
  if (ground !== null) asked.set('ground', ground.at);
  if (chosen !== 0 && $('follow').checked) asked.set('follow', String(chosen));
  state = await ask(`state?${asked}`, undefined, LOOK_WITHIN);
  if (!isPicked) tile = { x: state.at[0], y: state.at[1] };
  if (state.about !== undefined) declare(state.about);
  if (state.ground !== undefined) ground = { at: state.at, values: state.ground };
  const first = state.players.shown.find((player) => player.here && !player.computer);
  if (chosen === 0 && !asIs && first !== undefined) {
    chosen = first.id;
    $('follow').checked = true;
  }
  if ($('follow').checked || document.activeElement !== $('x') && document.activeElement !== $('y')) {
    [$('x').value, $('y').value] = [place.x, place.y] = state.at;
  }
  show();
}

// What the game declares: forms.

function declare(declared) {
  about = declared;
  $('game').textContent = document.title = about.game;
  $('node').textContent = `node ${state.node}, squares of ${about.side} × ${about.side} tiles` +
    (about.has_store ? '' : ', without a store: no things and no records');
  choices('action', Object.keys(about.actions));
  choices('thing', Object.keys(about.things));
  choices('record', Object.keys(about.records));
  choices('layer', about.layers);
  for (const select of ['thing', 'record']) {
    $(select).closest('section').hidden = $(select).options.length === 0 || !about.has_store;
  }
  $('layer').parentElement.hidden = about.layers.length === 0;
  inputs('action-fields', about.actions[$('action').value] ?? []);
  inputs('thing-fields', about.things[$('thing').value] ?? []);
  ground = null;
  edit(null);
  if (!$('read').closest('section').hidden) attempt(readRecords);
  const heads = { ...ORDERS, ...Object.fromEntries(about.player.map((field) => [field.name, field.name])) };
  $('players').tHead.rows[0].replaceChildren(...Object.entries(heads).map(([name, text]) => {
    const head = make('th'), button = make('button', text, { type: 'button', title: 'sort by this' });
    button.addEventListener('click', () => {
      order = name;
      attempt(lookOnce);
    });
    head.append(button);
    return head;
  }));
}

function choices(id, names) {
  const before = $(id).value;
  $(id).replaceChildren(...names.map((name) => make('option', name)));
  if (names.includes(before)) $(id).value = before;
}

/** Show an input for each field, with these values or the lowest ones. */
function inputs(id, fields, having = {}) {
  $(id).replaceChildren(...fields.map(({ name, type, low, high }) => {
    const input = make('input'), value = having[name];
    if (type === 'number') Object.assign(input, { type: 'number', min: low, max: high, value: value ?? low, required: true });
    if (type === 'text') Object.assign(input, { type: 'text', minLength: low, maxLength: high, value: value ?? '' });
    if (type === 'flag') Object.assign(input, { type: 'checkbox', checked: value ?? false });
    input.dataset.name = name;
    input.title = type === 'flag' ? '' : `${low} to ${high}${type === 'text' ? ' characters' : ''}`;
    const label = make('label', name);
    label.append(input);
    return label;
  }));
}

/** Return the values of these inputs, by the names of their fields. */
function values(id) {
  return Object.fromEntries([...$(id).querySelectorAll('input')].map((input) => [input.dataset.name,
    input.type === 'checkbox' ? input.checked : input.type === 'number' ? Number(input.value) : input.value]));
}

// What there is.

/** Show rows in a table, in place, so that what has the focus keeps it: each has a key and its cells. */
function fill(table, rows) {
  const all = body(table).rows;
  while (all.length > rows.length) all[all.length - 1].remove();
  rows.forEach(({ key, cells, as = '', press = true }, at) => {
    const row = all[at] ?? body(table).insertRow();
    row.dataset.key = key;
    row.className = as;
    while (row.cells.length > cells.length) row.lastElementChild.remove();
    cells.forEach((text, column) => {
      const cell = row.cells[column] ?? row.insertCell();
      if (column === 0 && press && !cell.firstElementChild) cell.append(make('button', '', { type: 'button' }));
      const holder = cell.firstElementChild ?? cell;
      if (holder.textContent !== String(text)) holder.textContent = text;
    });
  });
}

/** Call `act` with the key of the row whose button is pressed. */
function onPress(table, act) {
  body(table).addEventListener('click', (event) => {
    if (event.target.tagName === 'BUTTON') act(event.target.closest('tr').dataset.key);
  });
}

function show() {
  const { players, things, hooks, faults } = state;
  $('middle').textContent = `${state.at.join(', ')}${state.ready ? '' : ' (being read)'}`;
  $('players-count').textContent = `${players.shown.length} of ${players.found} found, ${players.known} known to this node`;
  for (const [at, head] of [...$('players').tHead.rows[0].cells].entries()) {
    const names = [...Object.keys(ORDERS), ...about.player.map((field) => field.name)];
    head.firstElementChild.setAttribute('aria-pressed', String(names[at] === order));
  }
  fill('players', players.shown.map((player) => ({ key: player.id, as: `${player.id === chosen ? 'picked' : ''} ${
    player.here ? '' : 'elsewhere'}`, cells: [player.name, player.at.join(', '), latency(player),
    ...about.player.map((field) => shownValue(player.values[field.name]))] })));
  showChosen(players.shown.find((player) => player.id === chosen));
  $('things-count').textContent = `${things.shown.length} of ${things.found} on these tiles`;
  fill('things', things.shown.map((thing) => ({ key: thing.tile.join(','),
    cells: [thing.kind, thing.tile.join(', '), listed(thing.values) || thing.id] })));
  const called = hooks.filter((hook) => hook.calls > 0).sort((a, b) => b.ms - a.ms);
  fill('hooks', called.map((hook) => ({ key: hook.name, press: false, cells: [`${hook.part} ${hook.name}`, hook.calls,
    (hook.ms / hook.calls).toFixed(2), hook.longest_ms.toFixed(1), hook.refused, hook.failed] })));
  const rest = hooks.filter((hook) => hook.calls === 0).map((hook) => hook.name);
  $('uncalled').textContent = rest.length === 0 ? '' : `Not called yet: ${[...new Set(rest)].join(', ')}.`;
  const failed = hooks.filter((hook) => hook.error !== '');
  const known = new Set(failed.map((hook) => hook.error));
  $('errors').replaceChildren(...failed.map((hook) => make('li', `${hook.name}, ${
    Math.round((state.now - hook.failed_at) / 1000)} s ago: ${hook.error}`)),
  ...faults.filter(([, where]) => !known.has(where)).map(([what, where]) => make('li', `${what}: ${where}`)));
  draw();
  const square = [Math.floor(state.at[0] / about.side), Math.floor(state.at[1] / about.side)].join(',');
  if (square !== heard) listen(square);
}

function latency(player) {
  if (!player.here) return 'elsewhere';
  if (player.computer) return 'computer';
  if (player.dimmed) return 'lost';
  return player.latency_ms === null ? '' : `${player.latency_ms} ms`;
}

function showChosen(player) {
  if (player === undefined) {
    if (chosen !== 0) $('chosen-name').textContent = `${chosen} is not among the players above`;
    return;
  }
  $('chosen').hidden = false;
  $('chosen-name').textContent = player.name;
  const facts = { id: player.id, latency: latency(player), place: player.at.join(', '),
    owner: player.owner || 'none' };
  const own = about.player.map(({ name }) => [name, player.values[name]]);
  $('facts').replaceChildren(...[...Object.entries(facts), ...own].flatMap(([name, value]) => [make('dt', name),
    make('dd', shownValue(value))]));
  $('act').hidden = player.computer || !player.here || $('action').options.length === 0;
}

// The tiles.

function draw() {
  const { left, top, columns, blocked, layers } = state.tiles;
  const rows = blocked.length / columns, canvas = $('map'), context = canvas.getContext('2d');
  if (canvas.width !== columns * TILE) Object.assign(canvas, { width: columns * TILE, height: rows * TILE });
  const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(`--${name}`);
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const written = layers[$('layer').value], at = ([x, y]) => [(x - left) * TILE, (y - top) * TILE];
  context.clearRect(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < blocked.length; i++) {
    const x = i % columns * TILE, y = Math.floor(i / columns) * TILE;
    const value = written === undefined ? 0 : parseInt(written.slice(2 * i, 2 * i + 2), 16);
    context.fillStyle = value !== 0 ? `hsl(${value * 137 % 360} 65% ${dark ? 45 : 60}%)` :
      `hsl(${(ground.values[i] ?? 0) * 53 % 360} ${ground.values[i] ? 22 : 0}% ${dark ? 24 : 88}%)`;
    context.fillRect(x, y, TILE - 1, TILE - 1);
    if (blocked[i] === '1') {
      context.lineWidth = 1;
      context.strokeStyle = colour('faint');
      context.beginPath();
      context.moveTo(x + 3, y + TILE - 4);
      context.lineTo(x + TILE - 4, y + 3);
      context.stroke();
    }
  }
  context.lineWidth = 2;
  for (const thing of state.things.shown) {
    const [x, y] = at(thing.tile);
    context.fillStyle = colour('ink');
    context.fillRect(x + 5, y + 5, TILE - 11, TILE - 11);
  }
  for (const player of state.players.shown) {
    const [x, y] = at(player.at);
    context.beginPath();
    context.arc(x, y, TILE * (player.id === chosen ? 0.5 : 0.35), 0, 7);
    context.fillStyle = colour('accent');
    context.fill();
    context.strokeStyle = colour('card');
    context.stroke();
  }
  context.strokeStyle = colour('wrong');
  context.strokeRect(...at([tile.x, tile.y]), TILE - 1, TILE - 1);
  describe();
}

/** Say what is on the chosen tile. */
function describe() {
  const { left, top, columns, blocked, layers } = state.tiles;
  const i = (tile.y - top) * columns + tile.x - left, side = about.side;
  const said = [`Tile ${tile.x}, ${tile.y} in square ${Math.floor(tile.x / side)}, ${Math.floor(tile.y / side)}`];
  if (tile.x >= left && tile.x < left + columns && blocked[i] !== undefined) {
    said.push(`ground ${ground.values[i]}${blocked[i] === '1' ? ' (nobody can stand here)' : ''}`);
    for (const [name, cells] of Object.entries(layers)) said.push(`${name} ${parseInt(cells.slice(2 * i, 2 * i + 2), 16)}`);
    const things = state.things.shown.filter((thing) => thing.tile[0] === tile.x && thing.tile[1] === tile.y);
    said.push(...things.map((thing) => `${thing.kind} ${thing.id} (${listed(thing.values) || 'no fields'})`));
  } else {
    said.push('not shown');
  }
  $('tile').textContent = said.join('; ');
}

function choose(x, y) {
  tile = { x, y };
  isPicked = true;
  draw();
}

function lookAt(x, y) {
  Object.assign(place, { x, y });
  $('follow').checked = false;
  asIs = true;
  return lookOnce();
}

// The events of a square.

async function listen(square) {
  if (square === '') return;
  listening?.abort();
  const mine = listening = new AbortController();
  if (square !== heard) {
    $('square').textContent = square.replace(',', ', ');
    if (heard !== '') $('events').prepend(make('li', `From here on of square ${$('square').textContent}`));
  }
  heard = square;
  while (mine === listening && !mine.signal.aborted && $('listen').checked && document.visibilityState === 'visible') {
    try {
      const answer = await fetch(`inspect/events?square=${square}`, { signal: mine.signal });
      if (!answer.ok || answer.body === null) throw new Error('no events');
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const lines = (rest + part.value).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) tell(JSON.parse(line));
      }
    } catch {
      // The server restarts, or another square is listened to.
      await new Promise((resolve) => setTimeout(resolve, EVERY));
    }
  }
}

function tell({ events, left_out }) {
  for (const { at, what, name, player, says } of events) {
    if ((what === 'move' || what === 'write') && !$('moves').checked) continue;
    const item = make('li'), who = name || (player === null ? '' : String(player));
    item.append(make('time', new Date(at).toISOString().slice(11, 23)), ` ${what} `, make('b', who), ` ${listed(says)}`);
    $('events').prepend(item);
  }
  if (left_out > 0) $('events').prepend(make('li', `${left_out} more were left out`));
  while ($('events').childElementCount > EVENTS_KEPT) $('events').lastElementChild.remove();
}

// Records.

async function readRecords() {
  const kind = $('record').value;
  const { count, shown } = await ask(`records?${new URLSearchParams({ kind, id: $('group').value.trim() })}`);
  $('records-count').textContent = `${shown.length} of ${count} of the kind ${kind}`;
  fill('records', shown.map((one) => ({ key: JSON.stringify(one), cells: [one.id, one.unreadable ?? listed(one.values)] })));
}

/** Let a record be changed; null: a new one. */
function edit(one) {
  record = one?.values ?? null;
  $('record-id').value = one?.id ?? '';
  $('forget').disabled = record === null;
  inputs('record-fields', about.records[$('record').value] ?? [], record ?? {});
}

async function change(after) {
  const id = $('record-id').value;
  const told = await ask('record', { kind: $('record').value, id, before: record, after });
  edit(told.values === null ? null : { id, values: told.values });
  await readRecords();
  return told.values === null ? `The record ${id} was removed.` : `The record ${id} was saved.`;
}

// What the author does.

$('said').addEventListener('click', () => { $('said').hidden = true; });
onSubmit('place', () => lookAt(Number($('x').value), Number($('y').value)));
onSubmit('search', lookOnce);
$('find').addEventListener('input', () => attempt(lookOnce));
$('most').addEventListener('change', () => attempt(lookOnce));
$('follow').addEventListener('change', () => attempt(lookOnce));
$('layer').addEventListener('change', draw);
$('action').addEventListener('change', () => inputs('action-fields', about.actions[$('action').value]));
$('thing').addEventListener('change', () => inputs('thing-fields', about.things[$('thing').value]));
$('record').addEventListener('change', () => {
  edit(null);
  attempt(readRecords);
});
$('record-id').addEventListener('input', () => {
  record = null;
  $('forget').disabled = true;
});
onPress('players', (key) => {
  chosen = Number(key);
  show();
});
onPress('things', (key) => choose(...key.split(',').map(Number)));
onPress('records', (key) => edit(JSON.parse(key)));
$('map').addEventListener('click', (event) => {
  const box = $('map').getBoundingClientRect();
  choose(state.tiles.left + Math.floor((event.clientX - box.left) / box.width * state.tiles.columns),
    state.tiles.top + Math.floor((event.clientY - box.top) / box.width * state.tiles.columns));
});
$('map').addEventListener('keydown', (event) => {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (!(event.key in steps)) return;
  event.preventDefault();
  choose(tile.x + steps[event.key][0], tile.y + steps[event.key][1]);
});
$('centre').addEventListener('click', () => attempt(() => lookAt(tile.x, tile.y)));
onSubmit('act', async () => {
  const action = $('action').value;
  await ask('action', { player: chosen, action, fields: values('action-fields') });
  return `${action} was done as ${$('chosen-name').textContent}.`;
});
onSubmit('put', async () => {
  const kind = $('thing').value;
  await ask('thing', { kind, tile: [tile.x, tile.y], values: values('thing-fields'), player: chosen || null });
  await lookOnce();
  return `${kind} lies at ${tile.x}, ${tile.y} now.`;
});
onSubmit('read', readRecords);
onSubmit('change', () => change(values('record-fields')));
$('forget').addEventListener('click', () => attempt(() => change(null)));
$('listen').addEventListener('change', () => listen(heard));
document.addEventListener('visibilitychange', () => listen(heard));

look();
