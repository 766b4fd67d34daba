// ESLint's recommended rules, and no shadowed names, for the page and for its tests in node; and what
// server/web/joined.py needs of the page's modules.

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

export default [
  js.configs.recommended,
  { rules: { 'no-shadow': 'error' } },
  {
    files: ['static/**', 'games/*/page/**'],
    languageOptions: { globals: globals.browser },
    rules: { 'no-restricted-syntax': ['error', ...JOINED] },
  },
  { files: ['tests/js/**', 'games/*/tests/js/**'], languageOptions: { globals: globals.nodeBuiltin } },
];
