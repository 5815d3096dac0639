// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
)

// AppendBase64 appends src as base64.StdEncoding writes it, six bytes at a time and two letters from a table, in less than half of its time.
func AppendBase64(dst, src []byte) []byte {
	size := base64.StdEncoding.EncodedLen(len(src))
	dst = slices.Grow(dst, size)
	out := dst[len(dst) : len(dst)+size]
	encodeBase64(out, src)
	return dst[:len(dst)+size]
}

// letterPairs are the two letters of each 12 bits, the first one in the lower byte.
var letterPairs = func() (pairs [1 << 12]uint16) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range pairs {
		pairs[i] = uint16(letters[i>>6]) | uint16(letters[i&63])<<8
	}
	return pairs
}()

// encodeBase64 writes src to dst, which is as long as it takes.
func encodeBase64(dst, src []byte) {
	for len(src) >= 8 && len(dst) >= 8 { // Of eight bytes, six are taken.
		x := binary.BigEndian.Uint64(src)
		binary.LittleEndian.PutUint64(dst, uint64(letterPairs[x>>52])|uint64(letterPairs[x>>40&0xfff])<<16|
			uint64(letterPairs[x>>28&0xfff])<<32|uint64(letterPairs[x>>16&0xfff])<<48)
		src, dst = src[6:], dst[8:]
	}
	base64.StdEncoding.Encode(dst, src)
}
