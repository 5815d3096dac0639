// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"slices"
	"strconv"
	"strings"
)

// Who uses an address, or a lease, is noted by words. In the local space there is one user, the client of the node, and the word of an address says in
// which term of the lease and in which activation it was asked for last:
//
//	lease/<term>/<activation>
//
// In the global space a manager of Swarm asks first, and then the node on which a task runs asks for the same by name, and both give it back, in any
// order; the next manager asks again for what the last one had. It is free when both have given it back:
//
//	swarm/<node>, task/<node>
const (
	wordLease = "lease/"
	wordSwarm = "swarm/"
	wordTask  = "task/"
)

// leaseWord is that of an address in the local space.
func leaseWord(term string, activation int) string {
	return wordLease + term + "/" + strconv.Itoa(activation)
}

// roleWord is that of whoever asks in the global space.
func (l *Driver) roleWord(options map[string]string) string {
	if _, swarm := options[optionSerial]; swarm {
		return wordSwarm + l.node()
	}
	return wordTask + l.node()
}

// node is this one in words.
func (l *Driver) node() string {
	if l.options.Node == "" {
		return "-"
	}
	return l.options.Node
}

// elsewhere is another node that has a task's word among users; empty: none.
func (l *Driver) elsewhere(users []string) string {
	for _, word := range users {
		if node, is := strings.CutPrefix(word, wordTask); is && node != l.node() {
			return node
		}
	}
	return ""
}

// leave is who still uses something when this node gives it back: its task does so first, and the manager, wherever it was before, then. A node that
// does not use it takes nothing from anybody.
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

// join adds a word.
func join(users []string, word string) []string {
	if slices.Contains(users, word) {
		return users
	}
	return append(slices.Clone(users), word)
}
