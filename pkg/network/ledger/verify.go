// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
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

// Fault is a row that is not as it should be, or one that is missing.
type Fault struct {
	Key string `json:"key"`
	// Problem describes the mistake, and Remedy the action to take.
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
	// Repairable says that there is only one remedy, which Repair knows.
	Repairable bool `json:"repairable"`

	repair []Change
}

// VerifyOptions say how a store is verified.
type VerifyOptions struct {
	// Now is the current time for comparisons.
	Now time.Time
	// Maximum bounds the faults that are told. Default 10,000.
	Maximum int
	// Progress is called periodically with the number of rows read; it may be nil.
	Progress func(rows int)
}

// Report is the result of Verify.
type Report struct {
	// Rows are all rows, Allocations those of owners; Held and Resting are the things.
	Rows        int `json:"rows"`
	Allocations int `json:"allocations"`
	Held        int `json:"held"`
	Resting     int `json:"resting"`
	// Records are rows of other packages, such as networks of containers.
	Records int `json:"records,omitempty"`
	// Faults is sorted by key. More means that there are further faults.
	Faults []Fault `json:"faults"`
	More   bool    `json:"more,omitempty"`
}

// Verify reports all mistakes in the rows of a store. It reads them once, and inconsistent rows again, because of
// concurrent writes. It keeps the keys of all resources in memory.
func Verify(ctx context.Context, store Store, o VerifyOptions) (*Report, error) {
	if o.Maximum == 0 {
		o.Maximum = 10_000
	}
	v := &verifier{VerifyOptions: o, store: store, report: &Report{}, claimed: map[string][]network.Owner{}, held: map[string]network.Owner{}}
	steps := []func(context.Context) error{v.format, v.scan, v.compareClaims, v.compareHeld, v.comparePools, v.compareQuotas}
	for _, step := range steps {
		if err := step(ctx); errors.Is(err, errEnough) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	v.settle()
	return v.report, nil
}

type verifier struct {
	VerifyOptions
	store  Store
	report *Report
	// claimed maps resources to the owners with rows that list them, and held to the owners named in the resources'
	// rows.
	claimed map[string][]network.Owner
	held    map[string]network.Owner
	// claims are the same as claimed, in the order of the rows.
	claims []claim
	// current reports that the store has rows of quotas.
	current bool
}

// claim is a thing that the row of an owner lists.
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
	f.Repairable = f.repair != nil
	v.report.Faults = append(v.report.Faults, f)
	return nil
}

func (v *verifier) format(ctx context.Context) error {
	found, err := v.store.Get(ctx, keyFormat)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	v.current = string(found) == format
	fresh, err := readFormat(found)
	if errors.Is(err, ErrImporting) {
		return v.add(Fault{Key: keyFormat, Problem: err.Error(), Remedy: "repeat the import"})
	}
	if fresh && err == nil {
		if empty, err := Empty(ctx, v.store); err != nil || empty {
			return err
		}
		return v.add(Fault{
			Key: keyFormat, Problem: "there are rows, and none says of which format they are", Remedy: "write it: it is known from the rows",
			repair: []Change{{Key: keyFormat, Value: []byte(format1)}},
		})
	}
	return err
}

