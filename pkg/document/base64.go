// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
)

// AppendBase64 appends src as base64.StdEncoding writes it, six bytes at a time, in less than half of its time.
func AppendBase64(dst, src []byte) []byte {
	size := base64.StdEncoding.EncodedLen(len(src))
	dst = slices.Grow(dst, size)
	out := dst[len(dst) : len(dst)+size]
	encodeBase64(out, src)
	return dst[:len(dst)+size]
}

// encodeBase64 writes src to dst, which is as long as it takes.
func encodeBase64(dst, src []byte) {
	for len(src) >= 8 && len(dst) >= 8 { // Of eight bytes, six are taken.
		binary.BigEndian.PutUint64(dst, base64Letters(binary.BigEndian.Uint64(src)>>16))
		src, dst = src[6:], dst[8:]
	}
	base64.StdEncoding.Encode(dst, src)
}

// base64Letters returns the eight letters of 48 bits.
func base64Letters(x uint64) uint64 {
	// Each step parts the fields in two, until there are six bits in each byte.
	x = (x<<8)&0x00ffffff00000000 | x&0x0000000000ffffff
	x = (x<<4)&0x0fff00000fff0000 | x&0x00000fff00000fff
	x = (x<<2)&0x3f003f003f003f00 | x&0x003f003f003f003f
	// No byte carries: the highest of a byte below 64, plus 128 less the least of a row, says whether it is in that row or behind.
	from := func(least uint64) uint64 { return (x + (128-least)*ones) & highs >> 7 }
	return x + 'A'*ones + from(26)*('a'-'Z'-1) - from(52)*('z'+1-'0') - from(62)*('9'+1-'+') + from(63)*('/'-'+'-1)
}
