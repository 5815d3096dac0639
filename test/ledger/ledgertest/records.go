// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/archive"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/record"
)

// thing is the value of a record.
type thing struct {
	Name   string `json:"name"`
	Number int    `json:"number,omitempty"`
}

func put(t *testing.T, table *record.Table[thing], key string, value thing) {
	t.Helper()
	if err := table.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
}

func testRecords(t *testing.T, open Open) {
	store := open(t)
	one, other := record.New[thing](store, "n1", "things"), record.New[thing](store, "", "things")
	put(t, one, "a/b", thing{"first", 1})
	put(t, one, "c", thing{Name: "second"})
	put(t, one, "a/b", thing{"first", 2})
	put(t, other, "c", thing{Name: "of another node"})
	if err := one.Delete(t.Context(), "none"); err != nil {
		t.Error(err)
	}
	closing(t, store)
	store = open(t)
	defer closing(t, store)
	const want = `record/-/things/c={"name":"of another node"} record/n1/things/a/b={"name":"first","number":2} ` +
		`record/n1/things/c={"name":"second"}`
	if diff := cmp.Diff(want, rows(t, store, "")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	one = record.New[thing](store, "n1", "things")
	got, err := one.Rows(t.Context())
	for key := range got {
		if err := one.Delete(t.Context(), key); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(map[string]thing{"a/b": {"first", 2}, "c": {Name: "second"}}, got); diff != "" || err != nil {
		t.Errorf("all (-want +got):\n%s%v", diff, err)
	}
	if value, ok, err := one.Get(t.Context(), "c"); ok || err != nil {
		t.Errorf("a row that was removed: got %v and %v", value, err)
	}
	for key, value := range map[string]string{"future": `{"name":"x","colour":"red"}`, "half": `{"name":`,
		"two": `{} {}`} {
		if err := store.Commit(t.Context(), ledger.Change{Key: "record/n1/things/" + key, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
		_, _, err := one.Get(t.Context(), key)
		var broken *ledger.BrokenRow
		if !errors.As(err, &broken) || broken.Key != "record/n1/things/"+key {
			t.Errorf("%s: got error %v, want one that names the row", key, err)
		}
	}
}

// testSharedRecords checks that no change is lost if two processes change the same rows, and that only changed rows are
// written.
func testSharedRecords(t *testing.T, open Open) {
	store := open(t)
	defer closing(t, store)
	one, other := record.New[thing](store, "n1", "things"), record.New[thing](store, "n1", "things")
	count := func(of *thing) (*thing, error) {
		next := thing{Number: 1}
		if of != nil {
			next.Number += of.Number
		}
		return &next, nil
	}
	const rounds = 25
	var group sync.WaitGroup
	for _, table := range []*record.Table[thing]{one, other} {
		group.Go(func() {
			for range rounds {
				if err := table.Update(t.Context(), "a", count); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if value, _, err := other.Get(t.Context(), "a"); value.Number != 2*rounds || err != nil {
		t.Errorf("got %v and %v", value, err)
	}
	refused := errors.New("refused")
	if err := one.Update(t.Context(), "a", func(*thing) (*thing, error) { return nil, refused }); !errors.Is(err,
		refused) {
		t.Errorf("got error %v, want %v", err, refused)
	}
	if err := one.Update(t.Context(), "a", func(*thing) (*thing, error) { return nil, nil }); err != nil {
		t.Error(err)
	}
	if _, ok, err := one.Get(t.Context(), "a"); ok || err != nil {
		t.Errorf("the row is there: %v and %v", ok, err)
	}
	if err := store.Commit(t.Context(), ledger.Change{Key: "record/n1/things/half", Value: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	var broken *ledger.BrokenRow
	if err := one.Update(t.Context(), "half", count); !errors.As(err, &broken) {
		t.Errorf("a row that cannot be read: got error %v", err)
	}
	if err := one.Update(t.Context(), "half", func(*thing) (*thing, error) { return nil, nil }); err != nil {
		t.Errorf("deleting a row that cannot be read: %v", err)
	}
	for i := range 32 {
		group.Go(func() {
			for number := range 10 {
				if err := one.Put(t.Context(), fmt.Sprintf("many/%d", i%8), thing{Number: i*100 + number}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// testRecordsBeside checks that a ledger ignores records, and that exports contain them.
func testRecordsBeside(t *testing.T, open Open) {
	store := open(t)
	l := opened(t, store)
	reserve(t, l, intent("a"))
	put(t, record.New[thing](store, "n1", "things"), "b", thing{Name: "<b>"})
	again := openLedger(t, store)
	reserve(t, again, intent("c"))
	report, err := ledger.Verify(t.Context(), store, 0)
	if err != nil || len(report.Faults) > 0 || report.Records != 1 || report.Allocations != 2 {
		t.Errorf("got %+v and %v", report, err)
	}
	var out bytes.Buffer
	done, err := archive.Export(t.Context(), store, &out, nil)
	if err != nil || !done.Even || done.Records != 1 || done.Allocations != 2 {
		t.Fatalf("exported %+v, %v", done, err)
	}
	text := out.String()
	before := rows(t, store, "")
	var all []ledger.Change
	err = store.Scan(t.Context(), "", func(key, value []byte) error {
		all = append(all, ledger.Change{Key: string(key), Was: bytes.Clone(value)})
		return nil
	})
	if err == nil {
		err = store.Commit(t.Context(), all...)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = archive.Import(t.Context(), func() (ledger.Store, error) { return store, nil },
		strings.NewReader(text))
	if diff := cmp.Diff(before, rows(t, store, "")); diff != "" || err != nil {
		t.Errorf("rows after the import (-before +after):\n%s%v", diff, err)
	}
}

// testNext checks that Next returns a free address in the requested range until none is free.
func testNext(t *testing.T, open Open) {
	l := opened(t, open(t))
	part := netip.MustParsePrefix("10.0.0.2/31")
	var got []string
	for {
		address, err := l.Next(t.Context(), "pool", part)
		if errors.Is(err, network.ErrExhausted) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		in := intent(address.String())
		in.Addresses, in.Families = []netip.Addr{address}, []int{}
		got = append(got, reserve(t, l, in).Addresses[0].String())
	}
	if diff := cmp.Diff([]string{"10.0.0.2", "10.0.0.3"}, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	for part, want := range map[string]error{"10.0.0.0/24": nil, "fd00::/64": nil, "10.9.0.0/24": network.ErrOutside,
		"10.0.0.9/32": network.ErrOutside} {
		_, err := l.Next(context.WithoutCancel(t.Context()), "pool", netip.MustParsePrefix(part))
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: got error %v, want %v", part, err, want)
		}
	}
	if _, err := l.Next(t.Context(), "none", part); !errors.Is(err, network.ErrUnknownPool) {
		t.Errorf("got error %v, want %v", err, network.ErrUnknownPool)
	}
}
