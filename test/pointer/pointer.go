// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package pointer finds the places of a document that the JSON pointers of tests and patches name. Start reading at At.
package pointer

import (
	"strconv"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// At returns the place that an RFC 6901 pointer names below a node, or nil.
func At(n *document.Node, pointer string) *document.Node {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, token := range strings.Split(pointer, "/")[1:] {
		if n.Kind() != document.Array {
			n = n.Get(unescape.Replace(token))
			continue
		}
		i, err := strconv.Atoi(token)
		if err != nil {
			return nil
		}
		n = n.Item(i)
	}
	return n
}
