"""A world of squares on Flask-SocketIO: each square is a room. Prints its port when it listens."""

from gevent import monkey

monkey.patch_all()

from flask import Flask, request
from flask_socketio import SocketIO, emit, join_room
from gevent.pywsgi import WSGIServer
from geventwebsocket.handler import WebSocketHandler

app = Flask(__name__)
socketio = SocketIO(app, async_mode="gevent", transports=["websocket"])
squares = {}


@socketio.on("join")
def join(column, row):
    squares[request.sid] = f"{column}:{row}"
    for x in range(column - 1, column + 2):
        for y in range(row - 1, row + 2):
            join_room(f"{x}:{y}")
    emit("joined")


@socketio.on("move")
def move(x, y, marker):
    emit("move", (request.sid, x, y, marker), to=squares[request.sid])


@socketio.on("disconnect")
def leave(reason):
    squares.pop(request.sid, None)


if __name__ == "__main__":
    # socketio.run() does the same, but does not tell the port.
    server = WSGIServer(("127.0.0.1", 0), app, handler_class=WebSocketHandler, log=None)
    server.start()
    print(server.server_port, flush=True)
    server.serve_forever()
