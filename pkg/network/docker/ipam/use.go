// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"slices"
	"strconv"
	"strings"
)

// Users of an address or a lease are recorded as words. The local space has one user, the node's client. The
// word of an address contains the term of its lease and the activation that last requested it:
//
//	lease/<term>/<activation>
//
// In the global space, a Swarm manager requests an address first. The node that runs the task then requests the
// same address by name. Both release it, in any order, and a new manager requests the addresses of the previous
// one. The address is free when both have released it:
//
//	swarm/<node>, task/<node>
const (
	wordLease = "lease/"
	wordSwarm = "swarm/"
	wordTask  = "task/"
)

// leaseWord returns the word of an address in the local space.
func leaseWord(term string, activation int) string {
	return wordLease + term + "/" + strconv.Itoa(activation)
}

// roleWord returns the word of the caller in the global space.
func (l *Driver) roleWord(options map[string]string) string {
	if _, swarm := options[optionSerial]; swarm {
		return wordSwarm + l.node()
	}
	return wordTask + l.node()
}

// node returns this node's name in words.
func (l *Driver) node() string {
	if l.options.Node == "" {
		return "-"
	}
	return l.options.Node
}

// elsewhere returns another node with a task's word, or "".
func (l *Driver) elsewhere(users []string) string {
	for _, word := range users {
		if node, is := strings.CutPrefix(word, wordTask); is && node != l.node() {
			return node
		}
	}
	return ""
}

// leave returns the remaining users after this node releases something. The first release is that of the node's
// task, the second that of a manager, on any node. A node that is no user removes nothing.
func (l *Driver) leave(users []string) []string {
	rest := slices.Clone(users)
	if task := wordTask + l.node(); slices.Contains(users, task) {
		return slices.DeleteFunc(rest, func(word string) bool { return word == task })
	}
	if slices.Contains(users, wordSwarm+l.node()) {
		return slices.DeleteFunc(rest, func(word string) bool { return strings.HasPrefix(word, wordSwarm) })
	}
	return rest
}

// join adds a word if it is missing.
func join(users []string, word string) []string {
	if slices.Contains(users, word) {
		return users
	}
	return append(slices.Clone(users), word)
}
