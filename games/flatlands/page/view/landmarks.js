// The props of landmarks, by kind. static/landmarks.js decides where they stand, and moving.js draws what of
// them moves.

import * as buildings from './buildings.js';
import * as wonders from './wonders.js';

export const LANDMARKS = Object.entries({ ...buildings, ...wonders })
  .map(([name, prop]) => ({ name, ...prop }));
