// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
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
// anything but an object, or ErrContent for another encoding, data that is not a string, or invalid base64.
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
		text := inline.doc.arena.bytes.take(base64.StdEncoding.DecodedLen(len(data)))[:0]
		if c.text, err = base64.StdEncoding.AppendDecode(text, data); err != nil {
			return nil, fmt.Errorf("reading a file's content: %w: %w", ErrContent, err)
		}
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

// SetText replaces the content and keeps its encoding; text must not be modified afterwards. The same text is not an
// edit, even if its base64 differs. It returns ErrContent for bytes that are not UTF-8 if there is no encoding.
func (c *Content) SetText(text []byte) error {
	if bytes.Equal(text, c.text) {
		return nil
	}
	if !c.base64 && !utf8.Valid(text) {
		return fmt.Errorf("setting a file's content that is not UTF-8: %w", ErrContent)
	}
	raw := c.inline.doc.arena.bytes.take(base64.StdEncoding.EncodedLen(len(text)) + 2)[:0]
	if c.base64 {
		raw = append(base64.StdEncoding.AppendEncode(append(raw, '"'), text), '"')
	} else {
		raw = appendQuoted(raw, text)
	}
	if _, err := c.inline.Set("data", raw); err != nil {
		return fmt.Errorf("setting a file's content: %w", err)
	}
	c.text = text
	return nil
}
