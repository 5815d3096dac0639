// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/coreos/go-systemd/v22/activation"
)

// networkSystemd is the network of sockets that systemd has opened: the address is the name of one.
const networkSystemd = "systemd"

// inherited returns the sockets from systemd by name (sd_listen_fds(3)). It takes them once, so that child processes do
// not inherit them.
var inherited = sync.OnceValues(func() (*sockets, error) {
	named, err := activation.ListenersWithNames()
	return &sockets{named: named}, err
})

// sockets are such that wait for a listener.
type sockets struct {
	mutex sync.Mutex
	named map[string][]net.Listener
}

// take returns the socket with a name. No other caller gets it.
func (s *sockets) take(name string) (net.Listener, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	there := s.named[name]
	switch len(there) {
	case 1:
		delete(s.named, name)
		return there[0], nil
	case 0:
		return nil, fmt.Errorf("systemd has passed no socket with the FileDescriptorName %s: there is %s", name, s.names())
	default:
		return nil, fmt.Errorf("systemd has passed %d sockets with the FileDescriptorName %s: each needs a unit with a name of its own", len(there), name)
	}
}

// names returns the names of the remaining sockets.
func (s *sockets) names() string {
	if len(s.named) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(s.named)), ", ")
}

// listenSystemd takes a socket over. It is systemd's: its file stays when it is closed, callers who come before the next start wait in it, and its
// mode and owner are those of its unit.
func (l *Listener) listenSystemd() (net.Listener, error) {
	all, err := inherited()
	if err != nil {
		return nil, fmt.Errorf("taking sockets of systemd: %w", err)
	}
	listener, err := all.take(l.Address)
	if err != nil {
		return nil, err
	}
	if err := l.admit(listener.Addr()); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// admit refuses an address that lets in more than the listener permits; one that does and is permitted is insecure.
func (l *Listener) admit(address net.Addr) error {
	var problem error
	switch at := address.(type) {
	case *net.UnixAddr:
		problem = l.admitSocket(at.Name)
	case *net.TCPAddr:
		if l.TLS == nil && !at.IP.IsLoopback() {
			problem = fmt.Errorf("%s is off loopback: add tls, or insecure: true", at)
		} else if l.Certificates && (l.TLS == nil || l.TLS.ClientCAFile == "") {
			problem = fmt.Errorf("%s needs tls with clientCAFile, or insecure: true", at)
		}
	default:
		return fmt.Errorf("a socket of the kind %s cannot be listened on", address.Network())
	}
	if problem != nil && l.Permit {
		l.Insecure, problem = true, nil
	}
	return problem
}

// everybody is the permission of all users of the machine to connect to a socket, which Linux wants of those who do.
const everybody fs.FileMode = 0o002

// admitSocket refuses a socket that all users of the machine can open, as those of systemd are where nothing is said. One without a path has no mode.
func (l *Listener) admitSocket(path string) error {
	switch {
	case l.TokenFile != "":
		return nil
	case path == "" || strings.HasPrefix(path, "@"):
		return errors.New("the socket is abstract, so that all users of the machine can open it: give it a path, or add tokenFile, or insecure: true")
	}
	there, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("looking at the socket: %w", err)
	}
	if there.Mode()&everybody != 0 {
		return fmt.Errorf("%s has the mode %04o, so that all users of the machine can open it: write SocketMode=0600 in its unit, or add tokenFile, or insecure: true",
			path, there.Mode().Perm())
	}
	return nil
}

// unclaimed logs sockets from systemd that no listener uses: clients of such a socket would wait forever.
func (s *Server) unclaimed() {
	all, err := inherited()
	if err != nil {
		return
	}
	all.mutex.Lock()
	defer all.mutex.Unlock()
	for name, listeners := range all.named {
		s.options.Log.Info("A socket of systemd has no listener: who connects to it waits", "name", name)
		for _, listener := range listeners {
			_ = listener.Close() // it was not used
		}
	}
	clear(all.named)
}
