// The colours of the land. They are few and flat: two or three shades each.

const WATER = { deep: '#2f6f9f', slope: '#3b80ad', water: '#4a94bd', shallow: '#6fb2d0',
  foam: '#d6edf0', pad: '#7fb86a' };
const SAND = { bank: '#b9996a', wet: '#d9c48f', dry: '#e6d3a3', light: '#efe0b8', grain: '#cdb483' };
const GRASS = { lip: '#6fa253', meadow: '#8fbf6a', sunny: '#9bc976', lush: '#85b662', tuft: '#6c9f50',
  tuftLight: '#a9d384', floor: '#79ad5c', leaf: '#5f914b' };
const PATH = { edge: '#b3976c', earth: '#cdb48a', worn: '#d9c39c', pebble: '#b59b72' };
const ROCK = { top: '#9a9a94', light: '#adada6', rim: '#c3c3bb', face: '#74746f', faceDark: '#5f5f5c',
  crack: '#84847e', moss: '#8a9c74' };
const PLATEAU = { top: '#b9c09f', light: '#c6ccae', crack: '#a3aa8a', moss: '#93a877' };
const PETALS = ['#ffffff', '#ffe38a', '#f7b5cd', '#b9a7ee'];
const BUTTERFLIES = ['#ffffff', '#ffe08a', '#f7a8c4', '#a9c8ff'];

/** The tones of each region, by its number: see regions.js. `petals` are the flowers' colours; `grass` has
 * the tones of all land that is neither sand nor rock. */
