// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

// Text is a string that knows where it stands, for strings that may hold expressions. The zero Text is absent.
type Text struct {
	Value string
	At    Node
}

// DecodeNode reads a string and nothing else.
func (t *Text) DecodeNode(n Node, path string) Findings {
	t.At = n
	return Decode(n, path, &t.Value)
}

// JSONSchema is the schema of the string for editors.
func (Text) JSONSchema() string { return `{"type": "string"}` }
