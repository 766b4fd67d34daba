// A browser's storage, as far as the page uses it.

export function storageOf(entries = new Map()) {
  return { entries, getItem: (key) => entries.get(key) ?? null,
    setItem: (key, text) => entries.set(key, text), removeItem: (key) => entries.delete(key) };
}
