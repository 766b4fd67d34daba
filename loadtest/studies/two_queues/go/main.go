// A process of the benchmark, in Go: the same worker as loadtest/studies/two_queues/worker.py, which says how
// it talks with its parent. It publishes or hears, and never does anything about trouble but tell.
// With the arguments `broker PULL PUB` it is the broker in broker.go.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stampSize is the bytes of a stamp: when it was sent (8), by whom (2), run (2), number (8).
	stampSize = 20
	// hello is the publisher of those messages by which a subscriber proves that it hears.
	hello = 0xFFFF
	// burst is how many messages are published between two looks at what is due.
	burst = 64
	// choices are the channels that a publisher chooses beforehand.
	choices = 8192

	second     = int64(time.Second)
	pace       = 500 * time.Microsecond
	look       = 20 * time.Millisecond
	helloEvery = 250 * time.Millisecond
	helloLimit = 15 * time.Second
	quietLimit = 1500 * time.Millisecond
	drainLimit = 15 * time.Second
)

// Configuration is what the parent says in the one argument.
type Configuration struct {
	URL         string `json:"url"`
	Publishers  []int  `json:"publishers"`
	Subscribers []int  `json:"subscribers"`
	Clients     int    `json:"clients"`
	Run         uint16 `json:"run"`
	Channels    int    `json:"channels"`
	Size        int    `json:"size"`
	Rate        int64  `json:"rate"`
}

// Said is any line of the parent's.
type Said struct {
	Begin int64   `json:"begin"`
	Start int64   `json:"start"`
	Stop  int64   `json:"stop"`
	Sent  []int64 `json:"sent"`
}

// What a publisher says when it stops, and after the end.
type sending struct {
	Sent    int64 `json:"sent"`
	Refused int64 `json:"refused"`
	Counted int64 `json:"counted"`
}
type since struct {
	Dropped int64 `json:"dropped"`
	Cuts    int64 `json:"cuts"`
}

// zero is the time on CLOCK_MONOTONIC at which began was taken. What Go's own clock counts from is
// its secret, but it is the same clock, and reading it needs no system call.
var (
	began = time.Now()
	zero  = monotonic()
)

func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

func clock() int64 { return zero + int64(time.Since(began)) }

func sleepUntil(then int64) { time.Sleep(time.Duration(then - clock())) }

func tell(what interface{}) error { return json.NewEncoder(os.Stdout).Encode(what) }

// hearParent returns what the parent says, line by line. Without a parent there is no worker.
func hearParent() <-chan Said {
	lines := make(chan Said, 2)
	go func() {
		input := bufio.NewScanner(os.Stdin)
		input.Buffer(nil, 1<<20)
		for input.Scan() {
			var said Said
			if err := json.Unmarshal(input.Bytes(), &said); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			lines <- said
		}
		os.Exit(1)
	}()
	return lines
}

func stamp(payload []byte, sent int64, publisher, run uint16, number uint64) {
	binary.LittleEndian.PutUint64(payload, uint64(sent))
	binary.LittleEndian.PutUint16(payload[8:], publisher)
	binary.LittleEndian.PutUint16(payload[10:], run)
	binary.LittleEndian.PutUint64(payload[12:], number)
}

// publish sends messages from begin to stop to random channels: as many as are taken, or Rate a
// second. It returns how many, and how many of those from start on.
func publish(client Client, told Configuration, when Said) (sending, error) {
	random := rand.New(rand.NewSource(clock()))
	channels := make([]string, choices)
	for i := range channels {
		channels[i] = strconv.Itoa(random.Intn(told.Channels))
	}
	payload := make([]byte, told.Size)
	var sent, before int64
	counting := false
	sleepUntil(when.Begin)
	for {
		now := clock()
		if !counting && now >= when.Start {
			counting, before = true, sent
		}
		if now >= when.Stop {
			return sending{Sent: sent, Counted: sent - before}, nil
		}
		due := int64(burst)
		if told.Rate > 0 {
			due = (now-when.Begin)*told.Rate/second - sent
			if due <= 0 {
				time.Sleep(pace)
				continue
			}
		}
		for ; due > 0; due-- {
			at := clock()
			if told.Rate > 0 {
				at = when.Begin + (sent+1)*second/told.Rate
			}
			stamp(payload, at, uint16(told.Publishers[0]), told.Run, uint64(sent))
			if err := client.Publish(channels[sent%choices], payload); err != nil {
				return sending{}, err
			}
			sent++
		}
	}
}

