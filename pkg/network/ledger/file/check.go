// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// check reads a data file page by page, without mapping it, and returns its state. It follows every reference from the newest meta page,
// and compares the checksums, the number and the sum of all rows with the recorded state. The error wraps ErrDamaged.
//
// bbolt itself has checksums on its two meta pages only. On a changed page it may panic, read beyond the file, follow a cycle of pages, or
// return fewer rows; so it opens a file only after check has accepted it.
//
// The layout is bbolt's file format, version 2: a header of 16 bytes on each page (id, flags, count, overflow), and elements of 16 bytes
// behind it. The pages of a new ledger hold numbers in little endian, the byte order of the machines that Graft supports.
func check(path string) (state, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return state{}, damaged("%s is missing", dataFile)
	}
	if err != nil {
		return state{}, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return state{}, err
	}
	newest, err := readMeta(file)
	if err != nil {
		return state{}, err
	}
	if info.Size() < int64(newest.pages)*pageSize {
		return state{}, damaged("%s has %d bytes, and its pages need %d", dataFile, info.Size(), newest.pages*pageSize)
	}
	c := &checker{file: file, pages: newest.pages, visited: make([]bool, newest.pages), buckets: map[string][]byte{}}
	if err := c.walk(newest.root, interval{}, 0, c.bucket); err != nil {
		return state{}, err
	}
	return c.finish()
}

// meta holds the fields of a meta page that check needs.
type meta struct {
	root, pages, transaction uint64
}

// The positions of a meta page's fields after the page header, and constants of the format.
const (
	headerBytes  = 16
	elementBytes = 16
	metaBytes    = 64
	metaMagic    = 0xED0CDAED
	metaVersion  = 2
	branchPage   = 0x01
	leafPage     = 0x02
	metaPage     = 0x04
	bucketRow    = 0x01
	// maximumDepth limits recursion in a damaged file: 32 levels of branch pages hold more rows than any disk.
	maximumDepth = 32
)

// readMeta returns the valid meta page with the highest transaction. Pages 0 and 1 are written in turn.
func readMeta(file *os.File) (meta, error) {
	var newest *meta
	for page := range int64(2) {
		raw := make([]byte, headerBytes+metaBytes)
		if _, err := file.ReadAt(raw, page*pageSize); err != nil && !errors.Is(err, io.EOF) {
			return meta{}, err
		}
		if found, ok := decodeMeta(raw, uint64(page)); ok && (newest == nil || found.transaction > newest.transaction) {
			newest = &found
		}
	}
	if newest == nil {
		return meta{}, damaged("%s has no valid first page", dataFile)
	}
	return *newest, nil
}

func decodeMeta(raw []byte, page uint64) (meta, bool) {
	fields := raw[headerBytes:]
	digest := fnv.New64a()
	_, _ = digest.Write(fields[:metaBytes-8])
	valid := binary.LittleEndian.Uint64(raw) == page && binary.LittleEndian.Uint16(raw[8:]) == metaPage &&
		binary.LittleEndian.Uint32(fields) == metaMagic && binary.LittleEndian.Uint32(fields[4:]) == metaVersion &&
		binary.LittleEndian.Uint32(fields[8:]) == pageSize && binary.LittleEndian.Uint64(fields[metaBytes-8:]) == digest.Sum64()
	return meta{
		root: binary.LittleEndian.Uint64(fields[16:]), pages: binary.LittleEndian.Uint64(fields[40:]), transaction: binary.LittleEndian.Uint64(fields[48:]),
	}, valid
}

// checker walks the pages of a file.
type checker struct {
	file    *os.File
	pages   uint64
	visited []bool
	// buckets are the headers of the buckets in the root.
	buckets map[string][]byte
	found   state
}

// interval bounds the keys of a page: from is included, below is not. Nil means no bound.
type interval struct{ from, below []byte }

func (i interval) has(key []byte) bool {
	return bytes.Compare(key, i.from) >= 0 && (i.below == nil || bytes.Compare(key, i.below) < 0)
}

// element is one entry of a page.
type element struct {
	flags      uint32
	page       uint64
	key, value []byte
}

// walk visits a page and all pages below it, and passes the rows of its leaves to each.
func (c *checker) walk(id uint64, bounds interval, depth int, each func(element) error) error {
	raw, err := c.read(id)
	if err != nil {
		return err
	}
	if depth > maximumDepth {
		return damagedPage(id, "is deeper than any page of a ledger")
	}
	branch := binary.LittleEndian.Uint16(raw[8:]) == branchPage
	elements, err := parsePage(raw, id, bounds)
	if err != nil {
		return err
	}
	if branch && len(elements) == 0 || !branch && len(elements) == 0 && depth > 0 {
		return damagedPage(id, "is empty")
	}
	for i, e := range elements {
		if !branch {
			if err := each(e); err != nil {
				return err
			}
			continue
		}
		below := interval{from: e.key, below: bounds.below}
		if i+1 < len(elements) {
			below.below = elements[i+1].key
		}
		if err := c.walk(e.page, below, depth+1, each); err != nil {
			return err
		}
	}
	return nil
}

