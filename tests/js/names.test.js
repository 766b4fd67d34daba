import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { isAddressed, suggestName, tellApart } from '../../static/names.js';
import { NAME_LIMIT } from '../../static/protocol.js';
import { sayable } from '../../static/texts.js';

test('players with the same name are told apart by their ids', () => {
  const shown = tellApart([{ id: 5, name: 'Wren' }, { id: 1296 + 36, name: 'Wren' },
    { id: 7, name: 'Lark' }]);
  assert.deepEqual([...shown], [[5, 'Wren #05'], [1332, 'Wren #10'], [7, 'Lark']]);
});

test('a suggested name is one that the server accepts', () => {
  for (let i = 0; i < 200; i++) {
    assert.match(suggestName(), /^[A-Z][a-z]+ [A-Z][a-z]+$/);
    assert.ok(suggestName().length <= NAME_LIMIT);
  }
});

test('a text addresses somebody by a whole name, however it is written', () => {
  for (const [text, name] of [['Welcome, Ada!', 'Ada'], ['ada?', 'Ada'], ['Hello, J. (Jr.)!', 'J. (Jr.)'],
    ['Привет, Оля!', 'Оля'], ['Come, Little Owl', 'Little Owl']]) assert.ok(isAddressed(text, name), text);
  for (const [text, name] of [['Adam is here', 'Ada'], ['Canada', 'Ada'], ['Олям', 'Оля'], ['anything', '.']]) {
    assert.ok(!isAddressed(text, name), text);
  }
});

test('typed or pasted text is brought into the form that the server accepts', () => {
  const texts = JSON.parse(readFileSync(new URL('../vectors/texts.json', import.meta.url), 'utf8'));
  for (const [raw, line] of texts) assert.equal(sayable(raw), line, raw);
});

test('a text that is too long is not cut within a letter', () => {
  for (const [raw, line] of [['0123456789012345678👨‍👩‍👧', '0123456789012345678'], [`${'a'.repeat(19)}👍🏽`, 'a'.repeat(19)],
    [`${'a'.repeat(19)}🇩🇪`, 'a'.repeat(19)], [`${'a'.repeat(18)}🇩🇪x`, `${'a'.repeat(18)}🇩🇪`], ['b'.repeat(25), 'b'.repeat(20)]]) {
    assert.equal(sayable(raw, NAME_LIMIT), line);
  }
});
