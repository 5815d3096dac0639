// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"fmt"
)

// Literal is a string as JSON writes it, taken from a node so that it can be put into another document as it stands, neither scanned nor copied.
type Literal struct {
	raw   []byte
	plain bool
}

// Literal returns the string that stands at the node now; false for every other kind. It must not be used after the document was released; see Clone.
func (n *Node) Literal() (Literal, bool) {
	if n.Kind() != String {
		return Literal{}, false
	}
	return Literal{n.text.bytesAt(n.at), n.text.entries[n.at].plain}, true
}

// Raw returns the JSON, which must not be modified; nil for the zero value, which is no string.
func (l Literal) Raw() []byte { return l.raw }

// Clone returns a copy that stays valid.
func (l Literal) Clone() Literal { return Literal{bytes.Clone(l.raw), l.plain} }

// ReplaceLiteral is Replace with a string that was taken from a node. What it holds must stay as it is as long as the document is used.
func (n *Node) ReplaceLiteral(l Literal) error {
	if n == nil || l.raw == nil {
		return fmt.Errorf("replacing a value: %w", ErrKind)
	}
	if err := n.editable(n.Kind()); err != nil {
		return fmt.Errorf("replacing a value: %w", err)
	}
	n.putText(l.raw, l.plain)
	return nil
}
