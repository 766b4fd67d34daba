// Who plays in a window, when others of the same browser play too.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Identity } from '../../static/identity.js';
import { Keep } from '../../static/keep.js';
import { storageOf } from './storage.js';

/** A browser in which windows can be opened; each has a storage of its own. */
function browserOf() {
  const shared = storageOf(), channels = [];
  return {
    shared,
    open(own = storageOf()) {
      const channel = { onmessage: null, postMessage(data) {
        for (const other of channels) if (other !== channel) other.onmessage?.({ data });
      } };
      channels.push(channel);
      return new Identity(new Keep(() => shared), new Keep(() => own), channel);
    },
  };
}

test('a lone window goes on as the player that the browser keeps', async () => {
  const browser = browserOf(), first = browser.open();
  await first.ready;
  first.begin();
  Object.assign(first, { name: 'Wren', look: 1030, token: 'a token' });
  const { secret } = first;
  first.end();
  const later = browser.open();
  await later.ready;
  assert.deepEqual([later.name, later.look, later.token, later.secret],
    ['Wren', 1030, 'a token', secret]);
});

test('a second window that plays at the same time is somebody else, and stays so', async () => {
  const browser = browserOf(), first = browser.open();
  await first.ready;
  first.begin();
  Object.assign(first, { name: 'Wren', token: 'of the first' });
  const own = storageOf(), second = browser.open(own);
  await second.ready;
  assert.equal(second.token, null);
  assert.notEqual(second.secret, first.secret);
  second.begin();
  Object.assign(second, { name: 'Lark', token: 'of the second' });
  assert.deepEqual([first.name, first.token], ['Wren', 'of the first']);
  first.end();
  second.end();
  const reloaded = browser.open(own);
  await reloaded.ready;
  assert.deepEqual([reloaded.name, reloaded.token], ['Lark', 'of the second']);
});

test('of two windows that wait on the title, the second to play is somebody else', async () => {
  const browser = browserOf();
  browser.shared.setItem('flatlands.token', 'kept');
  const one = browser.open(), other = browser.open();
  let calls = 0;
  one.onOther = () => calls++;
  await Promise.all([one.ready, other.ready]);
  assert.deepEqual([one.token, other.token], ['kept', 'kept']);
  other.begin();
  assert.deepEqual([one.token, other.token, calls], [null, 'kept', 1]);
});

test('a copy of a window that plays is somebody else, and a reload of either is not', async () => {
  const browser = browserOf(), first = browser.open();
  await first.ready;
  first.begin();
  first.token = 'of the first';
  const own = storageOf(), second = browser.open(own);
  await second.ready;
  second.begin();
  Object.assign(second, { name: 'Lark', token: 'of the second' });
  // A browser copies what a window keeps along with the window.
  const copied = storageOf(new Map(own.entries)), copy = browser.open(copied);
  await copy.ready;
  assert.equal(copy.token, null);
  assert.notEqual(copy.secret, second.secret);
  copy.begin();
  copy.token = 'of the copy';
  assert.deepEqual([first.token, second.token], ['of the first', 'of the second']);
  second.end();
  copy.end();
  for (const [kept, token] of [[own, 'of the second'], [copied, 'of the copy']]) {
    const again = browser.open(kept);
    await again.ready;
    assert.equal(again.token, token);
  }
});

test('a token that no server can have given is none', () => {
  for (const [kept, token] of [['x'.repeat(512), 'x'.repeat(512)], ['x'.repeat(513), null], ['', null]]) {
    const own = storageOf(new Map([['flatlands.token', kept]]));
    assert.equal(new Identity(new Keep(() => own), new Keep(() => storageOf()), null).token, token);
  }
});

test('a page that reaches no other windows and finds rubbish in its storage is still somebody', async () => {
  const own = storageOf();
  for (const look of ['', 'x', '-5', '1e9']) {
    own.setItem('flatlands.look', look);
    const identity = new Identity(new Keep(() => own), new Keep(() => storageOf()), null,
      () => 1030);
    await identity.ready;
    assert.equal(identity.look, 1030, look);
    assert.ok(identity.name.length > 0);
  }
  own.setItem('flatlands.look', '99999');
  assert.equal(new Identity(new Keep(() => own), new Keep(() => own), null).look, 65535);
});
