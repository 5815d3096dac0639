// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync"
	"unicode/utf8"
)

// indexEntry is one value of a text. Members of an object are two entries, key and value; items and members follow
// their container directly, and a value and all it holds are the entries up to next.
type indexEntry struct {
	start, end uint32 // bytes in the text, quotes and braces included
	next       uint32
	kind       Kind
	plain      bool // a string of ASCII characters without escapes
	deferred   bool // an object without entries for its members, until its node is opened
}

// indexedText is JSON with its index. A text grows at its end only, so that entries and bytes handed out stay valid.
type indexedText struct {
	raw     []byte
	entries []indexEntry
}

// bytesAt returns the JSON of an entry.
func (t *indexedText) bytesAt(at uint32) []byte {
	e := &t.entries[at]
	return t.raw[e.start:e.end:e.end]
}

// stringAt decodes a string entry.
func (t *indexedText) stringAt(at uint32) string {
	if t.entries[at].plain {
		return string(t.plainAt(at))
	}
	return unquote(t.bytesAt(at))
}

// textAt works like stringAt without copying strings that have no escapes.
func (t *indexedText) textAt(at uint32) []byte {
	if t.entries[at].plain {
		return t.plainAt(at)
	}
	return []byte(unquote(t.bytesAt(at)))
}

// stringIs compares a string entry with s, without decoding it if it is plain.
func (t *indexedText) stringIs(at uint32, s string) bool {
	if t.entries[at].plain {
		return string(t.plainAt(at)) == s
	}
	return unquote(t.bytesAt(at)) == s
}

// plainAt returns the text of a plain string entry.
func (t *indexedText) plainAt(at uint32) []byte {
	e := &t.entries[at]
	return t.raw[e.start+1 : e.end-1 : e.end-1]
}

// sameString reports whether two string entries have the same text. It decodes them only if an escape or a character
// outside of ASCII is near their first difference.
func sameString(a *indexedText, i uint32, b *indexedText, j uint32) bool {
	x, y := a.bytesAt(i), b.bytesAt(j)
	if bytes.Equal(x, y) {
		return true
	}
	if a.entries[i].plain && b.entries[j].plain {
		return false
	}
	n := 0
	for x[n] == y[n] { // the quote at the end of the shorter string differs from any other character
		n++
	}
	const longest = len(`\u0000`)
	near := func(s []byte) bool { return bytes.IndexByte(s[max(0, n-longest+1):n+1], '\\') >= 0 }
	if x[n] < utf8.RuneSelf && y[n] < utf8.RuneSelf && !near(x) && !near(y) {
		return false
	}
	return unquote(x) == unquote(y)
}

// signature returns a set of bits. Two strings with the same text have a common bit, and most others have none.
func (t *indexedText) signature(at uint32) uint64 {
	if !t.entries[at].plain { // another notation may have the same text
		return math.MaxUint64
	}
	s := t.bytesAt(at) // with quotes
	return 1 << ((len(s)*5 + int(s[1])*3 + int(s[len(s)-2])) % 64)
}

// count returns the number of items or members of a container.
func (t *indexedText) count(at uint32) int {
	n, width := 0, t.width(at)
	for c, end := at+1, t.entries[at].next; c < end; n++ {
		c = t.entries[c+width].next
	}
	return n
}

// width returns the number of entries before the value of a child: 1 in an object, for its key.
func (t *indexedText) width(at uint32) uint32 {
	if t.entries[at].kind == Object {
		return 1
	}
	return 0
}

// add appends a copy of raw and indexes it; the text is unchanged if raw is not valid.
func (t *indexedText) add(raw []byte) (uint32, error) {
	if len(t.raw)+len(raw) > math.MaxUint32 {
		return 0, ErrTooLarge
	}
	if t.raw == nil { // Others follow, so that growing step by step would copy it several times.
		t.raw, t.entries = make([]byte, 0, max(2*len(raw), 1<<10)), make([]indexEntry, 0, 16)
	}
	from, at := len(t.raw), len(t.entries)
	t.raw = append(t.raw, raw...)
	if err := t.scan(from, ""); err != nil {
		t.raw, t.entries = t.raw[:from], t.entries[:at]
		return 0, err
	}
	return uint32(at), nil
}

