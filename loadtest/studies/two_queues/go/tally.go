package main

import (
	"encoding/binary"
	"math"
	"strconv"
)

const (
	// numberLimit is where numbers begin that no publisher of ours has.
	numberLimit = 1_000_000_000
)

// Tally counts what one subscriber got: each message by its number. Not for two goroutines at once.
type Tally struct {
	told        Configuration
	start, stop int64
	seen        [][]bool
	distinct    []int64
	perSecond   []int64
	latency     map[int]int64
	received    int64
	foreign     int64
}

func newTally(told Configuration, when Said) *Tally {
	return &Tally{
		told:      told,
		start:     when.Start,
		stop:      when.Stop,
		seen:      make([][]bool, told.Clients),
		distinct:  make([]int64, told.Clients),
		perSecond: make([]int64, (when.Stop-when.Start+second-1)/second),
		latency:   map[int]int64{},
	}
}

// add counts a message that came at a time.
func (t *Tally) add(payload []byte, at int64) {
	if len(payload) != t.told.Size || binary.LittleEndian.Uint16(payload[10:]) != t.told.Run {
		t.foreign++
		return
	}
	publisher := int(binary.LittleEndian.Uint16(payload[8:]))
	number := binary.LittleEndian.Uint64(payload[12:])
	if publisher == hello {
		return
	}
	if publisher >= len(t.seen) || number >= numberLimit {
		t.foreign++
		return
	}
	t.received++
	seen := t.seen[publisher]
	if number >= uint64(len(seen)) {
		wider := make([]bool, 2*number+1<<16)
		copy(wider, seen)
		seen = wider
		t.seen[publisher] = seen
	}
	if !seen[number] {
		seen[number] = true
		t.distinct[publisher]++
	}
	if at >= t.start && at < t.stop {
		t.perSecond[(at-t.start)/second]++
		// Microseconds, in the classes of loadtest/kit/histogram.py.
		took := math.Max(0, float64(at-int64(binary.LittleEndian.Uint64(payload)))/1000)
		t.latency[int(math.Float32bits(float32(took))>>16)]++
	}
}

func (t *Tally) delivered(sent []int64) (each []int64, sum int64) {
	for publisher, seen := range t.seen {
		count := t.distinct[publisher]
		for number := sent[publisher]; number < int64(len(seen)); number++ {
			if seen[number] {
				count--
			}
		}
		each = append(each, count)
		sum += count
	}
	return each, sum
}

// missing returns how many of those sent have not come.
func (t *Tally) missing(sent []int64) int64 {
	_, missing := t.delivered(sent)
	missing = -missing
	for _, count := range sent {
		missing += count
	}
	return missing
}

// report returns what stamp.Tally.report of the Python worker does.
func (t *Tally) report(sent []int64) map[string]interface{} {
	delivered, sum := t.delivered(sent)
	var distinct int64
	for _, count := range t.distinct {
		distinct += count
	}
	latency := map[string]int64{}
	for bucket, count := range t.latency {
		latency[strconv.Itoa(bucket)] = count
	}
	return map[string]interface{}{
		"received":   t.received,
		"delivered":  delivered,
		"duplicates": t.received - distinct,
		"impossible": distinct - sum,
		"foreign":    t.foreign,
		"per_second": t.perSecond,
		"latency":    latency,
	}
}
