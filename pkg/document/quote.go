// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Quote returns s as a JSON string. Only what JSON demands is escaped; bytes that are not UTF-8 become U+FFFD.
func Quote(s string) []byte {
	return appendQuoted(make([]byte, 0, quotedSize(len(s))), s)
}

// AppendQuoted is Quote behind what dst has.
func AppendQuoted[S string | []byte](dst []byte, s S) []byte { return appendQuoted(dst, s) }

// quotedSize is about how many bytes a string of the given length takes in quotes.
func quotedSize(length int) int { return length + length/16 + 2 }

func appendQuoted[S string | []byte](dst []byte, s S) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0 // of what stands for itself
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		size := 1
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			var r rune
			r, size = utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
			dst = utf8.AppendRune(dst, r)
		}
		i += size
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// unquote decodes the inside of a checked JSON string as encoding/json does: a surrogate without its partner and a
// byte that is not UTF-8 become U+FFFD. What stands between two escapes is copied at once.
func unquote(body []byte) string {
	var out strings.Builder
	out.Grow(len(body))
	for len(body) > 0 {
		run := bytes.IndexByte(body, '\\')
		if run < 0 {
			run = len(body)
		}
		writeValid(&out, body[:run])
		if body = body[run:]; len(body) > 0 {
			body = body[writeEscape(&out, body):]
		}
	}
	return out.String()
}

// writeValid writes bytes, U+FFFD for each that is not part of UTF-8.
func writeValid(out *strings.Builder, run []byte) {
	if utf8.Valid(run) {
		out.Write(run)
		return
	}
	for len(run) > 0 {
		r, size := utf8.DecodeRune(run)
		out.WriteRune(r)
		run = run[size:]
	}
}

// writeEscape writes what the escape sequence at the beginning of body stands for, and returns its length.
func writeEscape(out *strings.Builder, body []byte) int {
	if body[1] != 'u' {
		out.WriteByte(unescape(body[1]))
		return 2
	}
	r, size := rune16(body), 6
	if utf16.IsSurrogate(r) {
		if r = utf16.DecodeRune(r, rune16(body[6:])); r != utf8.RuneError {
			size = 12
		}
	}
	out.WriteRune(r)
	return size
}

// sameUnquoted compares the insides of two checked JSON strings as unquote decodes them. Behind what is spelled alike it
// goes letter by letter as long as both are ASCII, as they usually are.
func sameUnquoted(a, b []byte) bool {
	alike := wholeLetters(a[:commonPrefix(a, b)])
	x, y := a[alike:], b[alike:]
	for len(x) > 0 && len(y) > 0 {
		c, i := letter(x)
		d, j := letter(y)
		if i == 0 || j == 0 {
			return unquote(a) == unquote(b)
		}
		if c != d {
			return false
		}
		x, y = x[i:], y[j:]
	}
	return len(x) == len(y)
}

// commonPrefix returns the number of bytes that two texts begin with alike; it takes eight at a time.
func commonPrefix(a, b []byte) int {
	i, end := 0, min(len(a), len(b))
	for ; i+8 <= end; i += 8 {
		if differ := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); differ != 0 {
			return i + bits.TrailingZeros64(differ)/8
		}
	}
	for i < end && a[i] == b[i] {
		i++
	}
	return i
}

// wholeLetters returns the length of a text without the escape sequence that it may end in the middle of.
func wholeLetters(body []byte) int {
	const longest = len(`\u0000`)
	from := max(0, len(body)-longest+1)
	at := from + bytes.LastIndexByte(body[from:], '\\')
	if at < from {
		return len(body)
	}
	first := at
	for first > 0 && body[first-1] == '\\' {
		first--
	}
	length := 2
	if at+1 < len(body) && body[at+1] == 'u' {
		length = longest
	}
	if (at-first)%2 == 1 || at+length <= len(body) {
		return len(body) // The backslash at the end of the row is escaped, or its sequence is whole.
	}
	return at
}

// letter reads the ASCII character at the beginning of body and returns the number of bytes that it takes; 0 for any other.
func letter(body []byte) (byte, int) {
	c := body[0]
	switch {
	case c >= utf8.RuneSelf:
		return 0, 0
	case c != '\\':
		return c, 1
	case body[1] != 'u':
		return unescape(body[1]), 2
	}
	if r := rune16(body); r < utf8.RuneSelf {
		return byte(r), 6
	}
	return 0, 0
}

// rune16 reads the code unit of an escape of four hexadecimal digits, or returns U+FFFD where none stands.
func rune16(body []byte) rune {
	if len(body) < 6 || body[0] != '\\' || body[1] != 'u' {
		return utf8.RuneError
	}
	var r rune
	for _, c := range body[2:6] {
		r = r<<4 | rune(hex(c))
	}
	return r
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return c
	}
}

// hex returns the value of a hexadecimal digit, or -1.
func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	default:
		return -1
	}
}
