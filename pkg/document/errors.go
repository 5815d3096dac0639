// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import "errors"

// The errors of this package, to be found with errors.Is.
var (
	// ErrSyntax marks a text that is not one JSON value.
	ErrSyntax = errors.New("invalid JSON")
	// ErrTooDeep marks a text that nests objects and arrays deeper than MaxDepth.
	ErrTooDeep = errors.New("JSON nested too deeply")
	// ErrTooLarge marks a text of 4 GiB or more.
	ErrTooLarge = errors.New("JSON text too large")
	// ErrDuplicateKey marks an object that names a member twice: its readers would not agree on the value.
	ErrDuplicateKey = errors.New("object has a duplicate key")
	// ErrKind marks an edit of a place that is absent or of the wrong kind, as setting a member of a string.
	ErrKind = errors.New("value is of another kind")
	// ErrIndex marks an item that lies outside of its list.
	ErrIndex = errors.New("index out of range")
	// ErrGone marks an edit through a Node whose place was removed or replaced in the meantime.
	ErrGone = errors.New("place was removed")
	// ErrReadOnly marks an edit of the tree that Document.Original returns.
	ErrReadOnly = errors.New("original is read only")
)