export const TONES = [
  { water: WATER, sand: SAND, grass: GRASS, rock: ROCK, plateau: PLATEAU,
    petals: PETALS, butterflies: BUTTERFLIES },
  { // autumn
    water: { ...WATER, pad: '#c9a94f' }, sand: SAND,
    grass: { lip: '#a08a45', meadow: '#bdb362', sunny: '#c8bd70', lush: '#b3a658', tuft: '#94853f',
      tuftLight: '#d6cd88', floor: '#b99a50', leaf: '#c96a35' },
    rock: { ...ROCK, moss: '#a8925a' },
    plateau: { top: '#c6b98a', light: '#d2c69a', crack: '#aea275', moss: '#a8925a' }, petals: ['#fff1d0', '#f0a860', '#d98bb0', '#f4d27a'],
    butterflies: ['#f08a3c', '#ffcf6b', '#d9573f', '#ffe9b0'],
  },
  { // heath
    water: { ...WATER, deep: '#33658c', slope: '#3f769b', water: '#4f88a9' },
    sand: { ...SAND, dry: '#dccba4', wet: '#cbb78b' },
    grass: { lip: '#837a52', meadow: '#a5a568', sunny: '#b1b074', lush: '#98925f', tuft: '#7f7a4a',
      tuftLight: '#c2c088', floor: '#939659', leaf: '#a56fa0' },
    rock: { ...ROCK, moss: '#9a7f96' },
    plateau: { top: '#b9b592', light: '#c5c2a1', crack: '#a19e7c', moss: '#9a7f96' }, petals: ['#b565a7', '#c884bb', '#9a5a9d', '#d9a0cf'],
    butterflies: ['#9db4ff', '#c6a4ff', '#e6eaff', '#7f9cf0'],
  },
  { // marsh
    water: { deep: '#2f6a78', slope: '#3a7a83', water: '#4a8c8d', shallow: '#6ca79d', foam: '#b9d8c4',
      pad: '#7fb05e' },
    sand: { bank: '#7d7350', wet: '#9c946b', dry: '#aca77b', light: '#bdb88c', grain: '#8f8862' },
    grass: { lip: '#587a4c', meadow: '#7ca069', sunny: '#88ab73', lush: '#6f945f', tuft: '#557a49',
      tuftLight: '#9bbb80', floor: '#638a58', leaf: '#4c7245' },
    rock: { ...ROCK, top: '#8e948a', light: '#a0a69a', moss: '#6f9160' },
    plateau: { top: '#a0ab8b', light: '#aeb89a', crack: '#8b9678', moss: '#6f9160' },
    petals: ['#f4f1ff', '#f7e08a', '#dff0ff', '#f7b5cd'],
    butterflies: ['#57d3c8', '#8ae6b0', '#5fb8ff', '#c8f5e6'],
  },
  { // desert
    water: { ...WATER, deep: '#2b7f9c', slope: '#3a93ab', water: '#4fabbd', shallow: '#7fc8cd' },
    sand: { bank: '#b98a58', wet: '#d9bc84', dry: '#ecd6a0', light: '#f3e2b6', grain: '#d0ae72' },
    grass: { lip: '#c79a5e', meadow: '#e6c78c', sunny: '#edd29b', lush: '#ddbb7e', tuft: '#b99a5c',
      tuftLight: '#f4e0b0', floor: '#d9b87a', leaf: '#c39d5f' },
    rock: { top: '#c98d66', light: '#d79f79', rim: '#e8b994', face: '#9c6146', faceDark: '#834e39',
      crack: '#a86f50', moss: '#c9a46c' },
    plateau: { top: '#dfb083', light: '#e8bf95', crack: '#c99a6c', moss: '#c9a46c' },
    petals: ['#fff6dc', '#ff9aa8', '#ffd166', '#ffffff'],
    butterflies: ['#fff3c4', '#ffb703', '#ffffff', '#f78c6b'],
  },
  { // snow
    water: { deep: '#3c6f96', slope: '#4f86aa', water: '#6a9fbd', shallow: '#a9cfdf', foam: '#f2fafc',
      pad: '#dcecf2' },
    sand: { bank: '#93a5b2', wet: '#c6d3da', dry: '#d9e3e8', light: '#e8eff2', grain: '#b5c4cd' },
    grass: { lip: '#bccdd8', meadow: '#e9f0f4', sunny: '#f3f7f9', lush: '#dfe9ef', tuft: '#b9cad6',
      tuftLight: '#ffffff', floor: '#d5e2ea', leaf: '#b4c7d3' },
    rock: { top: '#ccd7de', light: '#d8e1e7', rim: '#ffffff', face: '#8792a0', faceDark: '#6d7886',
      crack: '#c5d0d8', moss: '#ffffff' },
    plateau: { top: '#f0f5f8', light: '#fafcfd', crack: '#d5dfe6', moss: '#ffffff' },
    petals: ['#ffffff', '#d9ecff', '#ffffff', '#cfe3f4'],
    butterflies: ['#ffffff', '#cfe6ff', '#e6f3ff', '#bcd9ff'],
  },
];
/** The tones of paths in all regions; of rock, where nothing else is said; and of water. */
export const PATH_TONES = PATH, ROCK_TONES = ROCK, WATER_TONES = { glint: '#a9d6e6' };
export const FIELDSTONE_TONES = [{ light: '#dad8d0', top: '#b4b2aa', face: '#85837c' },
  { light: '#d5cec0', top: '#ada495', face: '#7f776b' },
  { light: '#d3d9dc', top: '#a6adb2', face: '#778087' }];
export const PLANK_TONES = { deck: '#b98a58', planks: ['#b98a58', '#c99b68', '#c19260'],
  dark: '#8a6239', rail: '#a27445', railTop: '#d9b07c' };
export const STONE_TONES = { joint: '#b5a285', stones: ['#d8c8ab', '#e0d2b8', '#cfbd9d', '#dbc6a2'],
  kerb: '#a8987c', kerbTop: '#efe6d2', blue: '#4a94bd', gold: '#e9b44c', ink: '#4d5a6b' };
