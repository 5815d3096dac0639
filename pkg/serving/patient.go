// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net"
	"sync"
	"time"
)

// Patient is a listener whose connections set their deadlines when somebody reads or writes, and not each time that one is named: for one request, net/http
// names seven, of which three matter.
func Patient(l net.Listener) net.Listener { return patient{l} }

type patient struct{ net.Listener }

// Accept implements net.Listener.
func (l patient) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c, reads: limit{set: c.SetReadDeadline}, writes: limit{set: c.SetWriteDeadline, slack: time.Second}}, nil
}

// connection has deadlines that are set when they matter. Those of writing are up to a second late, so that answers which follow each other have the same.
type connection struct {
	net.Conn

	reads, writes limit
}

// Read implements net.Conn.
func (c *connection) Read(into []byte) (int, error) {
	if err := c.reads.begin(); err != nil {
		return 0, err
	}
	defer c.reads.end()
	return c.Conn.Read(into)
}

// Write implements net.Conn.
func (c *connection) Write(data []byte) (int, error) {
	if err := c.writes.begin(); err != nil {
		return 0, err
	}
	defer c.writes.end()
	return c.Conn.Write(data)
}

// SetDeadline implements net.Conn.
func (c *connection) SetDeadline(at time.Time) error {
	if err := c.reads.name(at); err != nil {
		return err
	}
	return c.writes.name(at)
}

// SetReadDeadline implements net.Conn.
func (c *connection) SetReadDeadline(at time.Time) error { return c.reads.name(at) }

// SetWriteDeadline implements net.Conn.
func (c *connection) SetWriteDeadline(at time.Time) error { return c.writes.name(at) }

// limit is a deadline of one direction: the one that was named last, and the one that is set. The zero time is none.
type limit struct {
	set func(time.Time) error
	// slack is how much later than it was named it may be set.
	slack time.Duration

	lock          sync.Mutex
	named, actual time.Time
	// busy are how many read, or write.
	busy int
}

// name names a deadline. It counts at once for those who read or write.
func (l *limit) name(at time.Time) error {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.named = at
	if l.busy == 0 {
		return nil
	}
	return l.apply()
}

// begin sets what was named; whoever begins must end.
func (l *limit) begin() error {
	l.lock.Lock()
	defer l.lock.Unlock()
	if err := l.apply(); err != nil {
		return err
	}
	l.busy++
	return nil
}

func (l *limit) end() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.busy--
}

// apply sets the deadline, unless the one that is set does.
func (l *limit) apply() error {
	at := l.named
	if at.Equal(l.actual) {
		return nil
	}
	if l.slack > 0 && !at.IsZero() && time.Until(at) > 0 {
		if later := l.actual.Sub(at); !l.actual.IsZero() && later >= 0 && later <= l.slack {
			return nil
		}
		at = at.Add(l.slack)
	}
	if err := l.set(at); err != nil {
		return err
	}
	l.actual = at
	return nil
}
