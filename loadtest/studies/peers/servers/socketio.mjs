// A world of squares on Socket.IO: a room for each square. Prints its port when it listens.

import { createServer } from "node:http";
import { Server } from "socket.io";

const http = createServer();
const io = new Server(http, {
  transports: ["websocket"],
  perMessageDeflate: false,
  serveClient: false,
});

io.on("connection", (socket) => {
  let square;

  socket.on("join", (column, row) => {
    square = `${column}:${row}`;
    for (let x = column - 1; x <= column + 1; x++) {
      for (let y = row - 1; y <= row + 1; y++) socket.join(`${x}:${y}`);
    }
    socket.emit("joined");
  });

  socket.on("move", (x, y, marker) => {
    io.to(square).emit("move", socket.id, x, y, marker);
  });
});

http.listen(0, "127.0.0.1", () => console.log(http.address().port));