/** The leaves of trees in three shades, and what else grows or lies in one region only. */
export const LEAVES = [
  { dark: '#3f7d4a', middle: '#55985a', light: '#79b86c' },
  { dark: '#47854a', middle: '#62a259', light: '#8ac270' },
  { dark: '#38725a', middle: '#4b8d68', light: '#71ae83' },
];
export const AUTUMN_LEAVES = [
  { dark: '#b0542c', middle: '#d67a38', light: '#eb9f4e' },
  { dark: '#9c3a30', middle: '#c4553f', light: '#dd7a55' },
  { dark: '#b98a2c', middle: '#dcb043', light: '#f0cf6d' },
];
export const BIRCH_LEAVES = [{ dark: '#7f9440', middle: '#a3b455', light: '#c5d178' },
  { dark: '#b3953a', middle: '#d3b650', light: '#e8d27c' }];
export const WILLOW_LEAVES = { dark: '#56784a', middle: '#7a9c60', light: '#a2bd80' };
export const SNOWY = { dark: '#8fa9b8', middle: '#cfdfe8', light: '#f8fbfd' };
export const SNOWY_PINES = [{ dark: '#3d6a62', middle: '#7fa5a0', light: '#f6fafc' },
  { dark: '#345f66', middle: '#9fbdc4', light: '#ffffff' }];
export const HEATHER = [{ dark: '#7a4a7c', middle: '#a565a3', light: '#c98dc4' },
  { dark: '#6c5a86', middle: '#9276ae', light: '#b79fd0' }];
export const GORSE = { dark: '#5c7a3c', middle: '#8b9a3e', light: '#f0cf45' };
export const CACTUS = { dark: '#3f7a52', middle: '#58986a', light: '#86bd8c' };
export const PALM = { dark: '#3f7f4c', middle: '#5c9e58', light: '#8cc46f' };
export const DRY = { dark: '#8f7443', middle: '#b2945a', light: '#cfb67c' };
export const RED_ROCK = { face: '#9c6146', light: '#c98d66', rim: '#e8b994' };
export const SNOWY_ROCK = { face: '#87929e', light: '#dde7ed', rim: '#ffffff' };
export const BLOSSOM = { dark: '#c97b93', middle: '#e7a3b5', light: '#f7c9d3' };
/** The coats of deer. */
export const COATS = [{ dark: '#7d5637', middle: '#a8754a', light: '#bd8a5c', spot: '#e6c79b' },
  { dark: '#8a5a30', middle: '#bd7f47', light: '#d2975d', spot: '#f0d3a6' },
  { dark: '#64503f', middle: '#8a705a', light: '#a08670', spot: '#d3bfa8' }];
export const TRUNK = '#7a5438', TRUNK_LIGHT = '#93694a';

/** The facets of gems, from the brightest to the darkest. The first three do not occur on any ground. */
export const GEMS = [
  { glint: '#ffd3de', light: '#ff86a2', colour: '#ef3f6b', shade: '#c4224f', dark: '#93143a' },
  { glint: '#d9f6ff', light: '#7fdcff', colour: '#1fb1f0', shade: '#1288c6', dark: '#0c6296' },
  { glint: '#eedcff', light: '#c79bfa', colour: '#9a52ea', shade: '#7434c2', dark: '#522092' },
  { glint: '#fff3c9', light: '#ffd866', colour: '#fdb515', shade: '#dd8a06', dark: '#a96203' },
];

export const SHADOW = 'rgba(32, 46, 38, 0.26)';
export const AMBER = '#ffb703';

/** The colours of the map by region and kind of ground, DEEP .. PLATEAU, as [red, green, blue]. */
export const MAP_COLOURS = TONES.map(({ water, sand, grass, rock, plateau }) =>
  [water.deep, water.water, sand.dry, grass.meadow, grass.floor, rock.top, PATH.earth, '#b98a58',
    '#efe0be', PATH.worn, plateau.top].map((colour, kind) => [1, 3, 5].map((at) =>
    // Crowns make a wood darker than its floor.
    Math.round(parseInt(colour.slice(at, at + 2), 16) * (kind === 4 ? 0.84 : 1)))));
