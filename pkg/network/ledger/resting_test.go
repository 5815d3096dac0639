// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestResting(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	var r resting
	for i := range 20 {
		r.add(rest{key: fmt.Sprint(i), until: at(100 - i), due: at(100 - i)})
	}
	r.add(rest{key: "3", until: at(97), due: at(200)}) // known, and due sooner
	r.add(rest{key: "4", until: at(96), due: at(50)})  // known, and due later
	r.add(rest{key: "5", until: at(150), due: at(150)})
	if _, ok := r.remove("6"); !ok {
		t.Error("a row that rests is not found")
	}
	if _, ok := r.remove("6"); ok {
		t.Error("a row that was removed still rests")
	}
	keys := func(rows []rest) (keys []string) {
		for _, row := range rows {
			keys = append(keys, row.key)
		}
		return keys
	}
	for i, c := range []struct {
		now, most int
		want      []string
	}{
		{now: 49, most: 10},
		{now: 50, most: 10, want: []string{"4"}},
		{now: 84, most: 2, want: []string{"19", "18"}},
		{now: 84, most: 10, want: []string{"17", "16"}},
		{now: 98, most: 100, want: []string{"15", "14", "13", "12", "11", "10", "9", "8", "7", "3", "2"}},
		{now: 149, most: 100, want: []string{"1", "0"}},
		{now: 150, most: 100, want: []string{"5"}},
		{now: 1000, most: 100},
	} {
		due := r.take(at(c.now), c.most)
		if diff := cmp.Diff(c.want, keys(due)); diff != "" {
			t.Errorf("%d: due at %d (-want +got):\n%s", i, c.now, diff)
		}
		for _, row := range due {
			r.remove(row.key)
		}
	}
	if len(r.rows) != 0 || len(r.queue) != 0 {
		t.Errorf("%d rows and %d entries are left", len(r.rows), len(r.queue))
	}
}

// TestRestingByPool holds what is counted against counting, whatever comes and goes in whatever way.
func TestRestingByPool(t *testing.T) {
	var r resting
	for i := range 10_000 {
		key := []string{"ip/a/0a0000", "ip/b/0a0000", "mac/0a:58:00:00:00:", "vlan/n/m/"}[rand.IntN(4)] + fmt.Sprintf("%02x", rand.IntN(20))
		at := time.Unix(rand.Int64N(100), 0)
		switch rand.IntN(4) {
		case 0:
			r.remove(key)
		case 1:
			for _, row := range r.take(at, rand.IntN(3)) {
				r.remove(row.key)
			}
		default:
			r.add(rest{key: key, until: at, due: at.Add(time.Duration(rand.IntN(5)) * time.Second)})
		}
		want := map[family]uint64{}
		for key := range r.rows {
			if pool, address, err := parseAddress(key); err == nil && strings.HasPrefix(key, prefixAddress) {
				want[family{pool, address.Is6()}]++
			}
		}
		if diff := cmp.Diff(want, r.addresses, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("after %d steps (-want +got):\n%s", i, diff)
		}
	}
}

// TestPutBack holds what becomes of a row that could not be woken.
func TestPutBack(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	row := func(until int64) rest { return rest{key: "a", until: at(until), due: at(until)} }
	for name, c := range map[string]struct {
		meanwhile func(*resting)
		want      []rest
	}{
		"nothing new":            {func(*resting) {}, []rest{row(10)}},
		"it is told again":       {func(r *resting) { r.add(row(10)) }, []rest{row(10)}},
		"it rests no more":       {func(r *resting) { r.remove("a") }, nil},
		"it rests anew":          {func(r *resting) { r.add(row(20)) }, []rest{row(20)}},
		"it came back and rests": {func(r *resting) { r.remove("a"); r.add(row(10)) }, []rest{row(10)}},
		"another one tries":      {func(r *resting) { r.take(at(100), 9) }, []rest{row(10)}},
	} {
		t.Run(name, func(t *testing.T) {
			var r resting
			r.add(row(10))
			for _, due := range r.take(at(100), 9) {
				if c.meanwhile(&r); len(r.take(at(5), 9)) > 0 {
					t.Error("it is due before its time")
				}
				r.putBack(due)
			}
			if diff := cmp.Diff(c.want, r.take(at(100), 9), cmp.AllowUnexported(rest{})); diff != "" {
				t.Errorf("due (-want +got):\n%s", diff)
			}
			if again := r.take(at(100), 9); len(again) > 0 {
				t.Errorf("%d are due twice", len(again))
			}
		})
	}
}

// TestRestingInAnyOrder holds the queue against sorting.
func TestRestingInAnyOrder(t *testing.T) {
	var r resting
	var want []int64
	for i := range 1000 {
		due := rand.Int64N(500)
		want = append(want, due)
		r.add(rest{key: fmt.Sprint(i), until: time.Unix(due, 0), due: time.Unix(due, 0)})
	}
	slices.Sort(want)
	var got []int64
	for _, row := range r.take(time.Unix(500, 0), 1000) {
		got = append(got, row.due.Unix())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
