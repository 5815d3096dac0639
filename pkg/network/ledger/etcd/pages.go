// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd

import clientv3 "go.etcd.io/etcd/client/v3"

// pages part the rows from one key to another, which it excludes. Each part ends not far behind its first page: etcd counts all rows of the range that it is
// asked for, however few it gives, so that of a million rows, asked for up to their end, each page would take as long as that count.
type pages struct {
	// from and to limit the next request; end is the end of the whole range.
	from, to, end string
	// read is how many rows were read, at least, since the last part's end.
	read int
	// wider is how many letters the beginning of a key loses that is common to a part, as the last parts had few rows.
	wider int
}

func newPages(from, end string) *pages { return &pages{from: from, to: end, end: end} }

// over reports whether the whole range was read.
func (p *pages) over() bool { return p.from >= p.end }

// more records that the part has further rows after those from first to last. The part now ends about four times as far
// after last as that is after first.
func (p *pages) more(first, last string) {
	same := 0
	for same < min(len(first), len(last)) && first[same] == last[same] {
		same++
	}
	p.from, p.to, p.read, p.wider = last+"\x00", p.after(last[:same]), page, 0
	if same < len(first) {
		if far := int(last[same]) + 4*int(last[same]-first[same]); far <= 0xff {
			p.to = min(p.to, last[:same]+string([]byte{byte(far)}))
		}
	}
}

// done records that a part was read completely, with the number of rows on its last page. The next part is as wide, or
// wider if there were few rows.
func (p *pages) done(rows int) {
	const few = page / 4
	if p.read+rows >= few {
		p.wider = 0
	} else {
		p.wider = max(1, 2*p.wider)
	}
	p.from, p.read = p.to, 0
	p.to = p.after(p.from[:max(0, len(p.from)-p.wider)])
}

// after returns the first key after all keys with a prefix, or the end.
func (p *pages) after(beginning string) string {
	if beginning == "" {
		return p.end
	}
	if next := clientv3.GetPrefixRangeEnd(beginning); next > beginning {
		return min(next, p.end)
	}
	return p.end // of nothing but the greatest letters
}
