// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package target

import "testing"

// TestCacheKey checks that only equal contents have the same key.
func TestCacheKey(t *testing.T) {
	a, b, ab, none := []byte("a"), []byte("b"), []byte("ab"), []byte{}
	lists := [][][]byte{{}, {none}, {none, none}, {a}, {b}, {ab}, {a, b}, {b, a}, {ab, none}, {none, ab}, {a, none, b}}
	for i, one := range lists {
		for j, other := range lists {
			if same := CacheKey(one...) == CacheKey(other...); same != (i == j) {
				t.Errorf("%q and %q: want the same key to be %t, got %t", one, other, i == j, same)
			}
		}
	}
}
