//go:build system && linux

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"io"
	"net"
	"sync"
)

// webhook is where the extension listens by default.
const webhook = "127.0.0.1:10250"

// wire is between the kube-apiserver and the webhook, and can be cut.
type wire struct {
	listener net.Listener
	lock     sync.Mutex
	open     map[net.Conn]bool
}

func newWire() (*wire, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &wire{listener: listener, open: map[net.Conn]bool{}}
	go w.accept()
	return w, nil
}

func (w *wire) address() string { return w.listener.Addr().String() }

func (w *wire) accept() {
	for {
		from, err := w.listener.Accept()
		if err != nil {
			return
		}
		go w.carry(from)
	}
}

// carry joins a connection with one to the webhook. When either ends, so does the other.
func (w *wire) carry(from net.Conn) {
	to, err := net.Dial("tcp", webhook)
	if err != nil {
		_ = from.Close()
		return
	}
	w.note(from, to)
	go func() {
		_, _ = io.Copy(to, from)
		w.forget(from, to)
	}()
	_, _ = io.Copy(from, to)
	w.forget(from, to)
}

func (w *wire) note(connections ...net.Conn) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, c := range connections {
		w.open[c] = true
	}
}

func (w *wire) forget(connections ...net.Conn) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, c := range connections {
		_ = c.Close()
		delete(w.open, c)
	}
}

// cut ends all connections that are open.
func (w *wire) cut() {
	w.lock.Lock()
	defer w.lock.Unlock()
	for c := range w.open {
		_ = c.Close()
	}
}
