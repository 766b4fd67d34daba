// The kinds of messages and events, with the numbers of docs/protocol.md. It sends nothing.

export const SUBPROTOCOL = 'flatlands';
export const VERSION = 3;

export const FIRST_PERSON_ID = 2 ** 31;             // ids below it are those of movers

export const NAME_LIMIT = 20, TEXT_LIMIT = 120;     // characters

export const HELLO = 1, WALK = 2, GO = 3, HOME = 4, VIEWPORT = 5, SAY = 6, PING = 7,
  INVITE = 8, KEY = 10, ACK = 14, WATCH = 15, APPEAR = 33, DO = 35, TICKET = 36, ASK = 37;

export const WELCOME = 16, TOKEN = 17, HELD = 18, SNAPSHOT = 19, FLUSH = 21,
  RESYNC = 22, PONG = 23, ERROR = 24, LINK = 26,
  INVITATION = 27, THINGS = 28, TOTALS = 31,
  DOTS = 40, HOST = 44, MESSAGE = 45, CELLS = 46, MOVED = 48, ANSWER = 49;

export const EVENT_ENTER = 0, EVENT_LEAVE = 2, EVENT_GONE = 3, EVENT_SAY = 4;

export const CLOSE_NORMAL = 1000, CLOSE_RESTART = 1012, CLOSE_TRY_LATER = 1013, CLOSE_TAKEN_OVER = 4001;
