import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Keep } from '../../static/keep.js';
import { storageOf } from './storage.js';

test('a text is stored by the browser and found there again until it is forgotten', () => {
  const storage = storageOf();
  new Keep(() => storage).set('name', 'Wren');
  assert.equal(storage.entries.get('name'), 'Wren');
  assert.equal(new Keep(() => storage).get('name'), 'Wren');
  assert.equal(new Keep(() => storage).get('other'), null);
  new Keep(() => storage).forget('name');
  assert.equal(new Keep(() => storage).get('name'), null);
});

test('where a page may store nothing, a text is kept for the visit', () => {
  const keep = new Keep(() => {
    throw new DOMException('denied', 'SecurityError');
  });
  assert.equal(keep.get('name'), null);
  keep.set('name', 'Wren');
  assert.equal(keep.get('name'), 'Wren');
});

test('where there is no room to store a text, it is still kept for the visit', () => {
  const storage = storageOf(new Map([['name', 'Lark']])), { setItem } = storage;
  storage.setItem = () => {
    throw new DOMException('full', 'QuotaExceededError');
  };
  const keep = new Keep(() => storage);
  keep.set('name', 'Wren');
  assert.equal(keep.get('name'), 'Wren');
  keep.forget('name');
  assert.equal(keep.get('name'), null);
  keep.set('name', 'Wren');
  storage.setItem = setItem;
  keep.set('name', 'Finch');
  assert.equal(storage.entries.get('name'), 'Finch');
  assert.equal(keep.get('name'), 'Finch');
});

test('a browser that has no storage, or one that is damaged, keeps a text for the visit', () => {
  const damaged = () => {
    throw new Error('NS_ERROR_FILE_CORRUPTED');
  };
  for (const open of [() => null, () => undefined, damaged, () => ({ getItem: damaged, setItem: damaged, removeItem: damaged })]) {
    const keep = new Keep(open);
    keep.set('name', 'Wren');
    assert.equal(keep.get('name'), 'Wren');
    keep.forget('name');
    assert.equal(keep.get('name'), null);
  }
});
