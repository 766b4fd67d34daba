// A world of squares on gobwas/ws. Prints its port when it listens.
//
// Every 50 ms the moves of the 3x3 squares around a square are joined into one frame, which all
// players in that square share: each of them costs one write.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"sync"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

const (
	flushEvery = 50 * time.Millisecond
	// Frames that may wait for a player; the connection of one who is slower still is closed.
	behind = 64
	// Bytes of one read. The default is 4 KiB for each player.
	readSize = 1024
)

type square struct{ column, row int }

type heard struct {
	Type        string
	Column, Row int
	X, Y        int
	Marker      string
}

type told struct {
	Type   string `json:"type"`
	ID     int    `json:"id"`
	X      int    `json:"x"`
	Y      int    `json:"y"`
	Marker string `json:"marker"`
}

// A place is who is in a square, and the moves in it since the last flush, a comma after each.
type place struct {
	players map[*player]bool
	moves   []byte
}

type player struct {
	id     int
	conn   net.Conn
	frames chan []byte
	home   *place
}

type world struct {
	sync.Mutex
	places map[square]*place
}

func (w *world) join(p *player, at square) {
	w.Lock()
	defer w.Unlock()
	if w.places[at] == nil {
		w.places[at] = &place{players: map[*player]bool{}}
	}
	p.home = w.places[at]
	p.home.players[p] = true
	p.frames <- frame([]byte(`{"type":"joined"}`))
}

func (w *world) leave(p *player) {
	w.Lock()
	defer w.Unlock()
	if p.home != nil {
		delete(p.home.players, p)
	}
	close(p.frames)
}

func (w *world) move(p *player, to heard) error {
	text, err := json.Marshal(told{"move", p.id, to.X, to.Y, to.Marker})
	w.Lock()
	defer w.Unlock()
	p.home.moves = append(append(p.home.moves, text...), ',')
	return err
}

func (w *world) flush() {
	w.Lock()
	defer w.Unlock()
	for at, here := range w.places {
		moves := w.around(at)
		if moves == nil {
			continue
		}
		for p := range here.players {
			select {
			case p.frames <- moves:
			default:
				p.conn.Close()
			}
		}
	}
	for at, here := range w.places {
		here.moves = here.moves[:0]
		if len(here.players) == 0 {
			delete(w.places, at)
		}
	}
}

// around returns the moves in the squares around one as a frame, or nil if there are none.
func (w *world) around(at square) []byte {
	joined := []byte{'['}
	for column := at.column - 1; column <= at.column+1; column++ {
		for row := at.row - 1; row <= at.row+1; row++ {
			if near := w.places[square{column, row}]; near != nil {
				joined = append(joined, near.moves...)
			}
		}
	}
	if len(joined) == 1 {
		return nil
	}
	joined[len(joined)-1] = ']'
	return frame(joined)
}

func frame(text []byte) []byte {
	return ws.MustCompileFrame(ws.NewTextFrame(text))
}

func (p *player) write() {
	defer p.conn.Close()
	for frame := range p.frames {
		if _, err := p.conn.Write(frame); err != nil {
			return
		}
	}
}

func (w *world) play(conn net.Conn, id int) {
	defer conn.Close()
	if _, err := ws.Upgrade(conn); err != nil {
		return
	}
	p := &player{id: id, conn: conn, frames: make(chan []byte, behind)}
	defer w.leave(p)
	go p.write()
	stream := struct {
		io.Reader
		io.Writer
	}{bufio.NewReaderSize(conn, readSize), conn}
	for {
		text, err := wsutil.ReadClientText(stream)
		if err != nil {
			return
		}
		var message heard
		if json.Unmarshal(text, &message) != nil {
			return
		}
		switch {
		case message.Type == "join" && p.home == nil:
			w.join(p, square{message.Column, message.Row})
		case message.Type == "move" && p.home != nil:
			if w.move(p, message) != nil {
				return
			}
		default:
			return
		}
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	w := &world{places: map[square]*place{}}
	go func() {
		for range time.Tick(flushEvery) {
			w.flush()
		}
	}()
	for id := 1; ; id++ {
		conn, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go w.play(conn, id)
	}
}
