// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// counting is a connection that remembers which deadlines are set.
type counting struct {
	net.Conn
	reads, writes []time.Time
}

func (c *counting) SetReadDeadline(at time.Time) error {
	c.reads = append(c.reads, at)
	return c.Conn.SetReadDeadline(at)
}

func (c *counting) SetWriteDeadline(at time.Time) error {
	c.writes = append(c.writes, at)
	return c.Conn.SetWriteDeadline(at)
}

// single is a listener with one connection.
type single struct {
	net.Listener
	conn net.Conn
}

func (s single) Accept() (net.Conn, error) { return s.conn, nil }

// connected is a connection of a patient listener, what it sets, and its other end.
func connected(t *testing.T) (net.Conn, *counting, net.Conn) {
	t.Helper()
	one, other := net.Pipe()
	set := &counting{Conn: one}
	c, err := Patient(single{conn: set}).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), other.Close() })
	return c, set, other
}

// TestPatient holds that deadlines are set when somebody reads or writes, and once for answers that follow each other.
func TestPatient(t *testing.T) {
	c, set, other := connected(t)
	go func() { _, _ = io.Copy(other, other) }()
	future := time.Now().Add(time.Hour)
	for i := range 10 {
		for _, at := range []time.Time{future, {}, future.Add(time.Duration(i) * time.Millisecond)} {
			if err := errors.Join(c.SetReadDeadline(future), c.SetWriteDeadline(at)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]time.Time{future}, set.reads); diff != "" {
		t.Error("for reading:", diff)
	}
	if diff := cmp.Diff([]time.Time{future.Add(time.Second)}, set.writes); diff != "" {
		t.Error("for writing:", diff)
	}
	if err := c.SetWriteDeadline(future.Add(2 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte{1}); err != nil || len(set.writes) != 2 {
		t.Errorf("a later deadline is not set: %v, %v", set.writes, err)
	}
}

// TestPatientEnds holds that a deadline that has passed ends what begins after it, and what waits already, until another one is named.
func TestPatientEnds(t *testing.T) {
	c, _, other := connected(t)
	for about, do := range map[string]func() (int, error){
		"reading": func() (int, error) { return c.Read(make([]byte, 1)) },
		"writing": func() (int, error) { return c.Write([]byte{1}) },
	} {
		if err := c.SetDeadline(time.Now().Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := do(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", about, err)
		}
		if err := c.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := do()
			ended <- err
		}()
		if err := c.SetDeadline(time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s while it waits: %v", about, err)
		}
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = other.Write([]byte{7}) }()
	got := make([]byte, 1)
	if _, err := c.Read(got); err != nil || got[0] != 7 {
		t.Errorf("it does not read any more: %d, %v", got[0], err)
	}
}
