// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// NetworkContract is the name of an API that graft-network-provider serves.
type NetworkContract string

// NetworkContracts returns the names of all APIs.
func NetworkContracts() []string { return []string{"dranet", "spiderpool", string(ContractDocker)} }

// NetworkDefaultContracts returns the APIs of a listener that names none. Docker's creates links as root and
// must be named.
func NetworkDefaultContracts() []string { return []string{"dranet", "spiderpool"} }

// ContractNames returns the APIs of the listener.
func (l NetworkListener) ContractNames() []string {
	if len(l.Contracts) == 0 {
		return NetworkDefaultContracts()
	}
	names := make([]string, len(l.Contracts))
	for i, name := range l.Contracts {
		names[i] = string(name)
	}
	return names
}

// Answers reports whether the listener serves an API.
func (l NetworkListener) Answers(contract NetworkContract) bool {
	return slices.Contains(l.ContractNames(), string(contract))
}

// DecodeNode decodes a name. It fails for an unknown one.
func (c *NetworkContract) DecodeNode(n source.Node, path string) source.Findings {
	var text string
	if findings := source.Decode(n, path, &text); len(findings) > 0 {
		return findings
	}
	if known := NetworkContracts(); !slices.Contains(known, text) {
		finding := n.Finding(path, "must be one of %s%s", strings.Join(known, ", "), source.Suggest(text, known)).Of(source.WrongValue)
		return source.Findings{finding.Instead(n, known)}
	}
	*c = NetworkContract(text)
	return nil
}

// JSONSchema returns the schema of an API's name.
func (NetworkContract) JSONSchema() string {
	names, _ := json.Marshal(NetworkContracts())
	return `{"type": "string", "enum": ` + string(names) + `}`
}

// maximumSocketPath is below the kernel's limit of 107 bytes, so that a longer name next to the socket also
// fits.
const maximumSocketPath = 100

// maximumSocketName is the length in bytes that systemd allows for a FileDescriptorName (systemd.socket(5)).
const maximumSocketName = 255

// isSocketName reports whether a name is a FileDescriptorName of systemd without spaces: ASCII without control
// characters and colons.
func isSocketName(name string) bool {
	return name != "" && len(name) <= maximumSocketName &&
		!strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' })
}

// Endpoint returns the address for package net: the network unix with a path, or tcp with host:port. For the
// network systemd, it returns the name of a socket that systemd has opened. It fails for an invalid address.
func (l NetworkListener) Endpoint() (netw, address string, err error) {
	scheme, rest, ok := strings.Cut(l.Address, "://")
	switch {
	case ok && scheme == "unix":
		if !filepath.IsAbs(rest) || len(rest) > maximumSocketPath {
			return "", "", fmt.Errorf("the path of a socket is absolute and has at most %d bytes, such as unix:///run/graft/dranet.sock", maximumSocketPath)
		}
		return "unix", filepath.Clean(rest), nil
	case ok && scheme == "tcp":
		if _, port, err := net.SplitHostPort(rest); err != nil || port == "" {
			return "", "", errors.New("must be tcp://host:port")
		}
		return "tcp", rest, nil
	case ok && scheme == "systemd":
		if !isSocketName(rest) {
			return "", "", errors.New("must be systemd://name, with the FileDescriptorName of the socket")
		}
		return "systemd", rest, nil
	default:
		return "", "", errors.New("must be unix:///path, tcp://host:port or systemd://name")
	}
}

// everybody is the permission for all users of the machine to connect to a socket.
const everybody fs.FileMode = 0o002

// Exposed reports whether other machines can reach the address without encryption, or all users of the machine
// can open the socket.
func (l NetworkListener) Exposed() bool {
	netw, address, err := l.Endpoint()
	switch {
	case err != nil || l.TLS != nil:
		return false
	case netw == "unix":
		mode, err := l.FileMode()
		return err == nil && mode&everybody != 0
	case netw == "systemd":
		return false // unknown until the socket is passed
	}
	host, _, _ := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback())
}

// FileMode returns the permissions of the socket, by default 0600. It fails for invalid ones.
func (l NetworkListener) FileMode() (fs.FileMode, error) {
	if l.Mode == "" {
		return 0o600, nil
	}
	mode, err := strconv.ParseUint(l.Mode, 8, 32)
	if err != nil || mode > 0o777 {
		return 0, errors.New("must be octal digits in quotes, such as \"0660\"")
	}
	return fs.FileMode(mode), nil
}

// Owners returns the IDs of user and group, or -1 for each by default. It fails for invalid ones.
func (l NetworkListener) Owners() (uid, gid int, err error) {
	if l.Owner == "" {
		return -1, -1, nil
	}
	user, group, _ := strings.Cut(l.Owner, ":")
	uid, first := strconv.Atoi(user)
	gid, second := strconv.Atoi(group)
	if first != nil || second != nil || uid < 0 || gid < 0 {
		return 0, 0, errors.New("must be the numbers of a user and a group, such as \"0:1000\"")
	}
	return uid, gid, nil
}

// Check returns the errors of a listener by field.
func (l NetworkListener) Check() map[string]error {
	problems := map[string]error{}
	note := func(field string, err error) {
		if err != nil && problems[field] == nil {
			problems[field] = err
		}
	}
	netw, _, err := l.Endpoint()
	note("address", err)
	switch exposed := l.Exposed() && !l.Insecure; {
	case exposed && netw == "unix":
		note("mode", errors.New("permits all users of the machine: set the last digit to 0, or set insecure: true"))
	case exposed:
		note("address", errors.New("is not a loopback address: add tls, or set insecure: true to let every caller allocate and release"))
	}
	_, err = l.FileMode()
	note("mode", err)
	_, _, err = l.Owners()
	note("owner", err)
	field, err := l.dockerProblem(netw)
	note(field, err)
	only := func(field string, written bool, of ...string) {
		if written && netw != "" && !slices.Contains(of, netw) {
			note(field, fmt.Errorf("is for listeners of %s", strings.Join(of, " and ")))
		}
	}
	only("mode", l.Mode != "", "unix")
	only("owner", l.Owner != "", "unix")
	only("tls", l.TLS != nil, "tcp", "systemd")
	if netw == "unix" && l.Insecure && !l.Exposed() {
		note("insecure", errors.New("is only for TCP listeners and for sockets that all users can open"))
	}
	if l.Insecure && l.TLS != nil {
		note("insecure", errors.New("contradicts tls"))
	}
	return problems
}
