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

// webhook is the default address of the extension.
const webhook = "127.0.0.1:10250"

// proxy forwards connections of the kube-apiserver to the webhook, and can close them.
type proxy struct {
	listener net.Listener
	lock     sync.Mutex
	open     map[net.Conn]bool
}

// newProxy starts a proxy on a free port.
func newProxy() (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, open: map[net.Conn]bool{}}
	go p.accept()
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.forward(from)
	}
}

// forward connects to the webhook and copies data until one of the connections ends. It closes both.
func (p *proxy) forward(from net.Conn) {
	to, err := net.Dial("tcp", webhook)
	if err != nil {
		_ = from.Close()
		return
	}
	p.add(from, to)
	go func() {
		_, _ = io.Copy(to, from)
		p.close(from, to)
	}()
	_, _ = io.Copy(from, to)
	p.close(from, to)
}

func (p *proxy) add(connections ...net.Conn) {
	p.lock.Lock()
	defer p.lock.Unlock()
	for _, c := range connections {
		p.open[c] = true
	}
}

func (p *proxy) close(connections ...net.Conn) {
	p.lock.Lock()
	defer p.lock.Unlock()
	for _, c := range connections {
		_ = c.Close()
		delete(p.open, c)
	}
}

// closeConnections closes all open connections.
func (p *proxy) closeConnections() {
	p.lock.Lock()
	defer p.lock.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}
