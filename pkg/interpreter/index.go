// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/document"

// Index is a text within a message that was read as a whole, so that it need not be read again. The zero Index knows nothing: the text is read when
// that is needed. It is for one goroutine, and ends with the message.
type Index struct{ node *document.Node }

// IndexOf is the index of the text that stands at a node as it came.
func IndexOf(n *document.Node) Index { return Index{n} }

// Document is the text as a document of its own, of which no other sees edits; nil where nothing is known.
func (x Index) Document() *document.Document { return x.node.Document() }

// Equal says that indexes are no part of a question: what differs in nothing else is the same.
func (Index) Equal(Index) bool { return true }