// scan reads all rows, checks each one separately, and records the owners of resources.
func (v *verifier) scan(ctx context.Context) error {
	read := 0
	err := v.store.Scan(ctx, "", func(key, value []byte) error {
		if read++; v.Progress != nil && read%4096 == 0 {
			v.Progress(read)
		}
		if string(key) == keyFormat {
			return nil
		}
		e, err := ReadEntry(key, value)
		if err == nil && e.Internal {
			return nil
		}
		v.report.Rows++
		if strings.HasPrefix(e.Key, prefixOwner) {
			v.report.Allocations++
		}
		if err != nil {
			return v.broken(e.Key, err)
		}
		return v.note(e)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	return err
}

// broken adds the fault of a row that cannot be read.
func (v *verifier) broken(key string, err error) error {
	remedy := "nothing holds by it; find out who wrote it, and restore the ledger from an export when it was Graft"
	if strings.HasPrefix(key, prefixOwner) {
		remedy = "restore it from an export: export the rest with --leave-out-broken, add it, and import all into a new ledger"
	} else if isRecord(key) {
		remedy = "restore it from an export: export the rest with --leave-out-broken, add its line, and import all into a new ledger"
	}
	return v.add(Fault{Key: key, Problem: err.Error(), Remedy: remedy})
}

func (v *verifier) note(e Entry) error {
	switch {
	case e.Record:
		v.report.Records++
	case e.Allocation != nil:
		for _, key := range places(*e.Allocation) {
			v.claimed[key] = append(v.claimed[key], e.Owner)
			v.claims = append(v.claims, claim{e.Owner, key})
		}
	case e.Until.IsZero():
		v.report.Held++
		v.held[e.Key] = e.Owner
	default:
		v.report.Resting++
	}
	return v.times(e)
}

const (
	// skew is how far clocks may be apart.
	skew = time.Hour
	// longRest is longer than the quarantine of any pool.
	longRest = 366 * 24 * time.Hour
)

func (v *verifier) times(e Entry) error {
	if a := e.Allocation; a != nil && a.Since.After(v.Now.Add(skew)) {
		return v.add(Fault{Key: e.Key, Problem: "it is held since " + a.Since.Format(time.RFC3339) + ", which is in the future",
			Remedy: "see that the clocks of the servers are right; the allocation holds all the same"})
	}
	if e.Until.After(v.Now.Add(longRest)) {
		return v.add(Fault{Key: e.Key, Problem: "it rests until " + e.Until.Format(time.RFC3339) + ", which is more than a year",
			Remedy: "see that the clocks of the servers are right; end the rest, so that it is free",
			repair: []Change{{Key: e.Key, Was: slices.Clone(e.Value)}}})
	}
	return nil
}

// compareClaims checks that the row of each thing names the owner that lists it.
func (v *verifier) compareClaims(ctx context.Context) error {
	for _, claim := range v.claims {
		if v.held[claim.key] == claim.owner {
			continue
		}
		if err := v.compareClaim(ctx, claim.owner, claim.key); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) compareClaim(ctx context.Context, owner network.Owner, key string) error {
	raw, err := v.store.Get(ctx, ownerKey(owner))
	if err != nil || raw == nil || !mayHold(raw, key) {
		return err
	}
	owned := place{owner: owner}.encode()
	row, err := v.store.Get(ctx, key)
	if err != nil || bytes.Equal(row, owned) {
		return err
	}
	if again, err := v.store.Get(ctx, ownerKey(owner)); err != nil || !bytes.Equal(again, raw) {
		return err // it was changed between the two reads
	}
	thing, _ := parseThing(key) // the key is made by this package
	p, err := parsePlace(row)
	if row != nil && (err != nil || p.until.IsZero()) {
		return v.add(Fault{Key: ownerKey(owner), Problem: fmt.Sprintf("it holds %s, of which the row says that %s has it", thing, p.owner),
			Remedy: "two may use it: find out who does, and release the other with `graft ledger release`; --repair fixes it when the other has no row of its own"})
	}
	problem := fmt.Sprintf("it holds %s, of which no row says so", thing)
	if row != nil {
		problem = fmt.Sprintf("it holds %s, of which the row says that it rests", thing)
	}
	return v.add(Fault{Key: ownerKey(owner), Problem: problem, Remedy: "write the row, so that it is not allocated again",
		repair: []Change{{Key: ownerKey(owner), Was: raw, Value: raw}, {Key: key, Was: row, Value: owned}}})
}

// compareHeld checks that the owner of each thing lists it.
func (v *verifier) compareHeld(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(v.held)) {
		if owner := v.held[key]; !slices.Contains(v.claimed[key], owner) {
			if err := v.compareHolder(ctx, owner, key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *verifier) compareHolder(ctx context.Context, owner network.Owner, key string) error {
	row := place{owner: owner}.encode()
	raw, err := v.store.Get(ctx, ownerKey(owner))
	if err != nil {
		return err
	}
	f := Fault{Key: key, Problem: fmt.Sprintf("%s, who is to have it, holds nothing", owner), Remedy: "remove the row, so that it is free"}
	if raw != nil {
		if mayHold(raw, key) {
			return nil
		}
		f.Problem = fmt.Sprintf("%s, who is to have it, holds other things", owner)
	}
	if now, err := v.store.Get(ctx, key); err != nil || !bytes.Equal(now, row) {
		return err
	}
	f.repair = []Change{{Key: ownerKey(owner), Was: raw, Value: raw}, {Key: key, Was: row}}
	return v.add(f)
}

// mayHold reports whether an owner's row lists a thing or cannot be read, which the scan has told.
func mayHold(raw []byte, key string) bool {
	a, err := decode(raw)
	return err != nil || slices.Contains(places(a), key)
}

// comparePools checks that no address is held under two pools, unless the clouds have chosen it under both.
func (v *verifier) comparePools(ctx context.Context) error {
	under := map[netip.Addr]string{}
	for _, key := range slices.Sorted(maps.Keys(v.held)) {
		_, address, err := parseAddress(key)
		if err != nil || !strings.HasPrefix(key, prefixAddress) {
			continue
		}
		first, twice := under[address]
		if !twice {
			under[address] = key
			continue
		}
		if err := v.compareAddresses(ctx, first, key, address); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) compareAddresses(ctx context.Context, first, second string, address netip.Addr) error {
	for _, key := range []string{first, second} {
		raw, err := v.store.Get(ctx, key)
		if err != nil || !bytes.Equal(raw, place{owner: v.held[key]}.encode()) {
			return err // it was released
		}
	}
	if v.choseCloud(ctx, v.held[first], address) && v.choseCloud(ctx, v.held[second], address) {
		return nil // the clouds know whether they are of one network
	}
	thing, _ := parseThing(second)
	pool, _, _ := parseAddress(first)
	return v.add(Fault{Key: second, Problem: fmt.Sprintf("%s has %s, and %s has it of the pool %s", v.held[second], thing, v.held[first], pool),
		Remedy: "two may use it: find out who does, and release the other with `graft ledger release`"})
}

// choseCloud reports whether a cloud has chosen an address that an owner has.
func (v *verifier) choseCloud(ctx context.Context, owner network.Owner, address netip.Addr) bool {
	raw, err := v.store.Get(ctx, ownerKey(owner))
	if err != nil || raw == nil {
		return false
	}
	a, err := decode(raw)
	return err == nil && slices.ContainsFunc(a.Binding.Addresses, func(p netip.Prefix) bool { return p.Addr() == address })
}

// compareQuotas checks the counts of quotas. It reads a different count again, because of concurrent writes.
func (v *verifier) compareQuotas(ctx context.Context) error {
	if !v.current {
		return nil
	}
	changes, err := recount(ctx, v.store)
	for range maximumAttempts {
		if err != nil || len(changes) == 0 {
			return nil //nolint:nilerr // rows that cannot be read are told already
		}
		again, err := recount(ctx, v.store)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		if slices.EqualFunc(changes, again, func(a, b Change) bool {
			return a.Key == b.Key && bytes.Equal(a.Was, b.Was) && bytes.Equal(a.Value, b.Value)
		}) {
			break
		}
		changes = again
	}
	for _, change := range changes {
		f := Fault{Key: change.Key, Problem: fmt.Sprintf("it counts %q, and allocations count %q for it", change.Was, change.Value),
			Remedy: "write the right count", repair: []Change{change}}
		if err := v.add(f); err != nil {
			return err
		}
	}
	return nil
}

// settle removes the remedy from faults with several possible ones: if two owners claim a resource, or if not all
// faults are known.
func (v *verifier) settle() {
	claims := map[string]int{}
	for _, f := range v.report.Faults {
		if key := f.claims(); key != "" {
			claims[key]++
		}
	}
	for i := range v.report.Faults {
		f := &v.report.Faults[i]
		if key := f.claims(); claims[key] > 1 || key != "" && v.report.More {
			f.repair, f.Repairable = nil, false
			f.Remedy = "another may say the same, and use it, too: find out who does, and release the other with `graft ledger release`"
		}
	}
	slices.SortStableFunc(v.report.Faults, func(a, b Fault) int { return strings.Compare(a.Key, b.Key) })
}

// claims returns the row that the repair assigns to an owner.
func (f *Fault) claims() string {
	if len(f.repair) == 2 && f.repair[1].Value != nil {
		return f.repair[1].Key
	}
	return ""
}

// Repair fixes the faults of a report with exactly one remedy, and returns their number. It skips faults with rows that
// have changed since.
func Repair(ctx context.Context, store Store, report *Report) (int, error) {
	fixed := 0
	for _, f := range report.Faults {
		if f.repair == nil {
			continue
		}
		switch err := store.Commit(ctx, f.repair...); {
		case err == nil:
			fixed++
		case !errors.Is(err, ErrConflict):
			return fixed, wrapWriting(err)
		}
	}
	return fixed, nil
}
