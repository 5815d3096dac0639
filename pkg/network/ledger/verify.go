// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Fault is an incorrect or missing row.
type Fault struct {
	Key string `json:"key"`
	// Problem describes the mistake, and Remedy the action to take.
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
}

// The remedies of faults that an export does not contain, or that an import corrects, and of two owners of one resource.
const (
	remedyRewrite = "export the ledger, and import it into a new one: the import writes only the rows of allocations"
	remedyTwo     = "two may use it: find out who does, and release the other with `graft ledger release`"
)

// VerifyOptions configure Verify.
type VerifyOptions struct {
	// Now is the current time for comparisons.
	Now time.Time
	// Maximum limits the reported faults. Default 10,000.
	Maximum int
	// Progress is called periodically with the number of rows read; it may be nil.
	Progress func(rows int)
}

// Report is the result of Verify.
type Report struct {
	// Rows are all rows, Allocations those of owners; Held and Quarantined are the resources.
	Rows        int `json:"rows"`
	Allocations int `json:"allocations"`
	Held        int `json:"held"`
	Quarantined int `json:"quarantined"`
	// Records are rows of other packages, such as networks of containers.
	Records int `json:"records,omitempty"`
	// Faults is sorted by key. More means that there are further faults.
	Faults []Fault `json:"faults"`
	More   bool    `json:"more,omitempty"`
}

