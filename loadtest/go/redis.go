package main

import (
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
	subscriber redis.PubSubConn
	unanswered int64
	failed     failure
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

func openRedis(address string) (Client, error) {
	publisher, err := redis.DialURL(address)
	if err != nil {
		return nil, err
	}
	subscriber, err := redis.DialURL(address)
	if err != nil {
		return nil, err
	}
	client := &redisClient{publisher: publisher, subscriber: redis.PubSubConn{Conn: subscriber}}
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
	names := make([]interface{}, len(channels))
	for i, channel := range channels {
		names[i] = channel
	}
	return c.subscriber.Subscribe(names...)
}

func (c *redisClient) Receive() ([]byte, error) {
	for {
		switch message := c.subscriber.Receive().(type) {
		case redis.Message:
			return message.Data, nil
		case error:
			return nil, c.failed.note(message)
		}
	}
}

// Redis counts for nobody what it drops; it cuts off those who are too slow, which is an error.
func (c *redisClient) Dropped() int64 { return 0 }

func (c *redisClient) Gaps() int64 { return 0 }

func (c *redisClient) Err() error { return c.failed.note(nil) }
