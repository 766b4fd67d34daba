/** A player as it is drawn now; (x, y) is its place in tiles. */
export interface Player {
  id: number;
  name: string;
  /** The number that it chose, or 0. */
  look: number;
  /** Whether it is this page's player. */
  own: boolean;
  x: number;
  y: number;
  /** What the game sends of it. */
  values: PlayerValues;
  /** What it said a moment ago, or null. */
  saying: string | null;
}

/** A mover that is near, as it is now. */
export type Mover<Type extends keyof Movers = keyof Movers> = {
  [Each in Type]: { type: Each; id: number; x: number; y: number; values: Movers[Each] };
}[Type];

/** A thing that lies near; (x, y) is the middle of its tile. */
export type Thing<Type extends keyof Things = keyof Things> = {
  [Each in Type]: { type: Each; id: string; x: number; y: number; values: Things[Each] };
}[Type];

/** A layer of cells. */
export interface Layer {
  /** Return the value of the tile at a place: 0 if nobody has written there, or if it is far away. */
  at(x: number, y: number): number;
  /** Call `each` for each tile near the player with a value above 0. */
  each(each: (x: number, y: number, value: number) => void): void;
}

/** What pages can be sent. */
export type Sent = null | boolean | number | string | Sent[];

/** What an action shows at once, and what takes that back if the action is refused. */
export interface Shown {
  effect: () => void;
  undo?: () => void;
}

/** A tile or a place, as two numbers. */
export type Pair = [number, number];

/** How a player joins: all may be left out. */
export interface Options {
  /** Where the game is drawn. Without it, call `game.open` and `game.advance`. */
  canvas?: HTMLCanvasElement;
  /** The width of a tile, in css px: 28. */
  tile?: number;
  /** What keys do, by their codes, such as { Space: () => game.do.jump() }. */
  keys?: Record<string, () => void>;
  /** Called for a click or touch at a place; returns true if the player is not to walk there. */
  tap?: (x: number, y: number) => boolean | void;
  /** Keys and touches turn the player along rows and columns, and it keeps walking. */
  turns?: boolean;
  /** The left, top, right and bottom edge of the field that the camera does not leave, in tiles. */
  bounds?: [number, number, number, number] | null;
  /** The radius of the body that is drawn so that it is not in walls, in tiles: 0.4. */
  body?: number;
  /** The player's name, if not the one that its window has. */
  name?: string;
  look?: number;
  /** An invitation, if the game has them. */
  near?: string | number | null;
  /** What `on_hello` of the game gets. */
  ticket?: string;
}

/** What a page can listen to. */
export interface Listen {
  /** Call a function with the fields of each message of a name. */
  message<Name extends keyof Messages>(name: Name, call: (...fields: Messages[Name]) => void): void;
  /** Call a function with the name and the fields of each message. */
  messages(call: (name: keyof Messages, fields: Messages[keyof Messages]) => void): void;
  /** Call a function with each event of a kind: its player, null if that is not near, its values, and the id of its player. */
  event<Type extends keyof Events>(type: Type, call: (player: Player | null, values: Events[Type], id: number) => void): void;
  /** Call a function with each event: its kind, its player, null if that is not near, and its values. */
  events(call: (type: keyof Events, player: Player | null, values: Events[keyof Events]) => void): void;
  /** A player has said something. */
  said(call: (player: Player | null, text: string) => void): void;
  /** What the player has asked for was refused. */
  error(call: (code: string, sentence: string) => void): void;
  /** A sentence for the player to read, or "", and whether it stays. */
  line(call: (text: string, stays: boolean) => void): void;
  /** The player plays, also each time it comes back. */
  begun(call: (welcome: unknown[]) => void): void;
  /** A message of the server was handled. */
  applied(call: (message: unknown[]) => void): void;
  /** The connection is lost, with the reason if there is one. */
  lost(call: (why: string | null) => void): void;
  /** The ms until the next attempt to connect, 0 during one. */
  waiting(call: (ms: number) => void): void;
  /** Whether an answer is overdue. */
  quiet(call: (is: boolean) => void): void;
  /** Nobody plays in this window any more, with the reason, or null if another window goes on. */
  ended(call: (sentence: string | null) => void): void;
  /** This page's player is suddenly elsewhere. */
  leapt(call: () => void): void;
  /** Keys and fingers that are held are to be obeyed again. */
  held(call: () => void): void;
  /** Another machine serves the player now. */
  moved(call: () => void): void;
  /** A frame is about to be drawn, at this node time, ms. */
  frame(call: (now: number) => void): void;
}

