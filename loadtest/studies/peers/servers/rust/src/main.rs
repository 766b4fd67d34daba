//! A world of squares on tokio-tungstenite, in one thread. Prints its port when it listens.
//!
//! Every 50 ms the moves of the 3x3 squares around a square are joined into one message, which all
//! players in that square share: each of them costs one write.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{channel, Sender};
use tokio::time::MissedTickBehavior;
use tokio_tungstenite::accept_async_with_config;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

const FLUSH: Duration = Duration::from_millis(50);

/// Flushes that may wait for a player; the connection of one who is slower still is closed.
const BEHIND: usize = 64;

/// Bytes of one read. The default is 128 KiB for each player.
const READ: usize = 1024;

type Square = (i32, i32);

#[derive(Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Said {
    Join {
        column: i32,
        row: i32,
    },
    Joined,
    Move {
        #[serde(default)]
        id: u32,
        x: i32,
        y: i32,
        marker: String,
    },
}

/// Who is in a square, and the moves in it since the last flush, each followed by a comma.
#[derive(Default)]
struct Place {
    players: HashMap<u32, Sender<Utf8Bytes>>,
    moves: String,
}

#[derive(Default)]
struct World(HashMap<Square, Place>);

impl World {
    fn join(&mut self, at: Square, id: u32, player: Sender<Utf8Bytes>) {
        self.0.entry(at).or_default().players.insert(id, player);
    }

    fn leave(&mut self, at: Square, id: u32) {
        if let Some(place) = self.0.get_mut(&at) {
            place.players.remove(&id);
        }
    }

    fn tell(&mut self, at: Square, told: &Said) {
        if let Some(place) = self.0.get_mut(&at) {
            place.moves.push_str(&json(told));
            place.moves.push(',');
        }
    }

    fn flush(&mut self) {
        let squares: Vec<Square> = self.0.keys().copied().collect();
        let heard: Vec<Option<Utf8Bytes>> = squares.iter().map(|at| self.around(*at)).collect();
        for (at, moves) in squares.into_iter().zip(heard) {
            let place = self.0.get_mut(&at).unwrap();
            place.moves.clear();
            if let Some(moves) = moves {
                place
                    .players
                    .retain(|_, player| player.try_send(moves.clone()).is_ok());
            }
        }
        self.0.retain(|_, place| !place.players.is_empty());
    }

    fn around(&self, (column, row): Square) -> Option<Utf8Bytes> {
        let mut joined = String::from("[");
        for x in column - 1..=column + 1 {
            for y in row - 1..=row + 1 {
                joined.extend(self.0.get(&(x, y)).map(|place| place.moves.as_str()));
            }
        }
        joined.pop().filter(|last| *last == ',')?;
        joined.push(']');
        Some(joined.into())
    }
}

async fn play(stream: TcpStream, id: u32, world: Arc<Mutex<World>>) {
    let mut home = None;
    // However the connection ended, its player leaves.
    let _ = talk(stream, id, &mut home, &world).await;
    if let Some(at) = home {
        world.lock().unwrap().leave(at, id);
    }
}

async fn talk(
    stream: TcpStream,
    id: u32,
    home: &mut Option<Square>,
    world: &Mutex<World>,
) -> Result<(), Error> {
    stream.set_nodelay(true)?;
    let config = WebSocketConfig::default().read_buffer_size(READ);
    let mut socket = accept_async_with_config(stream, Some(config)).await?;
    let (sender, mut flushes) = channel(BEHIND);
    let mut sender = Some(sender);
    loop {
        tokio::select! {
            flush = flushes.recv() => match flush {
                Some(moves) => socket.send(Message::Text(moves)).await?,
                None => return Ok(()),
            },
            message = socket.next() => {
                let text = match message {
                    Some(Ok(Message::Text(text))) => text,
                    Some(Ok(_)) => continue,
                    Some(Err(error)) => return Err(error),
                    None => return Ok(()),
                };
                match (serde_json::from_str(&text), *home, sender.take()) {
                    (Ok(Said::Join { column, row }), None, Some(sender)) => {
                        let at = *home.insert((column, row));
                        world.lock().unwrap().join(at, id, sender);
                        socket.send(Message::text(json(&Said::Joined))).await?;
                    }
                    (Ok(Said::Move { x, y, marker, .. }), Some(at), None) => {
                        world.lock().unwrap().tell(at, &Said::Move { id, x, y, marker });
                    }
                    _ => return Ok(()),
                }
            }
        }
    }
}

fn json(said: &Said) -> String {
    serde_json::to_string(said).unwrap()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let world = Arc::new(Mutex::new(World::default()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    let flushed = world.clone();
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(FLUSH);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            flushed.lock().unwrap().flush();
        }
    });
    for id in 1.. {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(play(stream, id, world.clone()));
    }
    Ok(())
}
