// The colours of the land. They are few and flat: two or three shades each.

export const WATER_TONES = { deep: '#2f6f9f', slope: '#3b80ad', water: '#4a94bd',
  shallow: '#6fb2d0', foam: '#d6edf0', glint: '#a9d6e6' };
export const SAND_TONES = { bank: '#b9996a', wet: '#d9c48f', dry: '#e6d3a3', light: '#efe0b8',
  grain: '#cdb483' };
export const GRASS_TONES = { lip: '#6fa253', meadow: '#8fbf6a', sunny: '#9bc976', lush: '#85b662',
  tuft: '#6c9f50', tuftLight: '#a9d384' };
export const WOOD_TONES = { floor: '#79ad5c', under: '#6c9f54', leaf: '#5f914b' };
export const PATH_TONES = { edge: '#b3976c', earth: '#cdb48a', worn: '#d9c39c', pebble: '#b59b72' };
export const ROCK_TONES = { top: '#9a9a94', light: '#adada6', rim: '#c3c3bb', face: '#74746f',
  faceDark: '#5f5f5c', crack: '#84847e', moss: '#8a9c74' };
export const CAIRN_TONES = [{ light: '#dad8d0', top: '#b4b2aa', face: '#85837c' },
  { light: '#d5cec0', top: '#ada495', face: '#7f776b' },
  { light: '#d3d9dc', top: '#a6adb2', face: '#778087' }];
export const PLANK_TONES = { deck: '#b98a58', planks: ['#b98a58', '#c99b68', '#c19260'],
  dark: '#8a6239', rail: '#a27445', railTop: '#d9b07c' };
export const STONE_TONES = { joint: '#b5a285', stones: ['#d8c8ab', '#e0d2b8', '#cfbd9d', '#dbc6a2'],
  kerb: '#a8987c', kerbTop: '#efe6d2', blue: '#4a94bd', gold: '#e9b44c', ink: '#4d5a6b' };
export const LEAVES = [
  { dark: '#3f7d4a', middle: '#55985a', light: '#79b86c' },
  { dark: '#47854a', middle: '#62a259', light: '#8ac270' },
  { dark: '#38725a', middle: '#4b8d68', light: '#71ae83' },
];
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

/** Colours of the minimap by kind of ground, DEEP .. PLAZA, as [red, green, blue]. */
export const MAP_COLOURS = [[47, 111, 159], [74, 148, 189], [230, 211, 163], [143, 191, 106],
  [96, 150, 84], [154, 154, 148], [205, 180, 138], [185, 138, 88], [239, 224, 190]];
