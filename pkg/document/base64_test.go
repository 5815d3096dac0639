// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/base64"
	"testing"
)

// FuzzBase64 compares the encoding with the standard library's, appended to existing bytes.
func FuzzBase64(f *testing.F) {
	all := make([]byte, 0, 3*64)
	for i := range 64 { // Each letter at each place of four.
		all = append(all, byte(i<<2), byte(i<<4|i>>2), byte(i<<6|i))
	}
	var pairs []byte
	for i := 0; i < 1<<12; i += 2 { // Each two letters.
		pairs = append(pairs, byte(i>>4), byte(i<<4|(i+1)>>8), byte(i+1))
	}
	f.Add(pairs)
	for i := range 24 {
		f.Add(all[:len(all)-i])
		f.Add(all[:i])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		want := "x" + base64.StdEncoding.EncodeToString(raw)
		if got := string(AppendBase64([]byte("x"), raw)); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
