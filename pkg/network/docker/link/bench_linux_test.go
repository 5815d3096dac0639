// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"fmt"
	"net/netip"
	"testing"
)

// BenchmarkPort creates and removes an endpoint's interface among existing ones.
func BenchmarkPort(b *testing.B) {
	for _, s := range benchmarked() {
		for _, others := range []int{0, 1000} {
			b.Run(fmt.Sprintf("kind=%s/others=%d", s.Kind, others), func(b *testing.B) {
				m := benchMachine(b, s, others)
				b.ResetTimer()
				for i := range b.N {
					if _, err := m.EnsurePort(b.Context(), s, Port{Endpoint: id(-1 - i)}); err != nil {
						b.Fatal(err)
					}
					m.must(b, m.RemovePort(b.Context(), s, id(-1-i)))
				}
			})
		}
	}
}

// BenchmarkEnsurePort creates an endpoint's interface; its removal is not measured.
func BenchmarkEnsurePort(b *testing.B) {
	for _, s := range benchmarked() {
		b.Run("kind="+string(s.Kind), func(b *testing.B) {
			m := benchMachine(b, s, 0)
			for i := range b.N {
				b.StartTimer()
				_, err := m.EnsurePort(b.Context(), s, Port{Endpoint: id(-1 - i)})
				b.StopTimer()
				m.must(b, err)
				m.must(b, m.RemovePort(b.Context(), s, id(-1-i)))
			}
		})
	}
}

// BenchmarkPortsAtATime has as many callers as the kernel serves concurrently.
func BenchmarkPortsAtATime(b *testing.B) {
	s := benchmarked()[0]
	m := benchMachine(b, s, 0)
	work := make(chan int)
	done := make(chan error)
	for range concurrency {
		go func() {
			for i := range work {
				_, err := m.EnsurePort(b.Context(), s, Port{Endpoint: id(-1 - i)})
				if err == nil {
					err = m.RemovePort(b.Context(), s, id(-1-i))
				}
				if err != nil {
					b.Error(err)
				}
			}
			done <- nil
		}()
	}
	b.ResetTimer()
	for i := range b.N {
		work <- i
	}
	close(work)
	for range concurrency {
		<-done
	}
}

// BenchmarkMarked lists the links of a thousand endpoints.
func BenchmarkMarked(b *testing.B) {
	m := benchMachine(b, benchmarked()[0], 1000)
	for b.Loop() {
		_, err := m.Marked(b.Context())
		m.must(b, err)
	}
}

func benchmarked() []Segment {
	return []Segment{
		{Network: id(0), Spec: Spec{Kind: Bridge}},
		{Network: id(0), Spec: Spec{Kind: Macvlan, Parent: "up0"}},
		{Network: id(0), Spec: Spec{Kind: VXLAN, VNI: 7, Peers: []netip.Addr{netip.MustParseAddr("203.0.113.2")}}},
	}
}

func benchMachine(b *testing.B, s Segment, others int) machine {
	b.Helper()
	m := newMachine(b)
	m.parent(b, "up0")
	m.must(b, m.EnsureSegment(b.Context(), s))
	for i := range others {
		_, err := m.EnsurePort(b.Context(), s, Port{Endpoint: id(1 + i)})
		m.must(b, err)
	}
	return m
}
