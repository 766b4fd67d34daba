// ESLint's recommended rules, and no shadowed names, for the page and for its tests in node.

import js from '@eslint/js';
import globals from 'globals';

export default [
  js.configs.recommended,
  { rules: { 'no-shadow': 'error' } },
  { files: ['static/**'], languageOptions: { globals: globals.browser } },
  { files: ['tests/js/**'], languageOptions: { globals: globals.nodeBuiltin } },
];
