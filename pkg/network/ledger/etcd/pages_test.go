// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPages reads rows as etcd would give them: each once, in order, and no more of them are counted than a few times all.
func TestPages(t *testing.T) {
	const prefix, end = "/graft/rows/", "/graft/rows0"
	random := rand.New(rand.NewPCG(1, 2))
	for name, key := range map[string]func(i int) string{
		"keys of an empty ledger": nil,
		"keys of owners with random names": func(int) string {
			return fmt.Sprintf("owner/dranet/%08x-%04x/name/eth1", random.Uint32(), random.Uint32()>>16)
		},
		"keys of consecutive addresses": func(i int) string { return fmt.Sprintf("ip/pool/%08x", 10<<24+i) },
		"a pool of each":                func(i int) string { return fmt.Sprintf("ip/pool-%d/0a000001", i) },
		"keys of owners with long common prefixes": func(i int) string {
			return fmt.Sprintf("owner/spiderpool/uid/%[1]d%[1]d%[1]d%[1]d%[1]d%[1]d%[1]d%[1]d/%[2]d", 12345678*(i/5000), i)
		},
		"keys of all kinds of rows": func(i int) string {
			return []string{"format", "ip/p/0a%06x", "mac/0a:58:%06x", "owner/docker/%x", "vlan/n/m/%d"}[i%5] + fmt.Sprint(i)
		},
		"keys with arbitrary bytes": func(i int) string { return string([]byte{byte(i), 0xff, byte(i >> 8), 0xff, byte(i >> 16)}) },
	} {
		t.Run(name, func(t *testing.T) {
			var all, got []string
			for i := 0; key != nil && i < 100_000; i++ {
				all = append(all, prefix+key(i))
			}
			slices.Sort(all)
			all = slices.Compact(all)
			calls, counted := 0, 0
			for p := newPages(prefix, end); !p.finished(); calls++ {
				if p.to <= p.from || p.to > end {
					t.Fatalf("invalid range from %q to %q", p.from, p.to)
				}
				first, _ := slices.BinarySearch(all, p.from)
				last, _ := slices.BinarySearch(all, p.to)
				counted += last - first
				rows := all[first:min(last, first+page)]
				if got = append(got, rows...); last-first > page {
					p.extend(rows[0], rows[len(rows)-1])
				} else {
					p.advance(len(rows))
				}
			}
			if !slices.Equal(got, all) {
				t.Errorf("want all %d rows, got %d or different ones", len(all), len(got))
			}
			if counted > 12*len(all) || calls > 10+10*len(all)/page {
				t.Errorf("of %d rows, %d were counted in %d calls", len(all), counted, calls)
			}
		})
	}
}
