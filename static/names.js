// Names: suggests one to a newcomer, and tells players with the same name apart.

const FIRST = ['Amber', 'Brave', 'Clever', 'Dusty', 'Eager', 'Gentle', 'Happy', 'Little', 'Merry',
  'Misty', 'Quick', 'Quiet', 'Rosy', 'Silver', 'Sunny', 'Tiny', 'Wild', 'Windy'];
const SECOND = ['Acorn', 'Badger', 'Birch', 'Comet', 'Finch', 'Fox', 'Hare', 'Heron', 'Lark',
  'Maple', 'Mole', 'Moth', 'Otter', 'Owl', 'Pebble', 'Robin', 'Sparrow', 'Wren'];

/** Return a name to suggest. */
export function suggestName() {
  const pick = (list) => list[Math.floor(Math.random() * list.length)];
  return `${pick(FIRST)} ${pick(SECOND)}`;
}

/** Return a Map from id to the name that is shown. If players share a name, a tag made from the id
 * follows it. */
export function tellApart(players) {
  const all = [...players], count = new Map(), shown = new Map();
  for (const { name } of all) count.set(name, (count.get(name) ?? 0) + 1);
  for (const { id, name } of all) {
    const tag = (id % 1296).toString(36).padStart(2, '0');
    shown.set(id, count.get(name) > 1 ? `${name} #${tag}` : name);
  }
  return shown;
}

/** Return whether a text contains a name as whole words. */
export function isAddressed(text, name) {
  const words = name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return new RegExp(`(?<![\\p{L}\\p{N}])${words}(?![\\p{L}\\p{N}])`, 'iu').test(text);
}
