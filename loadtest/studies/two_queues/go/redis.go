package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// unansweredLimit is how many messages may be sent without Redis having answered.
const unansweredLimit = 65536

// redisClient publishes into redigo's buffer, which goes out when it is full and every flushEvery.
type redisClient struct {
	// guard is held to send: redigo allows one sender and one receiver.
	guard      sync.Mutex
	publisher  redis.Conn
	unanswered int64
	failed     failure
	// The rest is for those who subscribe and receive, which is one goroutine.
	address    string
	options    []redis.DialOption
	subscriber redis.PubSubConn
	names      []interface{}
	cuts       int64
}

// failure is the first error of a client, whoever met it.
type failure struct {
	guard sync.Mutex
	err   error
}

func (f *failure) note(err error) error {
	f.guard.Lock()
	defer f.guard.Unlock()
	if f.err == nil {
		f.err = err
	}
	return f.err
}

// certificates returns which certificates of a server over TLS are accepted, by BROKER_TLS.
func certificates() ([]redis.DialOption, error) {
	which := os.Getenv("BROKER_TLS")
	if which == "" || which == "verified" {
		return nil, nil
	}
	if which == "unverified" {
		return []redis.DialOption{redis.DialTLSSkipVerify(true)}, nil
	}
	trusted, err := os.ReadFile(which)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(trusted) {
		return nil, fmt.Errorf("%s holds no certificates", which)
	}
	return []redis.DialOption{redis.DialTLSConfig(&tls.Config{RootCAs: pool})}, nil
}

func openRedis(address string) (Client, error) {
	options, err := certificates()
	if err != nil {
		return nil, err
	}
	publisher, err := redis.DialURL(address, options...)
	if err != nil {
		return nil, err
	}
	subscriber, err := redis.DialURL(address, options...)
	if err != nil {
		return nil, err
	}
	client := &redisClient{
		address:    address,
		options:    options,
		publisher:  publisher,
		subscriber: redis.PubSubConn{Conn: subscriber},
	}
	go client.flush()
	go client.answers()
	return client, nil
}

func (c *redisClient) flush() {
	for range time.Tick(flushEvery) {
		c.guard.Lock()
		err := c.publisher.Flush()
		c.guard.Unlock()
		if err != nil {
			c.failed.note(err)
			return
		}
	}
}

// answers reads what Redis answers, or its buffers would fill and it would cut us off.
func (c *redisClient) answers() {
	for {
		// Before there is anything to answer redigo would wait as well, but count that as an error.
		if atomic.LoadInt64(&c.unanswered) == 0 {
			time.Sleep(flushEvery)
			continue
		}
		if _, err := c.publisher.Receive(); err != nil {
			c.failed.note(err)
			return
		}
		atomic.AddInt64(&c.unanswered, -1)
	}
}

func (c *redisClient) Publish(channel string, payload []byte) error {
	for atomic.LoadInt64(&c.unanswered) >= unansweredLimit {
		if err := c.Err(); err != nil {
			return err
		}
		time.Sleep(pace)
	}
	c.guard.Lock()
	defer c.guard.Unlock()
	if err := c.publisher.Send("PUBLISH", channel, payload); err != nil {
		return c.failed.note(err)
	}
	atomic.AddInt64(&c.unanswered, 1)
	return nil
}

func (c *redisClient) Subscribe(channels []string) error {
	for _, channel := range channels {
		c.names = append(c.names, channel)
	}
	return c.subscriber.Subscribe(c.names...)
}

func (c *redisClient) Receive() ([]byte, error) {
	for {
		switch message := c.subscriber.Receive().(type) {
		case redis.Message:
			return message.Data, nil
		case error:
			if err := c.subscribeAgain(); err != nil {
				return nil, c.failed.note(message)
			}
		}
	}
}

// subscribeAgain makes the connection anew: Redis cuts off those who are too slow.
func (c *redisClient) subscribeAgain() error {
	c.subscriber.Close()
	again, err := redis.DialURL(c.address, c.options...)
	if err != nil {
		return err
	}
	c.subscriber = redis.PubSubConn{Conn: again}
	atomic.AddInt64(&c.cuts, 1)
	return c.subscriber.Subscribe(c.names...)
}

// Redis counts for nobody what it drops.
func (c *redisClient) Dropped() int64 { return 0 }

func (c *redisClient) Gaps() int64 { return c.Cuts() }

func (c *redisClient) Cuts() int64 { return atomic.LoadInt64(&c.cuts) }

func (c *redisClient) Err() error { return c.failed.note(nil) }
