// A world of squares on uWebSockets. Prints its port when it listens.
//
// Every 50 ms the moves of the 3x3 squares around a square are joined into one message, which is
// published to all players in that square: each of them costs one write.

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "App.h"

namespace {

constexpr int FLUSH = 50;

// Bytes that may wait for a player; the connection of one who is slower still is closed.
constexpr int BEHIND = 64 * 1024;

// A space matches any white space, or none.
constexpr auto JOIN = R"( { "type" : "join" , "column" : %d , "row" : %d })";
constexpr auto MOVE = R"( { "type" : "move" , "x" : %d , "y" : %d , "marker" : "%14[0-9~]" })";
constexpr auto TOLD = R"({"type":"move","id":%d,"x":%d,"y":%d,"marker":"%s"},)";

using Square = std::pair<int, int>;

struct Player {
  int id;
  std::optional<Square> home;
};

using Socket = uWS::WebSocket<false, true, Player>;

uWS::App *app;

// The squares with players, and the moves in each since the last flush, a comma after each.
std::map<Square, std::string> places;

std::string topic(Square at) {
  return std::to_string(at.first) + ':' + std::to_string(at.second);
}

// Returns the moves in the squares around one, or an empty text if there are none.
std::string around(Square at) {
  std::string joined = "[";
  for (int column = at.first - 1; column <= at.first + 1; column++) {
    for (int row = at.second - 1; row <= at.second + 1; row++) {
      if (auto near = places.find({column, row}); near != places.end()) joined += near->second;
    }
  }
  if (joined.size() == 1) return "";
  joined.back() = ']';
  return joined;
}

void flush(us_timer_t *) {
  for (auto &[at, _] : places) {
    if (auto moves = around(at); !moves.empty()) app->publish(topic(at), moves, uWS::TEXT);
  }
  for (auto &[at, moves] : places) moves.clear();
  std::erase_if(places, [](auto &place) { return !app->numSubscribers(topic(place.first)); });
}

void hear(Socket *socket, std::string_view message, uWS::OpCode) {
  std::string text(message);
  auto &[id, home] = *socket->getUserData();
  int column, row, x, y;
  char marker[15], told[128];
  if (!home && sscanf(text.c_str(), JOIN, &column, &row) == 2) {
    home = {column, row};
    places[*home];
    socket->subscribe(topic(*home));
    socket->send(R"({"type":"joined"})", uWS::TEXT);
  } else if (home && sscanf(text.c_str(), MOVE, &x, &y, marker) == 3) {
    snprintf(told, sizeof told, TOLD, id, x, y, marker);
    places[*home] += told;
  } else {
    socket->close();
  }
}

}  // namespace

int main() {
  uWS::App server;
  app = &server;
  int players = 0;
  server.ws<Player>("/*", {
    .maxBackpressure = BEHIND,
    .closeOnBackpressureLimit = true,
    .open = [&](Socket *socket) { socket->getUserData()->id = ++players; },
    .message = hear,
  });
  server.listen("127.0.0.1", 0, [](us_listen_socket_t *listening) {
    if (listening) printf("%d\n", us_socket_local_port(0, (us_socket_t *)listening));
    fflush(stdout);
  });
  us_timer_set(us_create_timer((us_loop_t *)uWS::Loop::get(), 0, 0), flush, FLUSH, FLUSH);
  server.run();
}