// Verify reports all mistakes in the rows of a store. It reads them once, as they are at one time. It keeps the keys of
// all resources in memory. It fails if the store does; mistakes in rows are no error.
func Verify(ctx context.Context, store Store, o VerifyOptions) (*Report, error) {
	if o.Maximum == 0 {
		o.Maximum = 10_000
	}
	v := &verifier{
		VerifyOptions: o, report: &Report{}, owners: map[network.Owner]bool{}, broken: map[string]bool{}, quarantined: map[string]bool{},
		claimed: map[string][]network.Owner{}, chosen: map[claim]bool{}, held: map[string]network.Owner{}, quotas: newTally(),
	}
	found, err := store.Get(ctx, keyFormat)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	steps := []func() error{
		func() error { return v.format(ctx, store, found) }, func() error { return v.scan(ctx, store) },
		v.compareClaims, v.compareHeld, v.comparePools, v.compareQuotas,
	}
	for _, step := range steps {
		if err := step(); errors.Is(err, errEnough) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(v.report.Faults, func(a, b Fault) int { return strings.Compare(a.Key, b.Key) })
	return v.report, nil
}

type verifier struct {
	VerifyOptions
	report *Report
	// owners are those with a readable row, and broken the keys of unreadable rows.
	owners map[network.Owner]bool
	broken map[string]bool
	// claims lists the resources that the rows of owners name, in their order; claimed has the same by resource. chosen
	// has those that a cloud has chosen.
	claims  []claim
	claimed map[string][]network.Owner
	chosen  map[claim]bool
	// held maps resources to the owners named in their rows, and quarantined has the keys of resources in quarantine.
	held        map[string]network.Owner
	quarantined map[string]bool
	quotas      tally
	// uncounted reports that the counts of quotas are not known, because the row of an owner cannot be read.
	uncounted bool
}

// claim is a resource that the row of an owner lists.
type claim struct {
	owner network.Owner
	key   string
}

// errEnough ends the search after the maximum of faults.
var errEnough = errors.New("enough faults")

func (v *verifier) add(f Fault) error {
	if len(v.report.Faults) >= v.Maximum {
		v.report.More = true
		return errEnough
	}
	v.report.Faults = append(v.report.Faults, f)
	return nil
}

func (v *verifier) format(ctx context.Context, store Store, found []byte) error {
	fresh, err := readFormat(found)
	if errors.Is(err, ErrImporting) {
		return v.add(Fault{Key: keyFormat, Problem: err.Error(), Remedy: "repeat the import"})
	}
	if fresh && err == nil {
		if empty, err := Empty(ctx, store); err != nil || empty {
			return err
		}
		return v.add(Fault{Key: keyFormat, Problem: "the row with the format of the ledger is missing", Remedy: remedyRewrite})
	}
	return err
}

// scan reads all rows, checks each one separately, and records the owners of resources.
func (v *verifier) scan(ctx context.Context, store Store) error {
	read := 0
	err := store.Scan(ctx, "", func(key, value []byte) error {
		if read++; v.Progress != nil && read%4096 == 0 {
			v.Progress(read)
		}
		if string(key) == keyFormat {
			return nil
		}
		e, err := ReadEntry(key, value)
		if err == nil && e.Internal {
			v.quotas.add(e)
			return nil
		}
		v.report.Rows++
		if strings.HasPrefix(e.Key, prefixOwner) {
			v.report.Allocations++
		}
		if err != nil {
			return v.unreadable(e.Key, err)
		}
		return v.note(e)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	return err
}

// unreadable adds the fault of a row that cannot be read.
func (v *verifier) unreadable(key string, err error) error {
	v.broken[key] = true
	remedy := "no allocation depends on it; find out which program wrote it, and if it was Graft, restore the ledger from an export"
	if strings.HasPrefix(key, prefixOwner) {
		remedy = "restore it from an export: export the other rows with --leave-out-broken, add it, and import all into a new ledger"
		v.uncounted = true
	} else if isRecord(key) {
		remedy = "restore it from an export: export the other rows with --leave-out-broken, add its line, and import all into a new ledger"
	}
	return v.add(Fault{Key: key, Problem: err.Error(), Remedy: remedy})
}

func (v *verifier) note(e Entry) error {
	switch {
	case e.Record:
		v.report.Records++
	case e.Allocation != nil:
		v.owners[e.Owner] = true
		v.quotas.add(e)
		for _, key := range resourceKeys(*e.Allocation) {
			v.claimed[key] = append(v.claimed[key], e.Owner)
			v.claims = append(v.claims, claim{e.Owner, key})
		}
		for _, chosen := range e.Allocation.Binding.Addresses {
			v.chosen[claim{e.Owner, addressKey(e.Allocation.Pool, chosen.Addr())}] = true
		}
	case e.Until.IsZero():
		v.report.Held++
		v.held[e.Key] = e.Owner
	default:
		v.report.Quarantined++
		v.quarantined[e.Key] = true
	}
	return v.times(e)
}

const (
	// skew is the tolerated difference of clocks. It is large, because only a wrong clock should be reported.
	skew = time.Hour
	// longRest is longer than the quarantine of any pool.
	longRest = 366 * 24 * time.Hour
)

func (v *verifier) times(e Entry) error {
	if a := e.Allocation; a != nil && a.Since.After(v.Now.Add(skew)) {
		return v.add(Fault{Key: e.Key, Problem: "its start " + a.Since.Format(time.RFC3339) + " is in the future",
			Remedy: "check the clocks of the servers; the allocation is valid"})
	}
	if e.Until.After(v.Now.Add(longRest)) {
		return v.add(Fault{Key: e.Key, Problem: "its quarantine ends at " + e.Until.Format(time.RFC3339) + ", which is more than a year",
			Remedy: "check the clocks of the servers; the server ends it after the pool's quarantine"})
	}
	return nil
}

// compareClaims checks that the row of each resource names the owner that lists it.
func (v *verifier) compareClaims() error {
	for _, c := range v.claims {
		by, held := v.held[c.key]
		if held && by == c.owner {
			continue
		}
		resource, _ := parseResource(c.key) // the key is made by this package
		f := Fault{Key: ownerKey(c.owner), Remedy: remedyRewrite}
		switch {
		case held || v.broken[c.key]:
			f.Problem, f.Remedy = fmt.Sprintf("it has %s, but the row names %s", resource, by), remedyTwo
		case v.quarantined[c.key]:
			f.Problem = fmt.Sprintf("it has %s, but the row says quarantine", resource)
		default:
			f.Problem = fmt.Sprintf("it has %s, which has no row", resource)
		}
		if len(v.claimed[c.key]) > 1 {
			f.Remedy = remedyTwo
		}
		if err := v.add(f); err != nil {
			return err
		}
	}
	return nil
}

// compareHeld checks that the owner of each resource lists it.
func (v *verifier) compareHeld() error {
	for _, key := range slices.Sorted(maps.Keys(v.held)) {
		owner := v.held[key]
		if slices.Contains(v.claimed[key], owner) || v.broken[ownerKey(owner)] {
			continue
		}
		holds := "nothing"
		if v.owners[owner] {
			holds = "other things"
		}
		err := v.add(Fault{Key: key, Problem: fmt.Sprintf("its owner %s has %s", owner, holds), Remedy: remedyRewrite})
		if err != nil {
			return err
		}
	}
	return nil
}

// comparePools checks that no address is held under two pools, unless the clouds have chosen it under both.
func (v *verifier) comparePools() error {
	under := map[netip.Addr]string{}
	for _, key := range slices.Sorted(maps.Keys(v.held)) {
		resource, err := parseResource(key)
		if err != nil || !resource.Address.IsValid() {
			continue
		}
		first, twice := under[resource.Address]
		if !twice {
			under[resource.Address] = key
			continue
		}
		if v.chosen[claim{v.held[first], first}] && v.chosen[claim{v.held[key], key}] {
			continue // two clouds may use one address in different networks
		}
		pool, _, _ := parseAddress(first)
		err = v.add(Fault{Key: key, Problem: fmt.Sprintf("%s has %s, and %s has it of the pool %s", v.held[key], resource, v.held[first], pool),
			Remedy: remedyTwo})
		if err != nil {
			return err
		}
	}
	return nil
}

// compareQuotas checks the counts of quotas.
func (v *verifier) compareQuotas() error {
	if v.uncounted {
		return nil
	}
	for _, change := range v.quotas.changes() {
		f := Fault{Key: change.Key, Problem: fmt.Sprintf("it counts %q, and allocations count %q for it", change.Was, change.Value),
			Remedy: remedyRewrite}
		if err := v.add(f); err != nil {
			return err
		}
	}
	return nil
}