// MaxDepth is the maximum number of nested objects and arrays. encoding/json allows 10000.
const MaxDepth = 1000

// scanner checks a text against RFC 8259 and appends an entry for every value. Its methods take the offset of the
// first byte and return the offset behind the value, or -1 after a call of fail.
type scanner struct {
	raw       []byte
	entries   []indexEntry
	unbounded bool   // no limit of depth
	deferred  string // the key of ParseDeferring, or empty
	unindexed bool   // inside of a deferred object
	fault     error
	where     int
}

// scan indexes the single value from an offset to the end of the text. Like encoding/json, it accepts invalid UTF-8.
func (t *indexedText) scan(from int, deferred string) error {
	s := scanner{raw: t.raw, entries: t.entries, deferred: deferred}
	end := s.value(s.space(from), 0)
	if end >= 0 {
		if end = s.space(end); end < len(s.raw) {
			end = s.fail(end)
		}
	}
	t.entries = s.entries
	if end < 0 {
		return fmt.Errorf("scanning JSON at byte %d: %w", s.where-from, s.fault)
	}
	return nil
}

func (s *scanner) fail(i int) int {
	s.where, s.fault = i, ErrSyntax
	return -1
}

// space returns the offset of the next byte that is no white space.
func (s *scanner) space(i int) int {
	for i < len(s.raw) {
		switch s.raw[i] {
		case ' ', '\n', '\t', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

func (s *scanner) value(i, depth int) int {
	if i >= len(s.raw) {
		return s.fail(i)
	}
	switch s.raw[i] {
	case '"':
		return s.text(i)
	case '{':
		if depth == 2 && s.deferred != "" && bytes.HasSuffix(bytes.TrimRight(s.raw[:i], "\": \t\r\n"), []byte(s.deferred)) {
			return s.deferredObject(i, depth+1)
		}
		return s.object(i, depth+1)
	case '[':
		return s.array(i, depth+1)
	case 't':
		return s.literal(i, "true", Bool)
	case 'f':
		return s.literal(i, "false", Bool)
	case 'n':
		return s.literal(i, "null", Null)
	default:
		return s.number(i)
	}
}

// scalar appends the entry of a value that holds no other.
func (s *scanner) scalar(start, end int, kind Kind, plain bool) int {
	if s.unindexed {
		return end
	}
	s.entries = append(s.entries, indexEntry{
		start: uint32(start), end: uint32(end), next: uint32(len(s.entries) + 1), kind: kind, plain: plain,
	})
	return end
}

// open appends the entry of a container, which close completes.
func (s *scanner) open(i, depth int, kind Kind) int {
	if depth > MaxDepth && !s.unbounded {
		s.where, s.fault = i, ErrTooDeep
		return -1
	}
	if s.unindexed {
		return 0
	}
	s.entries = append(s.entries, indexEntry{start: uint32(i), kind: kind})
	return len(s.entries) - 1
}

func (s *scanner) close(at, i int) int {
	if s.unindexed {
		return i + 1
	}
	s.entries[at].end, s.entries[at].next = uint32(i+1), uint32(len(s.entries))
	return i + 1
}

func (s *scanner) object(i, depth int) int {
	at := s.open(i, depth, Object)
	if at < 0 {
		return -1
	}
	i = s.space(i + 1)
	if i < len(s.raw) && s.raw[i] == '}' {
		return s.close(at, i)
	}
	for {
		if i >= len(s.raw) || s.raw[i] != '"' {
			return s.fail(i)
		}
		if i = s.text(i); i < 0 {
			return -1
		}
		if i = s.space(i); i >= len(s.raw) || s.raw[i] != ':' {
			return s.fail(i)
		}
		if i = s.value(s.space(i+1), depth); i < 0 {
			return -1
		}
		i = s.space(i)
		switch {
		case i < len(s.raw) && s.raw[i] == ',':
			i = s.space(i + 1)
		case i < len(s.raw) && s.raw[i] == '}':
			return s.close(at, i)
		default:
			return s.fail(i)
		}
	}
}

// deferredObject checks an object and appends an entry for it alone.
func (s *scanner) deferredObject(i, depth int) int {
	at := s.open(i, depth, Object)
	s.unindexed = true
	end := s.object(i, depth)
	s.unindexed = false
	if end < 0 {
		return -1
	}
	s.entries[at].deferred = true
	return s.close(at, end-1)
}

func (s *scanner) array(i, depth int) int {
	at := s.open(i, depth, Array)
	if at < 0 {
		return -1
	}
	i = s.space(i + 1)
	if i < len(s.raw) && s.raw[i] == ']' {
		return s.close(at, i)
	}
	for {
		if i = s.value(i, depth); i < 0 {
			return -1
		}
		i = s.space(i)
		switch {
		case i < len(s.raw) && s.raw[i] == ',':
			i = s.space(i + 1)
		case i < len(s.raw) && s.raw[i] == ']':
			return s.close(at, i)
		default:
			return s.fail(i)
		}
	}
}

func (s *scanner) literal(i int, word string, kind Kind) int {
	end := i + len(word)
	if end > len(s.raw) || string(s.raw[i:end]) != word {
		return s.fail(i)
	}
	return s.scalar(i, end, kind, false)
}

func (s *scanner) number(start int) int {
	i := start
	if s.raw[i] == '-' {
		i++
	}
	whole := s.digits(i)
	if whole == i || (s.raw[i] == '0' && whole > i+1) {
		return s.fail(i)
	}
	i = whole
	if i < len(s.raw) && s.raw[i] == '.' {
		fraction := s.digits(i + 1)
		if fraction == i+1 {
			return s.fail(i)
		}
		i = fraction
	}
	if i < len(s.raw) && (s.raw[i] == 'e' || s.raw[i] == 'E') {
		i++
		if i < len(s.raw) && (s.raw[i] == '+' || s.raw[i] == '-') {
			i++
		}
		exponent := s.digits(i)
		if exponent == i {
			return s.fail(i)
		}
		i = exponent
	}
	return s.scalar(start, i, Number, false)
}

func (s *scanner) digits(i int) int {
	for i < len(s.raw) && s.raw[i]-'0' < 10 {
		i++
	}
	return i
}

// text scans a string, eight bytes at a time. An ASCII byte of a word w is below n if its highest bit is set in w-n*ones.
// Bytes above a special one can have this bit too, so that only the lowest one counts.
func (s *scanner) text(start int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	raw, plain := s.raw, true
	for i := start + 1; i < len(raw); {
		if i+8 <= len(raw) {
			w := binary.LittleEndian.Uint64(raw[i:])
			quote, slash := w^('"'*ones), w^('\\'*ones)
			special := ((quote - ones) | (slash - ones) | (w - ' '*ones) | w) & highs
			if special == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(special) / 8
		}
		switch c := raw[i]; {
		case c == '"':
			return s.scalar(start, i+1, String, plain)
		case c == '\\' || c < ' ':
			plain = false
			if i = s.escape(i); i < 0 {
				return -1
			}
		default:
			plain = plain && c < utf8.RuneSelf
			i++
		}
	}
	return s.fail(len(s.raw))
}

// escape checks one escape sequence; a control character that is not escaped fails too.
func (s *scanner) escape(i int) int {
	if s.raw[i] != '\\' || i+1 >= len(s.raw) {
		return s.fail(i)
	}
	switch s.raw[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 > len(s.raw) {
			return s.fail(i)
		}
		for _, c := range s.raw[i+2 : i+6] {
			if strings.IndexByte("0123456789abcdefABCDEF", c) < 0 {
				return s.fail(i)
			}
		}
		return i + 6
	default:
		return s.fail(i)
	}
}

// Quote returns s as a JSON string. It escapes only characters that JSON requires; invalid UTF-8 becomes U+FFFD.
func Quote(s string) []byte {
	return appendQuoted(make([]byte, 0, quotedSize(len(s))), s)
}

// quotedSize estimates the length in bytes of a quoted string.
func quotedSize(length int) int { return length + length/16 + 2 }

// appendQuoted appends the result of Quote to dst.
func appendQuoted[S string | []byte](dst []byte, s S) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0 // start of the unescaped part
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

// unquote decodes a valid JSON string. A surrogate without its partner and invalid UTF-8 become U+FFFD.
func unquote(raw []byte) string {
	var out strings.Builder
	out.Grow(len(raw))
	for body := raw[1 : len(raw)-1]; ; {
		run, rest, escaped := bytes.Cut(body, []byte{'\\'})
		out.Write(run)
		if !escaped && utf8.ValidString(out.String()) {
			return out.String()
		}
		i := -1
		if escaped {
			i = strings.IndexByte(`"\/bfnrt`, rest[0])
		}
		if i < 0 { // \u or invalid UTF-8
			var decoded string
			_ = json.Unmarshal(raw, &decoded) // a valid string can always be decoded
			return decoded
		}
		out.WriteByte("\"\\/\b\f\n\r\t"[i])
		body = rest[1:]
	}
}

// arena is the memory of a document and its sub-documents: the index, nodes, lists of children and added values. Releasing
// a document makes its arena available to the next one.
type arena struct {
	entries []indexEntry
	nodes   slab[Node]
	lists   slab[*Node]
	// documents are the sub-documents, and bytes the results of Patch and the texts of Contents.
	documents slab[Document]
	bytes     slab[byte]
	// spare is memory for the values that edits add, and used the memory that the last edited document has.
	spare, used indexedText
}

// slab hands out its items in pieces. A larger list replaces a full one; after reset, one list has room for all items
// that were taken.
type slab[T any] struct {
	items        []T
	taken, total int
}

// take returns n items that are zero.
func (s *slab[T]) take(n int) []T {
	const smallest, largest = 4, 1024
	if len(s.items)-s.taken < n {
		s.items, s.taken = make([]T, max(n, smallest, min(4*len(s.items), largest))), 0
	}
	out := s.items[s.taken : s.taken+n : s.taken+n]
	s.taken += n
	s.total += n
	return out
}

// reset makes all items available again.
func (s *slab[T]) reset() {
	if s.total > len(s.items) {
		s.items = make([]T, s.total+s.total/8)
	} else {
		clear(s.items[:s.taken])
	}
	s.taken, s.total = 0, 0
}

// Limits of the entries (16 bytes each), the nodes (about 100 bytes each) and the added values kept for the next document.
const (
	maxPooled      = 1 << 18
	maxPooledNodes = 1 << 14
	maxPooledAdded = 1 << 16 // bytes of the values that edits added, and of the other texts
)

var arenas = sync.Pool{New: func() any { return new(arena) }}

// entriesIn estimates how many entries a text of the given length has.
func entriesIn(length int) int { return length/12 + 16 }

// takeArena returns empty buffers with an index large enough for a text of the given length.
func takeArena(length int) *arena {
	r := arenas.Get().(*arena)
	if want := entriesIn(length); cap(r.entries) < want {
		r.entries = make([]indexEntry, 0, want)
	}
	return r
}

// recycle returns the arena to the pool for the next document, with the grown index.
func (r *arena) recycle(entries []indexEntry) {
	if cap(entries) > maxPooled || max(r.nodes.total, r.lists.total) > maxPooledNodes {
		return
	}
	r.entries = entries[:0]
	r.nodes.reset()
	r.lists.reset()
	r.documents.reset()
	if r.bytes.total > maxPooledAdded {
		r.bytes = slab[byte]{}
	}
	r.bytes.reset()
	if r.used.raw != nil && cap(r.used.raw) <= maxPooledAdded {
		r.spare = indexedText{r.used.raw[:0], r.used.entries[:0]}
	}
	r.used = indexedText{}
	arenas.Put(r)
}

// Kind is the type of a JSON value.
type Kind uint8

// The kinds. Invalid is the kind of a missing value.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String returns the name of the kind in lower case, "absent" for Invalid.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	default:
		return "absent"
	}
}

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
	// ErrGone means that an edited Node was removed or replaced before.
	ErrGone = errors.New("value was removed")
	// ErrReadOnly marks an edit of the tree that Document.Original returns.
	ErrReadOnly = errors.New("original is read only")
)