// read returns a page with its overflow, and refuses one that was visited, lies outside the file, or is not the one expected.
func (c *checker) read(id uint64) ([]byte, error) {
	const first = 2 // pages 0 and 1 are meta pages
	if id < first || id >= c.pages {
		return nil, damagedPage(id, "does not exist")
	}
	raw := make([]byte, pageSize)
	if _, err := c.file.ReadAt(raw, int64(id)*pageSize); err != nil {
		return nil, fmt.Errorf("reading %s: %w", dataFile, err)
	}
	flags, overflow := binary.LittleEndian.Uint16(raw[8:]), uint64(binary.LittleEndian.Uint32(raw[12:]))
	if binary.LittleEndian.Uint64(raw) != id || flags != branchPage && flags != leafPage || overflow >= c.pages-id {
		return nil, damagedPage(id, "is not as it was written")
	}
	for page := id; page <= id+overflow; page++ {
		if c.visited[page] {
			return nil, damagedPage(page, "is used twice")
		}
		c.visited[page] = true
	}
	if overflow == 0 {
		return raw, nil
	}
	raw = make([]byte, (overflow+1)*pageSize)
	if _, err := c.file.ReadAt(raw, int64(id)*pageSize); err != nil {
		return nil, fmt.Errorf("reading %s: %w", dataFile, err)
	}
	return raw, nil
}

// parsePage returns the elements of a page. Their keys must be ascending and within the bounds.
func parsePage(raw []byte, id uint64, bounds interval) ([]element, error) {
	branch, count := binary.LittleEndian.Uint16(raw[8:]) == branchPage, int(binary.LittleEndian.Uint16(raw[10:]))
	if headerBytes+count*elementBytes > len(raw) {
		return nil, damagedPage(id, "has too many elements")
	}
	elements := make([]element, count)
	for i := range elements {
		at := headerBytes + i*elementBytes
		e, ok := parseElement(raw, at, branch)
		if !ok {
			return nil, damagedPage(id, "has an element outside of it")
		}
		if !bounds.has(e.key) || i > 0 && bytes.Compare(elements[i-1].key, e.key) >= 0 {
			return nil, damagedPage(id, "has keys out of order")
		}
		elements[i] = e
	}
	return elements, nil
}

// parseElement parses the element with a header at a position, and reports whether it is inside the page. A branch
// element has the position and length of its key, and a page; a leaf element has flags, the position, and the lengths
// of key and value.
func parseElement(raw []byte, at int, branch bool) (element, bool) {
	word := func(n int) uint64 { return uint64(binary.LittleEndian.Uint32(raw[at+4*n:])) }
	e := element{}
	position, key, value := word(0), word(1), uint64(0)
	if branch {
		e.page = binary.LittleEndian.Uint64(raw[at+8:])
	} else {
		e.flags, position, key, value = uint32(word(0)), word(1), word(2), word(3)
	}
	start := uint64(at) + position
	if start+key+value > uint64(len(raw)) {
		return e, false
	}
	e.key, e.value = raw[start:start+key], raw[start+key:start+key+value]
	return e, true
}

// bucket notes a bucket of the root page.
func (c *checker) bucket(e element) error {
	if e.flags != bucketRow {
		return damaged("%s has a row outside of the rows", dataFile)
	}
	c.buckets[string(e.key)] = bytes.Clone(e.value)
	return nil
}

// finish reads both buckets and compares the result with the recorded state.
func (c *checker) finish() (state, error) {
	var recorded state
	readState := func(e element) (err error) {
		recorded, err = decodeState(e.value)
		return err
	}
	for _, bucket := range []struct {
		name []byte
		each func(element) error
	}{{stateBucket, readState}, {rowsBucket, c.row}} {
		if err := c.walkBucket(bucket.name, bucket.each); err != nil {
			return state{}, err
		}
	}
	if c.found.Rows != recorded.Rows || c.found.Sum != recorded.Sum {
		return state{}, damaged("%s has %d rows where %d were written, or others", dataFile, c.found.Rows, recorded.Rows)
	}
	return recorded, nil
}

// walkBucket visits the rows of a bucket. A small bucket is a page inside its own header.
func (c *checker) walkBucket(name []byte, each func(element) error) error {
	header := c.buckets[string(name)]
	if len(header) < headerBytes {
		return damaged("%s lacks its %s", dataFile, name)
	}
	checked := func(e element) error {
		if e.flags != 0 {
			return damaged("%s has a bucket among its %s", dataFile, name)
		}
		return each(e)
	}
	if root := binary.LittleEndian.Uint64(header); root != 0 {
		return c.walk(root, interval{}, 0, checked)
	}
	inline := header[headerBytes:]
	if len(inline) < headerBytes || binary.LittleEndian.Uint16(inline[8:]) != leafPage {
		return damaged("the %s in %s are not as they were written", name, dataFile)
	}
	elements, err := parsePage(inline, 0, interval{})
	if err != nil {
		return err
	}
	for _, e := range elements {
		if err := checked(e); err != nil {
			return err
		}
	}
	return nil
}

// row adds a row to the result.
func (c *checker) row(e element) error {
	if _, err := decode(e.key, e.value); err != nil {
		return err
	}
	c.found.Rows++
	c.found.Sum += checksumOf(e.value)
	return nil
}

func damagedPage(id uint64, problem string) error {
	return damaged("page %d of %s %s", id, dataFile, problem)
}
