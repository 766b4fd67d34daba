package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zeromq/zmq4"
)

// What passes between brokers and forwarder is written down in brokers/zeromq/wire.py: one frame
// of kind, channel, NUL, payload, trailer. A frame that ends with its NUL is the mark of a loss.
const (
	message     = '='
	probe       = '?'
	overflow    = "!\x00"
	trailerSize = 8 + 4 + 8
	epoch       = 1
	probeEvery  = time.Second
)

// zeromqClient keeps one link for as long as it lasts.
type zeromqClient struct {
	push, sub zmq4.Socket
	id        [8]byte
	// guard is held to send: the messages of two goroutines must not overtake their own times.
	guard   sync.Mutex
	dropped int64
	gaps    int64
	// overflows is the forwarder's newest number of them, -1 before it is known; Receive's alone.
	overflows int64
	failed    failure
}

func openZeroMQ(address *url.URL) (Client, error) {
	pull := address.Port()
	if pull == "" {
		pull = "5561"
	}
	number, err := strconv.Atoi(pull)
	if err != nil {
		return nil, err
	}
	pub := address.Query().Get("pub")
	if pub == "" {
		pub = strconv.Itoa(number + 1)
	}
	alive := context.Background()
	client := &zeromqClient{
		// Whatever is sent must wait for as long as the forwarder does not take it.
		push:      zmq4.NewPush(alive, zmq4.WithTimeout(time.Hour)),
		sub:       zmq4.NewSub(alive),
		overflows: -1,
	}
	if _, err := rand.Read(client.id[:]); err != nil {
		return nil, err
	}
	for socket, port := range map[zmq4.Socket]string{client.push: pull, client.sub: pub} {
		where := fmt.Sprintf("%s://%s", buffered, net.JoinHostPort(address.Hostname(), port))
		if err := socket.Dial(where); err != nil {
			return nil, err
		}
	}
	if err := client.sub.SetOption(zmq4.OptionSubscribe, overflow); err != nil {
		return nil, err
	}
	// The forwarder refuses what comes on a link before its first probe.
	if err := client.probe(); err != nil {
		return nil, err
	}
	go client.keepProbing()
	return client, nil
}

func (c *zeromqClient) probe() error {
	name := fmt.Sprintf("%s %d", hex.EncodeToString(c.id[:]), epoch)
	return c.send(probe, name, nil)
}

// keepProbing shows on both connections that we are alive. The forwarder's pings, which a socket of
// libzmq answers by itself, go-zeromq takes for messages; but whatever is sent is a sign of life,
// and to leave a topic that was never entered is the least that a subscriber can send.
func (c *zeromqClient) keepProbing() {
	for range time.Tick(probeEvery) {
		if c.probe() != nil {
			return
		}
		if err := c.sub.SetOption(zmq4.OptionUnsubscribe, "alive"); err != nil {
			c.failed.note(err)
			return
		}
	}
}

func (c *zeromqClient) send(kind byte, channel string, payload []byte) error {
	c.guard.Lock()
	defer c.guard.Unlock()
	frame := make([]byte, 0, len(channel)+len(payload)+trailerSize+2)
	frame = append(frame, kind)
	frame = append(frame, channel...)
	frame = append(frame, 0)
	frame = append(frame, payload...)
	frame = append(frame, c.id[:]...)
	var rest [12]byte
	binary.LittleEndian.PutUint32(rest[:], epoch)
	binary.LittleEndian.PutUint64(rest[4:], math.Float64bits(float64(clock())/float64(second)))
	if err := c.push.Send(zmq4.NewMsg(append(frame, rest[:]...))); err != nil {
		return c.failed.note(err)
	}
	return nil
}

func (c *zeromqClient) Publish(channel string, payload []byte) error {
	return c.send(message, channel, payload)
}

func (c *zeromqClient) Subscribe(channels []string) error {
	for _, channel := range channels {
		topic := string(rune(message)) + channel + "\x00"
		if err := c.sub.SetOption(zmq4.OptionSubscribe, topic); err != nil {
			return c.failed.note(err)
		}
	}
	return nil
}

func (c *zeromqClient) Receive() ([]byte, error) {
	for {
		received, err := c.sub.Recv()
		if err != nil {
			return nil, c.failed.note(err)
		}
		if received.Type == zmq4.CmdMsg {
			continue
		}
		frame := received.Bytes()
		end := bytes.IndexByte(frame, 0) + 1
		switch {
		case string(frame[:end]) == overflow:
			c.hearOfOverflow(frame[end:])
		case end == 0:
			// Nobody of ours sent this.
		case end == len(frame):
			atomic.AddInt64(&c.dropped, 1)
			atomic.AddInt64(&c.gaps, 1)
		case len(frame) >= end+trailerSize:
			return frame[end : len(frame)-trailerSize], nil
		}
	}
}

// hearOfOverflow learns from the forwarder's number whether one passed by here.
func (c *zeromqClient) hearOfOverflow(body []byte) {
	if len(body) != 9 {
		return
	}
	number := int64(binary.LittleEndian.Uint64(body[1:]))
	known := number
	if body[0] != 0 {
		known--
	}
	if c.overflows >= 0 && c.overflows != known {
		atomic.AddInt64(&c.dropped, 1)
		atomic.AddInt64(&c.gaps, 1)
	}
	c.overflows = number
}

func (c *zeromqClient) Dropped() int64 { return atomic.LoadInt64(&c.dropped) }

func (c *zeromqClient) Gaps() int64 { return atomic.LoadInt64(&c.gaps) }

func (c *zeromqClient) Cuts() int64 { return 0 }

func (c *zeromqClient) Err() error { return c.failed.note(nil) }
