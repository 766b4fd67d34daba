// A world of squares on Colyseus: one room, whose state each player sees through a StateView of the
// 3x3 squares around its own. Prints its port when it listens.

import { createServer } from "node:http";
import { Room, Server } from "@colyseus/core";
import { StateView, schema } from "@colyseus/schema";
import { WebSocketTransport } from "@colyseus/ws-transport";

const Player = schema({ x: "int32", y: "int32", marker: "string" }, "Player");
const World = schema({ players: { map: Player, view: true } }, "World");

class Squares extends Room {
  patchRate = 50;
  state = new World();
  // Everybody in a square sees the same: with one view for all of them it is encoded once.
  views = new Map();

  onCreate() {
    this.onMessage("move", (client, { x, y, marker }) => {
      Object.assign(client.userData, { x, y, marker });
    });
  }

  onJoin(client, { column, row }) {
    const player = new Player();
    player.square = [column, row];
    client.userData = player;
    client.view = this.view(column, row);
    this.state.players.set(client.sessionId, player);
    for (let x = column - 1; x <= column + 1; x++) {
      for (let y = row - 1; y <= row + 1; y++) this.views.get(`${x}:${y}`)?.add(player);
    }
    client.send("joined");
  }

  onLeave(client) {
    this.state.players.delete(client.sessionId);
  }

  view(column, row) {
    const name = `${column}:${row}`;
    if (!this.views.has(name)) {
      const view = new StateView();
      for (const player of this.state.players.values()) {
        const [x, y] = player.square;
        if (Math.abs(x - column) <= 1 && Math.abs(y - row) <= 1) view.add(player);
      }
      this.views.set(name, view);
    }
    return this.views.get(name);
  }
}

const http = createServer();
const server = new Server({ greet: false, transport: new WebSocketTransport({ server: http }) });
server.define("squares", Squares);
await server.listen(0, "127.0.0.1");
console.log(http.address().port);