// prove subscribes to all channels, and returns when a message of our own came back on each.
func prove(client Client, told Configuration, payloads <-chan []byte) error {
	unheard := map[uint64]bool{}
	var channels []string
	for i := 0; i < told.Channels; i++ {
		unheard[uint64(i)] = true
		channels = append(channels, strconv.Itoa(i))
	}
	if err := client.Subscribe(channels); err != nil {
		return err
	}
	own := uint64(told.Subscribers[0])
	again, deadline := time.NewTicker(helloEvery), time.After(helloLimit)
	defer again.Stop()
	greet := func() error {
		payload := make([]byte, told.Size)
		for channel := range unheard {
			stamp(payload, clock(), hello, told.Run, own<<32|channel)
			if err := client.Publish(strconv.FormatUint(channel, 10), payload); err != nil {
				return err
			}
		}
		return nil
	}
	if err := greet(); err != nil {
		return err
	}
	for len(unheard) > 0 {
		select {
		case payload := <-payloads:
			if len(payload) != told.Size {
				continue
			}
			number := binary.LittleEndian.Uint64(payload[12:])
			if binary.LittleEndian.Uint16(payload[8:]) == hello &&
				binary.LittleEndian.Uint16(payload[10:]) == told.Run && number>>32 == own {
				delete(unheard, number&0xFFFFFFFF)
			}
		case <-again.C:
			if err := greet(); err != nil {
				return err
			}
		case <-deadline:
			return fmt.Errorf("nothing comes back on %d of %d channels", len(unheard), told.Channels)
		}
	}
	return nil
}

// hear counts until nothing more can come, and returns the report. Who still gets something after
// drainLimit is unfinished.
func hear(tally *Tally, mutex *sync.Mutex, parent <-chan Said) map[string]interface{} {
	said := <-parent
	deadline := time.Now().Add(drainLimit)
	quiet, last, unfinished := time.Now(), int64(-1), false
	for {
		mutex.Lock()
		received, missing := tally.received, tally.missing(said.Sent)
		mutex.Unlock()
		if received != last {
			quiet, last = time.Now(), received
		}
		unfinished = time.Now().After(deadline)
		if missing == 0 || time.Since(quiet) > quietLimit || unfinished {
			break
		}
		time.Sleep(look)
	}
	mutex.Lock()
	defer mutex.Unlock()
	report := tally.report(said.Sent)
	report["unfinished"] = unfinished
	return report
}

func work(told Configuration) error {
	parent := hearParent()
	client, err := Open(told.URL)
	if err != nil {
		return err
	}
	if len(told.Publishers) == 1 {
		if err := tell(map[string]bool{"ready": true}); err != nil {
			return err
		}
		sent, err := publish(client, told, <-parent)
		if err != nil {
			return err
		}
		if err := tell(map[string]interface{}{"publishers": []sending{sent}}); err != nil {
			return err
		}
		<-parent
		if err := client.Err(); err != nil {
			return err
		}
		return tell(map[string]interface{}{"publishers": []since{{}}, "subscribers": []int{}})
	}
	// Those that come before the start are hellos; then they are counted where they are received.
	payloads := make(chan []byte, 1024)
	var mutex sync.Mutex
	var tally *Tally
	go func() {
		for {
			payload, err := client.Receive()
			if err != nil {
				return
			}
			mutex.Lock()
			counted := tally
			if counted != nil {
				counted.add(payload, clock())
			}
			mutex.Unlock()
			if counted == nil {
				payloads <- payload
			}
		}
	}()
	if err := prove(client, told, payloads); err != nil {
		return err
	}
	if err := tell(map[string]bool{"ready": true}); err != nil {
		return err
	}
	// Others may still be greeting, and nobody may be kept waiting by what nobody reads.
	go func() {
		for range payloads {
		}
	}()
	when := <-parent
	mutex.Lock()
	tally = newTally(told, when)
	mutex.Unlock()
	before := client.Dropped()
	heard := hear(tally, &mutex, parent)
	if err := client.Err(); err != nil {
		return err
	}
	heard["dropped"], heard["cuts"], heard["resets"] = client.Dropped()-before, client.Cuts(), client.Gaps()
	return tell(map[string]interface{}{
		"publishers":  []since{},
		"subscribers": []map[string]interface{}{heard},
	})
}

// sentence returns an error as the user shall read it, without the password of the URL.
func sentence(told Configuration, err error) string {
	where := told.URL[strings.LastIndex(told.URL, "@")+1:]
	if errors.Is(err, io.EOF) {
		return where + ": the broker ended the connection of a client in Go"
	}
	return fmt.Sprintf("%s: %v", where, err)
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == "broker" {
		fmt.Fprintln(os.Stderr, forward(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	var told Configuration
	if len(os.Args) != 2 || json.Unmarshal([]byte(os.Args[1]), &told) != nil ||
		len(told.Publishers)+len(told.Subscribers) != 1 || told.Size < stampSize {
		fmt.Fprintln(os.Stderr, "one argument is needed: the configuration of one publisher or subscriber")
		os.Exit(2)
	}
	if err := work(told); err != nil {
		// Where this cannot be told either, the exit status tells.
		_ = tell(map[string]string{"trouble": sentence(told, err)})
		os.Exit(1)
	}
	// That a worker ends is trouble: the parent ends this one.
	select {}
}
