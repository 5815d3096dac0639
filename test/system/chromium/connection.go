// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package chromium

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// errGone means that the browser has ended.
var errGone = errors.New("the browser has ended")

// message is a command, its answer or an event. Messages end with a zero byte.
type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// connection sends commands and hands answers and events to whom they are for.
type connection struct {
	out io.Writer

	mutex   sync.Mutex
	last    int
	waiting map[int]chan message
	events  map[string]func(message)
	gone    chan struct{}
}

// connect reads messages until the browser ends.
func connect(out io.Writer, in io.Reader) *connection {
	c := &connection{out: out, waiting: map[int]chan message{}, events: map[string]func(message){},
		gone: make(chan struct{})}
	go c.read(bufio.NewReader(in))
	return c
}

func (c *connection) read(in *bufio.Reader) {
	defer close(c.gone)
	for {
		raw, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(raw[:len(raw)-1], &m); err != nil {
			continue
		}
		c.mutex.Lock()
		answer, event := c.waiting[m.ID], c.events[m.SessionID]
		delete(c.waiting, m.ID)
		c.mutex.Unlock()
		switch {
		case m.ID != 0 && answer != nil:
			answer <- m
		case m.ID == 0 && event != nil:
			event(m)
		}
	}
}

// listen calls the function for each event of a session, one after the other; it must not call the browser.
func (c *connection) listen(session string, event func(message)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.events[session] = event
}

// call sends a command and reads its answer into the result, unless that is nil.
func (c *connection) call(ctx context.Context, session, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("writing the parameters of %s: %w", method, err)
	}
	answer, err := c.send(message{SessionID: session, Method: method, Params: raw})
	if err != nil {
		return fmt.Errorf("calling %s: %w", method, err)
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("calling %s: %w", method, ctx.Err())
	case <-c.gone:
		return fmt.Errorf("calling %s: %w", method, errGone)
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("calling %s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	}
}

func (c *connection) send(m message) (<-chan message, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.last++
	m.ID = c.last
	answer := make(chan message, 1)
	c.waiting[m.ID] = answer
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	_, err = c.out.Write(append(raw, 0))
	return answer, err
}
