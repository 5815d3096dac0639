// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"strconv"
	"strings"
)

// appendToken appends one reference token of RFC 6901 with its slash.
func appendToken(dst []byte, key string) []byte {
	dst = append(dst, '/')
	for i := range len(key) {
		switch key[i] {
		case '~':
			dst = append(dst, '~', '0')
		case '/':
			dst = append(dst, '~', '1')
		default:
			dst = append(dst, key[i])
		}
	}
	return dst
}

func appendIndex(dst []byte, i int) []byte {
	return strconv.AppendInt(append(dst, '/'), int64(i), 10)
}

// Pointer returns the RFC 6901 pointer of the place in the document as it is now; "" for the root, and for a place
// that was removed.
func (n *Node) Pointer() string {
	if n == nil || !n.alive() {
		return ""
	}
	return string(n.appendPointer(nil))
}

func (n *Node) appendPointer(dst []byte) []byte {
	if n.parent == nil {
		return dst
	}
	dst = n.parent.appendPointer(dst)
	if n.parent.Kind() == Object {
		return appendToken(dst, n.key())
	}
	return appendIndex(dst, n.Index())
}

// At returns the place that an RFC 6901 pointer names below the node, or nil.
func (n *Node) At(pointer string) *Node {
	if pointer == "" {
		return n
	}
	if pointer[0] != '/' {
		return nil
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if n.Kind() == Array {
			n = n.itemNamed(token)
		} else {
			n = n.Get(unescapeToken(token))
		}
	}
	return n
}

// itemNamed returns the item whose index is written in the one form that RFC 6901 allows: no sign, no leading zero.
func (n *Node) itemNamed(token string) *Node {
	i, err := strconv.Atoi(token)
	if err != nil || strconv.Itoa(i) != token {
		return nil
	}
	return n.Item(i)
}

func unescapeToken(token string) string {
	if strings.IndexByte(token, '~') < 0 {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}
