// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrContent marks the content of a file that cannot be decoded, or a text that its encoding cannot hold.
var ErrContent = errors.New("invalid file content")

// Content is the inline content of a file in an OperatingSystemConfig: an object with data, and encoding "" or "b64"
// (extensionsv1alpha1.FileContentInline of Gardener, and its codecs in the helper package).
type Content struct {
	inline *Node
	base64 bool
	text   []byte
}

// ContentOf decodes the content in an object content.inline. Data that is absent is empty. The error is ErrKind for
// anything but an object, or ErrContent for another encoding, data that is no string, or broken base64.
func ContentOf(inline *Node) (*Content, error) {
	if inline.Kind() != Object {
		return nil, fmt.Errorf("reading a file's content: %w", ErrKind)
	}
	c := &Content{inline: inline}
	data, err := stringMember(inline, "data")
	if err != nil {
		return nil, err
	}
	switch encoding, err := stringMember(inline, "encoding"); {
	case err != nil:
		return nil, err
	case len(encoding) == 0:
		c.text = data
	case string(encoding) == "b64":
		c.base64 = true
		size := base64.StdEncoding.DecodedLen(len(data))
		c.text = inline.doc.room.bytes.take(size)[:size]
		n, err := base64.StdEncoding.Decode(c.text, data)
		if err != nil {
			return nil, fmt.Errorf("reading a file's content: %w: %w", ErrContent, err)
		}
		c.text = c.text[:n]
	default:
		return nil, fmt.Errorf("reading a file's content: encoding %q: %w", encoding, ErrContent)
	}
	return c, nil
}

// stringMember returns the text of a member that is a string, which must not be modified; nothing if it is absent.
func stringMember(n *Node, key string) ([]byte, error) {
	member := n.Get(key)
	switch member.Kind() {
	case Invalid, Null:
		return nil, nil
	case String:
		return member.text.textAt(member.at), nil
	default:
		return nil, fmt.Errorf("reading a file's content: %s is a %s: %w", key, member.Kind(), ErrContent)
	}
}

// Text returns the decoded content, which must not be modified, nor used after the document was released.
func (c *Content) Text() []byte { return c.text }

// SetText replaces the content and keeps its encoding; text must not be modified afterwards. The same text is no edit, even if base64 would now be written
// otherwise. ErrContent for bytes that are not UTF-8 without an encoding.
func (c *Content) SetText(text []byte) error {
	if bytes.Equal(text, c.text) {
		return nil
	}
	if !c.base64 && !utf8.Valid(text) {
		return fmt.Errorf("setting a file's content that is not UTF-8: %w", ErrContent)
	}
	if err := c.write(text); err != nil {
		return fmt.Errorf("setting a file's content: %w", err)
	}
	c.text = text
	return nil
}

// write puts a text into the data, which may have been absent.
func (c *Content) write(text []byte) error {
	var raw []byte
	if c.base64 {
		size := base64.StdEncoding.EncodedLen(len(text)) + 2
		raw = c.inline.doc.room.bytes.take(size)[:size]
		raw[0], raw[len(raw)-1] = '"', '"'
		encodeBase64(raw[1:len(raw)-1], text)
	} else {
		raw = appendQuoted(c.inline.doc.room.bytes.take(quotedSize(len(text))), text)
	}
	if data := c.inline.Get("data"); data != nil && c.inline.editable(Object) == nil {
		data.putText(raw, c.base64)
		return nil
	}
	_, err := c.inline.Set("data", raw)
	return err
}

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
