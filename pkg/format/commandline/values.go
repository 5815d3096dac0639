// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// ErrMalformed means that the value of a flag has an unexpected form, or that an entry cannot be written.
var ErrMalformed = errors.New("malformed flag value")

// MapValue is the value of a flag such as --feature-gates=A=true,B=false: an ordered map. As in Kubernetes
// (k8s.io/component-base/cli/flag), white space around keys and values and empty entries mean nothing, and of
// duplicate keys the last wins.
type MapValue string

// Entries ranges over keys and values as they are written, in their order and with duplicates. It stops in front of a
// malformed entry; Check tells.
func (m MapValue) Entries() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for entry := range strings.SplitSeq(string(m), ",") {
			key, value, kind := splitEntry(entry)
			if kind == malformed || kind == filled && !yield(key, value) {
				return
			}
		}
	}
}

// Check returns ErrMalformed if an entry has no "=" or no key.
func (m MapValue) Check() error {
	number := 0
	for entry := range strings.SplitSeq(string(m), ",") {
		number++
		if _, _, kind := splitEntry(entry); kind == malformed {
			return fmt.Errorf("reading entry %d: %w", number, ErrMalformed)
		}
	}
	return nil
}

// Get returns the value that counts for a key.
func (m MapValue) Get(key string) (string, bool) {
	var found string
	var ok bool
	for k, value := range m.Entries() {
		if k == key {
			found, ok = value, true
		}
	}
	return found, ok
}

// Set sets the value of a key: at its first occurrence, with duplicates removed, or at the end. If the effective value
// is equal, m is returned unchanged, even with duplicates. It fails with ErrMalformed if m or the new entry is
// malformed.
func (m MapValue) Set(key, value string) (MapValue, error) {
	if err := m.Check(); err != nil {
		return m, err
	}
	if !writable(key) || strings.Contains(key, "=") || value != "" && !writable(value) {
		return m, fmt.Errorf("setting an entry: %w", ErrMalformed)
	}
	if now, ok := m.Get(key); ok && now == value {
		return m, nil
	}
	fresh, done := key+"="+value, false
	out := edit(string(m), func(entry string) (string, bool) {
		if k, _, _ := splitEntry(entry); k != key {
			return entry, true
		}
		keep := !done
		done = true
		return fresh, keep
	})
	if !done {
		out = join(out, fresh)
	}
	return MapValue(out), nil
}

// Remove takes a key out with its duplicates. Without the key, m is returned unchanged. ErrMalformed as in Check.
func (m MapValue) Remove(key string) (MapValue, error) {
	if err := m.Check(); err != nil {
		return m, err
	}
	if _, ok := m.Get(key); !ok {
		return m, nil
	}
	return MapValue(edit(string(m), func(entry string) (string, bool) {
		k, _, kind := splitEntry(entry)
		return entry, kind == empty || k != key
	})), nil
}

// ListValue is the value of a flag such as --enable-admission-plugins=A,B: an ordered set. White space around items
// and empty items mean nothing.
type ListValue string

// Items returns the items in their order, without empty ones.
func (l ListValue) Items() []string {
	var out []string
	for item := range strings.SplitSeq(string(l), ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// Has reports whether the list holds an item.
func (l ListValue) Has(item string) bool {
	return slices.Contains(l.Items(), strings.TrimSpace(item))
}

// Add puts the items that are absent at the end. An item with commas is taken as several.
func (l ListValue) Add(items ...string) ListValue {
	for _, item := range ListValue(strings.Join(items, ",")).Items() {
		if !l.Has(item) {
			l = ListValue(join(string(l), item))
		}
	}
	return l
}

// Remove takes all occurrences of the items out. Without any of them, l is returned unchanged.
func (l ListValue) Remove(items ...string) ListValue {
	unwanted := ListValue(strings.Join(items, ",")).Items()
	if !slices.ContainsFunc(unwanted, l.Has) {
		return l
	}
	return ListValue(edit(string(l), func(item string) (string, bool) {
		return item, !slices.Contains(unwanted, strings.TrimSpace(item))
	}))
}

type entryKind uint8

const (
	filled entryKind = iota
	empty
	malformed
)

func splitEntry(entry string) (key, value string, kind entryKind) {
	entry = strings.TrimSpace(entry)
	if entry == "" {
		return "", "", empty
	}
	key, value, found := strings.Cut(entry, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !found || key == "" {
		return "", "", malformed
	}
	return key, value, filled
}

// writable reports whether a text remains the same as a part of an entry.
func writable(s string) bool {
	return s != "" && !strings.Contains(s, ",") && strings.TrimSpace(s) == s
}

// edit calls f for all entries; f returns the new entry and whether to keep it.
func edit(list string, f func(entry string) (string, bool)) string {
	var out []string
	for entry := range strings.SplitSeq(list, ",") {
		if entry, keep := f(entry); keep {
			out = append(out, entry)
		}
	}
	return strings.Join(out, ",")
}

// join appends an entry, behind a comma if there is none yet.
func join(list, entry string) string {
	if strings.TrimSpace(list) == "" {
		return entry
	}
	return strings.TrimSuffix(list, ",") + "," + entry
}
