package main

import (
	"context"
	"fmt"

	"github.com/go-zeromq/zmq4"
)

// forward is a broker as the Go series of 2013 had one: it passes everything on from one port of
// loopback to another one, and counts nothing. It returns only with an error.
func forward(pull, pub string) error {
	alive := context.Background()
	receiver, sender := zmq4.NewPull(alive), zmq4.NewPub(alive)
	if err := receiver.Listen(fmt.Sprintf("%s://127.0.0.1:%s", buffered, pull)); err != nil {
		return err
	}
	if err := sender.Listen(fmt.Sprintf("%s://127.0.0.1:%s", buffered, pub)); err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		frame, err := receiver.Recv()
		if err != nil {
			return err
		}
		if err := sender.Send(frame); err != nil {
			return err
		}
	}
}
