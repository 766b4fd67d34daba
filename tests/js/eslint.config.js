// ESLint's recommended rules, and no shadowed names, for the page and for its tests in node; what
// server/web/joined.py needs of the page's modules; which of these know nothing of the browser; and that
// nothing imports a part.

import { existsSync, readdirSync } from 'node:fs';

import js from '@eslint/js';
import globals from 'globals';

const JOINED = [
  ['Import and export by name.', 'ExportDefaultDeclaration', 'ExportAllDeclaration', 'ExportSpecifier',
    'ImportDefaultSpecifier', 'ImportDeclaration[specifiers.length=0]'],
  ['Export only what never changes.', 'ExportNamedDeclaration > VariableDeclaration[kind!="const"]'],
  ['Export constants by their names, and functions and classes as such.',
    ...['[id.type!="Identifier"]', '[init.type=/Function|Class/]'].map((what) =>
      `ExportNamedDeclaration > VariableDeclaration > VariableDeclarator${what}`)],
  ['All modules are one file in the end.', 'ImportExpression', 'MetaProperty[meta.name="import"]'],
  ['A module may not wait.', 'AwaitExpression:not(:function *)',
    'ForOfStatement[await=true]:not(:function *)'],
  ['A text ends in its line.', 'TemplateElement[value.raw=/\\n/]', 'Literal[raw=/\\n/]'],
].flatMap(([message, ...selectors]) => selectors.map((selector) => ({ selector,
  message: `${message} See server/web/joined.py.` })));

// These modules know neither the page nor the network, and node loads them too. view/ and hud/ import
// only them, and what is in their own folder.
const PURE = (`protocol msgpack terrain track replica walk names clock state scene things faces day regions
  landmarks ember relay places emotes footsteps atlas borders leading near keys route twins echoes grown
  notes ordered events blooms looks cairns lost did`).split(/\s+/);

// The parts of Flatlands: each is a folder with its own page.
const FLATLANDS = new URL('../../games/flatlands/', import.meta.url);
const PARTS = readdirSync(FLATLANDS).filter((name) => existsSync(new URL(`${name}/page/index.js`, FLATLANDS)));

export default [
  js.configs.recommended,
  { rules: { 'no-shadow': 'error' } },
  {
    files: ['static/**', 'games/*/page/**', 'games/*/*/page/**'],
    languageOptions: { globals: globals.browser },
    rules: { 'no-restricted-syntax': ['error', ...JOINED] },
  },
  // It is served as it is.
  { files: ['server/web/inspect/**'], languageOptions: { globals: globals.browser } },
  {
    files: PURE.flatMap((name) => [`static/${name}.js`, `games/flatlands/page/${name}.js`,
      `games/flatlands/*/page/${name}.js`]),
    rules: { 'no-restricted-globals': ['error', 'document', 'window', 'navigator', 'fetch', 'WebSocket',
      'localStorage', 'sessionStorage', 'OffscreenCanvas'] },
  },
  {
    files: ['games/flatlands/page/**', 'games/flatlands/*/page/**'],
    rules: { 'no-restricted-imports': ['error', { patterns: [{
      regex: `^\\.\\.?/(${PARTS.join('|')})/`,
      message: 'Nothing imports a part but itself, so that whoever deletes its folder has the page without it.',
    }] }] },
  },
  {
    files: ['games/flatlands/page/view/**', 'games/flatlands/page/hud/**'],
    rules: { 'no-restricted-imports': ['error', { patterns: [{
      regex: `^\\.\\./(?!(${PURE.join('|')})\\.js$)`,
      message: 'view/ and hud/ import only modules that know nothing of the browser, and their own folder.',
    }] }] },
  },
  { files: ['tests/js/**', 'games/**/tests/js/**'], languageOptions: { globals: globals.nodeBuiltin } },
];
