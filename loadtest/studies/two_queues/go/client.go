package main

import (
	"fmt"
	"net/url"
	"time"
)

// flushEvery is how long a message may wait for others to go with it. The article had 200 ms, which
// a game could not bear; at full throttle buffers fill much faster, and it makes no difference.
const flushEvery = time.Millisecond

// Client is what a publisher or a subscriber needs of a broker. Publish may wait, Receive does.
// One goroutine may publish while another receives.
type Client interface {
	Publish(channel string, payload []byte) error
	Subscribe(channels []string) error
	Receive() ([]byte, error)
	// Dropped counts messages of ours that are known to be lost, Gaps how often some number of
	// them was, Cuts how often a connection was lost and made again.
	Dropped() int64
	Gaps() int64
	Cuts() int64
	// Err returns why the client does not work any more, if so.
	Err() error
}

// Open returns the client of a URL, connected.
func Open(address string) (Client, error) {
	parts, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	switch parts.Scheme {
	case "redis", "rediss":
		return openRedis(address)
	case "zeromq":
		return openZeroMQ(parts)
	}
	return nil, fmt.Errorf("the worker in Go knows redis://, rediss:// and zeromq://, not %s://", parts.Scheme)
}
