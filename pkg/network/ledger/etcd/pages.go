// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd

import clientv3 "go.etcd.io/etcd/client/v3"

// pages part the rows from one key to another, which it excludes. Each part ends not far behind its first page: etcd counts all rows of the range that it is
// asked for, however few it gives, so that of a million rows, asked for up to their end, each page would take as long as that count.
type pages struct {
	// from and to are what to ask for next; end is where all ends.
	from, to, end string
	// read is how many rows were read, at least, since the last part's end.
	read int
	// wider is how many letters the beginning of a key loses that is common to a part, as the last parts had few rows.
	wider int
}

func newPages(from, end string) *pages { return &pages{from: from, to: end, end: end} }

// over says whether all was read.
func (p *pages) over() bool { return p.from >= p.end }

// more says that the part has more rows than those that were read, of which the first and the last are given. It ends now about four times as far behind the last
// as that is behind the first.
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

// done says that a part was read to its end, with so many rows on its last page. The next one is as wide, and wider when there were few in all.
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

// after is the first key that is greater than all that begin in a way, or the end.
func (p *pages) after(beginning string) string {
	if beginning == "" {
		return p.end
	}
	if next := clientv3.GetPrefixRangeEnd(beginning); next > beginning {
		return min(next, p.end)
	}
	return p.end // of nothing but the greatest letters
}
