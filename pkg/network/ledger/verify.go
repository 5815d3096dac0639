// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

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

// Verify reports all mistakes in the rows of a store, or the first ones up to a maximum above 0. It reads them once, as they are at one
// time. It keeps the keys of all resources in memory. It fails if the store does; mistakes in rows are no error.
func Verify(ctx context.Context, store Store, maximum int) (*Report, error) {
	v := &verifier{maximum: cmp.Or(maximum, defaultMaximumFaults), unreadable: map[string]bool{}, resources: map[string]*resource{}, quotas: newTally()}
	if err := v.checkFormat(ctx, store); err != nil {
		return nil, err
	}
	if err := store.Scan(ctx, "", v.row); err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	keys := slices.Sorted(maps.Keys(v.resources))
	for _, key := range keys {
		v.compareOwners(key, v.resources[key])
	}
	v.comparePools(keys)
	v.compareQuotas()
	slices.SortStableFunc(v.report.Faults, func(a, b Fault) int { return strings.Compare(a.Key, b.Key) })
	return &v.report, nil
}

// defaultMaximumFaults limits the faults of a report.
const defaultMaximumFaults = 10_000

type verifier struct {
	maximum int
	report  Report
	// unreadable has the rows of owners that cannot be read, by key. While there are any, the counts of quotas are unknown.
	unreadable map[string]bool
	// resources has the resources that rows of owners list, and those that have a row, by key.
	resources map[string]*resource
	quotas    tally
}

// resource is what the rows say about a resource.
type resource struct {
	// claimed are the owners that list it, and chosen is the one of them for which the cloud has chosen it.
	claimed []network.Owner
	chosen  network.Owner
	// holder is the owner in its own row. quarantined and broken describe a row without an owner.
	holder              network.Owner
	quarantined, broken bool
}

func (v *verifier) resource(key string) *resource {
	if v.resources[key] == nil {
		v.resources[key] = &resource{}
	}
	return v.resources[key]
}

func (v *verifier) add(key, problem, remedy string) {
	if len(v.report.Faults) >= v.maximum {
		v.report.More = true
		return
	}
	v.report.Faults = append(v.report.Faults, Fault{key, problem, remedy})
}

func (v *verifier) checkFormat(ctx context.Context, store Store) error {
	found, err := store.Get(ctx, keyFormat)
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	fresh, err := readFormat(found)
	if errors.Is(err, ErrImporting) {
		v.add(keyFormat, err.Error(), "repeat the import")
		return nil
	}
	if fresh && err == nil {
		if empty, err := Empty(ctx, store); err != nil || empty {
			return err
		}
		v.add(keyFormat, "the row with the format of the ledger is missing", remedyRewrite)
	}
	return err
}

// row checks one row by itself, and records the owners of resources.
func (v *verifier) row(key, value []byte) error {
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
		v.addUnreadable(e.Key, err)
		return nil
	}
	switch {
	case e.Record:
		v.report.Records++
	case e.Allocation != nil:
		v.quotas.add(e)
		for _, key := range resourceKeys(*e.Allocation) {
			of := v.resource(key)
			of.claimed = append(of.claimed, e.Owner)
		}
		for _, chosen := range e.Allocation.Binding.Addresses {
			v.resource(addressKey(e.Allocation.Pool, chosen.Addr())).chosen = e.Owner
		}
	case e.Until.IsZero():
		v.report.Held++
		v.resource(e.Key).holder = e.Owner
	default:
		v.report.Quarantined++
		v.resource(e.Key).quarantined = true
	}
	return nil
}

// addUnreadable adds the fault of a row that cannot be read.
func (v *verifier) addUnreadable(key string, err error) {
	remedy := "no allocation depends on it; find out which program wrote it, and if it was Graft, restore the ledger from an export"
	switch owned := strings.HasPrefix(key, prefixOwner); {
	case owned || isRecord(key):
		remedy = "restore it from an export: export the other rows with --leave-out-broken, add its line, correct the last one, and import all into a new ledger"
		if owned {
			v.unreadable[key] = true
		}
	default:
		v.resource(key).broken = true
	}
	v.add(key, err.Error(), remedy)
}

// compareOwners checks that the row of a resource names the owner that lists it, and the other way round.
func (v *verifier) compareOwners(key string, of *resource) {
	for _, owner := range of.claimed {
		if of.holder == owner {
			continue
		}
		described, _ := parseResource(key) // the key is made by this package
		problem, remedy := fmt.Sprintf("it has %s, which has no row", described), remedyRewrite
		switch {
		case of.holder != (network.Owner{}) || of.broken:
			problem, remedy = fmt.Sprintf("it has %s, but the row names %s", described, of.holder), remedyTwo
		case of.quarantined:
			problem = fmt.Sprintf("it has %s, but the row says quarantine", described)
		}
		if len(of.claimed) > 1 {
			remedy = remedyTwo
		}
		v.add(ownerKey(owner), problem, remedy)
	}
	if of.holder != (network.Owner{}) && !slices.Contains(of.claimed, of.holder) && !v.unreadable[ownerKey(of.holder)] {
		v.add(key, fmt.Sprintf("its owner %s does not have it", of.holder), remedyRewrite)
	}
}

// comparePools checks that no address is held under two pools, unless the clouds have chosen it under both: two clouds may use one address
// in different networks.
func (v *verifier) comparePools(keys []string) {
	first := map[netip.Addr]string{}
	for _, key := range keys {
		of := v.resources[key]
		pool, address, err := parseAddress(key)
		if err != nil || of.holder == (network.Owner{}) {
			continue
		}
		earlier, twice := first[address]
		if !twice {
			first[address] = key
			continue
		}
		if other := v.resources[earlier]; other.chosen != other.holder || of.chosen != of.holder {
			otherPool, _, _ := parseAddress(earlier)
			v.add(key, fmt.Sprintf("%s has %s, and %s has it of the pool %s", of.holder, Resource{Pool: pool, Address: address}, other.holder, otherPool), remedyTwo)
		}
	}
}

// compareQuotas checks the counts of quotas.
func (v *verifier) compareQuotas() {
	if len(v.unreadable) > 0 {
		return
	}
	for _, change := range v.quotas.changes() {
		v.add(change.Key, fmt.Sprintf("it counts %q, and allocations count %q for it", change.Was, change.Value), remedyRewrite)
	}
}
