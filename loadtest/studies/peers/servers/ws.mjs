// A world of squares on ws, by hand: a set of sockets for each square. Prints its port when it
// listens.

import { WebSocketServer } from "ws";

const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
const subscribers = new Map();
let players = 0;

function subscribe(socket, square) {
  if (!subscribers.has(square)) subscribers.set(square, new Set());
  subscribers.get(square).add(socket);
}

function unsubscribe(socket, square) {
  const sockets = subscribers.get(square);
  sockets.delete(socket);
  if (sockets.size === 0) subscribers.delete(square);
}

server.on("connection", (socket) => {
  const id = ++players;
  const held = [];
  let square;

  socket.on("message", (data) => {
    const message = JSON.parse(data);
    if (message.type === "move") {
      const { x, y, marker } = message;
      // Encoded once, as a Buffer: a string would be made into one for each recipient.
      const told = Buffer.from(JSON.stringify({ type: "move", id, x, y, marker }));
      for (const other of subscribers.get(square)) other.send(told, { binary: false });
    } else if (message.type === "join") {
      const { column, row } = message;
      square = `${column}:${row}`;
      for (let x = column - 1; x <= column + 1; x++) {
        for (let y = row - 1; y <= row + 1; y++) held.push(`${x}:${y}`);
      }
      for (const each of held) subscribe(socket, each);
      socket.send(JSON.stringify({ type: "joined" }));
    }
  });

  socket.on("close", () => {
    for (const each of held) unsubscribe(socket, each);
  });
});

server.on("listening", () => console.log(server.address().port));
