package main

import (
	"bufio"
	"context"
	"net"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/transport"
)

// buffered is TCP with buffers. By itself go-zeromq makes two system calls for every frame, where
// libzmq lets them go together; this does the same from outside.
const (
	buffered   = "buffered"
	bufferSize = 1 << 16
)

func init() {
	if err := zmq4.RegisterTransport(buffered, bufferedTransport{transport.New("tcp")}); err != nil {
		panic(err)
	}
}

type bufferedTransport struct{ transport.Transport }

func (t bufferedTransport) Dial(
	ctx context.Context, dialer transport.Dialer, address string,
) (net.Conn, error) {
	plain, err := t.Transport.Dial(ctx, dialer, address)
	if err != nil {
		return nil, err
	}
	return withBuffers(plain), nil
}

func (t bufferedTransport) Listen(ctx context.Context, address string) (net.Listener, error) {
	plain, err := t.Transport.Listen(ctx, address)
	if err != nil {
		return nil, err
	}
	return bufferedListener{plain}, nil
}

type bufferedListener struct{ net.Listener }

func (l bufferedListener) Accept() (net.Conn, error) {
	plain, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return withBuffers(plain), nil
}

func withBuffers(plain net.Conn) net.Conn {
	conn := &bufferedConn{
		Conn:   plain,
		reader: bufio.NewReaderSize(plain, bufferSize),
		writer: bufio.NewWriterSize(plain, bufferSize),
	}
	go conn.flush()
	return conn
}

// bufferedConn sends what was written when its buffer is full and every flushEvery.
type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
	guard  sync.Mutex
	writer *bufio.Writer
}

func (c *bufferedConn) Read(data []byte) (int, error) { return c.reader.Read(data) }

func (c *bufferedConn) Write(data []byte) (int, error) {
	c.guard.Lock()
	defer c.guard.Unlock()
	return c.writer.Write(data)
}

// flush ends with the connection: a writer's error stays, and the next Write returns it too.
func (c *bufferedConn) flush() {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for range ticker.C {
		c.guard.Lock()
		err := c.writer.Flush()
		c.guard.Unlock()
		if err != nil {
			return
		}
	}
}
