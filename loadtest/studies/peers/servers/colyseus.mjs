// A world of squares on Colyseus: one room, whose state each player sees through a StateView of the
// 3x3 squares around its own. Prints its port when it listens.
//
// With --shared-views all players of a square have one view, which is then encoded once for all of
// them. It is faster, and fits only a world in which nobody leaves their square: what a view gains
// or loses is told to all who have it.

import { createServer } from "node:http";
import { Room, Server } from "@colyseus/core";
import { StateView, schema } from "@colyseus/schema";
import { WebSocketTransport } from "@colyseus/ws-transport";

const SHARED = process.argv.includes("--shared-views");

const Player = schema({ x: "int32", y: "int32", marker: "string" }, "Player");
const World = schema({ players: { map: Player, view: true } }, "World");

class Squares extends Room {
  patchRate = 50;
  state = new World();
  // Of each square, the views of those in it, and its players.
  views = new Map();
  residents = new Map();

  onCreate() {
    this.onMessage("move", (client, { x, y, marker }) => {
      Object.assign(client.userData.player, { x, y, marker });
    });
  }

  onJoin(client, { column, row }) {
    const player = new Player();
    const square = `${column}:${row}`;
    const around = [];
    for (let x = column - 1; x <= column + 1; x++) {
      for (let y = row - 1; y <= row + 1; y++) around.push(`${x}:${y}`);
    }
    const views = of(this.views, square);
    if (SHARED && views.size) [client.view] = views;
    else {
      client.view = new StateView();
      for (const each of around) {
        for (const other of of(this.residents, each)) client.view.add(other);
      }
      views.add(client.view);
    }
    client.userData = { player, square };
    this.state.players.set(client.sessionId, player);
    of(this.residents, square).add(player);
    for (const each of around) for (const view of of(this.views, each)) view.add(player);
    client.send("joined");
  }

  onLeave(client) {
    const { player, square } = client.userData;
    this.state.players.delete(client.sessionId);
    of(this.residents, square).delete(player);
    if (!SHARED) of(this.views, square).delete(client.view);
  }
}

function of(sets, square) {
  if (!sets.has(square)) sets.set(square, new Set());
  return sets.get(square);
}

const http = createServer();
const server = new Server({ greet: false, transport: new WebSocketTransport({ server: http }) });
server.define("squares", Squares);
await server.listen(0, "127.0.0.1");
console.log(http.address().port);
