// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAdmit checks which sockets of systemd are accepted, and which of them with a logged warning.
func TestAdmit(t *testing.T) {
	folder := t.TempDir()
	socket := func(name string, mode os.FileMode) net.Addr {
		path := filepath.Join(folder, name)
		opened, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = opened.Close() })
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return opened.Addr()
	}
	tcp := func(text string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text)) }
	certified := &TLS{CertFile: "a", KeyFile: "b", ClientCAFile: "c"}
	tests := map[string]struct {
		of       Listener
		at       net.Addr
		want     string
		insecure bool
	}{
		"socket of the server's user":            {at: socket("own", 0o600)},
		"socket of a group":                      {at: socket("group", 0o660)},
		"socket of all users":                    {at: socket("all", 0o666), want: "write SocketMode=0600"},
		"socket of all users, with insecure":     {at: socket("wanted", 0o666), of: Listener{Permit: true}, insecure: true},
		"rejects an abstract socket":             {at: &net.UnixAddr{Name: "@x", Net: "unix"}, want: "is abstract"},
		"rejects a socket without a file":        {at: &net.UnixAddr{Name: filepath.Join(folder, "none"), Net: "unix"}, want: "no such file"},
		"accepts a loopback address without TLS": {at: tcp("127.0.0.1:80")},
		"rejects another address without TLS":    {at: tcp("192.0.2.1:80"), want: "192.0.2.1:80 is not a loopback address"},
		"off loopback, with insecure":            {at: tcp("192.0.2.1:80"), of: Listener{Permit: true}, insecure: true},
		"accepts another address with TLS":       {at: tcp("192.0.2.1:80"), of: Listener{TLS: &TLS{CertFile: "a"}}},
		"TLS without client certificates":        {at: tcp("127.0.0.1:80"), of: Listener{Certificates: true}, want: "needs tls with clientCAFile"},
		"TLS with client certificates":           {at: tcp("192.0.2.1:80"), of: Listener{Certificates: true, TLS: certified}},
		"of another kind":                        {at: &net.UDPAddr{}, want: "of kind udp"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.of.checkExposure(test.at)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if test.of.Insecure != test.insecure {
				t.Errorf("Insecure() = %t, want the opposite", test.of.Insecure)
			}
		})
	}
}

// TestEachSocketGetsOneListener checks that a socket of systemd is given once, and that its name must be unique.
func TestEachSocketGetsOneListener(t *testing.T) {
	opened, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	named := map[string][]net.Listener{"one": {opened}, "two": {nil, nil}}
	for _, test := range []struct{ name, want string }{
		{"one", ""},
		{"one", "no socket with the FileDescriptorName one: there is two"},
		{"two", "2 sockets with the FileDescriptorName two"},
		{"none", "there is two"},
	} {
		l := Listener{Network: "systemd", Address: test.name}
		if _, err := l.listen(t.Context(), named); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