/** What draws the game. The functions of a page get the context of the canvas, in tiles. */
export interface Draw {
  ctx: CanvasRenderingContext2D;
  /** Draw the ground by a function that is called for each tile that can be seen. */
  ground(draw: (ctx: CanvasRenderingContext2D, x: number, y: number) => void): void;
  /** Draw the tiles of a layer with values above 0. */
  cells(name: Layers, draw: (ctx: CanvasRenderingContext2D, value: number, x: number, y: number) => void): void;
  /** Draw a kind of things around (0, 0). */
  thing<Type extends keyof Things>(type: Type, draw: (ctx: CanvasRenderingContext2D, thing: Thing<Type>) => void): void;
  /** Draw a kind of movers around (0, 0). */
  mover<Type extends keyof Movers>(type: Type, draw: (ctx: CanvasRenderingContext2D, mover: Mover<Type>) => void): void;
  /** Draw players around (0, 0). */
  player(draw: (ctx: CanvasRenderingContext2D, player: Player) => void): void;
  /** Draw something over all else, in the world's tiles, at this node time, ms. */
  over(draw: (ctx: CanvasRenderingContext2D, now: number) => void): void;
  /** Draw a disc around (0, 0). */
  disc(radius: number, colour: string, edge?: string): void;
  /** Write a text over (x, y), from the (0, 0) of what is drawn now. */
  label(text: string, x?: number, y?: number): void;
  /** Return a colour for a number, unlike those of the numbers next to it. */
  coloured(number: number): string;
  /** Return the place, in tiles, under a place on the page, in css px. */
  placeAt(x: number, y: number): number[];
}

/** The game, as its page has it. */
export interface Game {
  /** Ask for an action; returns false if it was asked for too often a moment ago. */
  do: Actions;
  on: Listen;
  /** It is there only if `join` got a canvas. */
  draw: Draw;
  /** The id of this page's player, or 0 while there is none. */
  id: number;
  /** This page's player, or null until it first appears. */
  readonly me: Player | null;
  /** All players that are near. */
  readonly players: Player[];
  /** Return a player, or null if it is not near. */
  player(id: number): Player | null;
  /** Return the movers that are near. */
  movers(): Mover[];
  /** Return the movers of a kind that are near. */
  movers<Type extends keyof Movers>(type: Type): Mover<Type>[];
  /** Return the things that lie near. */
  things(): Thing[];
  /** Return the things of a kind that lie near. */
  things<Type extends keyof Things>(type: Type): Thing<Type>[];
  /** Return a layer of cells. */
  cells(name: Layers): Layer;
  /** The ground; null where everybody can walk everywhere, and until the player plays. */
  ground: Ground;
  /** Return whether the tile at a place is known to be one that nobody can enter. */
  blocked(x: number, y: number): boolean;
  /** How players walk: "free", "straight" or "none". */
  walking: string;
  /** What players may say: 'on', 'off' or 'phrases'; and the texts of which they may say one. */
  chat: string;
  phrases: string[];
  /** The speed of this page's player, in tiles per second. */
  readonly speed: number;
  /** Node time in ms, that of the server; and world time, which is the same at all servers. */
  clock: { now(): number; world(): number };
  /** Walk in a direction, or stand still. */
  go(intent: { heading: Pair } | null): void;
  /** Walk to a place, in tiles. */
  goTo(x: number, y: number): void;
  /** Say something to everybody near. */
  say(text: string): void;
  /** Have another name, or another look, from now on. */
  appear(name: string, look?: number): void;
  /** The size of the screen, in tiles. */
  size: Pair;
  /** Begin to play on a screen of this size in tiles: for a page without a canvas, and after `ended`. */
  open(guest: Pick<Options, 'name' | 'look' | 'near' | 'ticket'>, width: number, height: number): Promise<void>;
  /** Set the size of the screen, in tiles. */
  look(width: number, height: number): void;
  /** Advance to the next frame: for a page without a canvas. */
  advance(): void;
  /** Leave the world for good: the next player in this window is a new one. */
  leave(): void;
  /** Who plays in this window. `anew` forgets this player: the next one is new. */
  identity: { name: string; anew(): void };
  /** What is said to the server when a connection is made. */
  net: { hello: { ticket?: string } };
}

/** What `line` gives a player who can walk. */
export const HINT: string;

/** Let this window's player play, and return the game. */
export function join(how?: Options): Game;
