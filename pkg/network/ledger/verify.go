// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is a row that is not as it should be, or one that is missing.
type Fault struct {
	Key string `json:"key"`
	// Problem says what is wrong, and Remedy what to do.
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
	// Repairable says that there is only one remedy, which Repair knows.
	Repairable bool `json:"repairable"`

	repair []Change
}

// VerifyOptions say how a store is verified.
type VerifyOptions struct {
	// Now is what times are held against.
	Now time.Time
	// Maximum bounds the faults that are told. Default 10,000.
	Maximum int
	// Progress is told now and then how many rows were read; nil: nobody is.
	Progress func(rows int)
}

// Report is what Verify has found.
type Report struct {
	// Rows are all rows, Allocations those of owners; Held and Resting are the things.
	Rows        int `json:"rows"`
	Allocations int `json:"allocations"`
	Held        int `json:"held"`
	Resting     int `json:"resting"`
	// Records are rows of other packages, such as networks of containers.
	Records int `json:"records,omitempty"`
	// Faults are in the order of their keys. More says that there are others beside them.
	Faults []Fault `json:"faults"`
	More   bool    `json:"more,omitempty"`
}

// Verify looks for all that is wrong with the rows of a store. It reads them once, and once more where what owners hold is not what the
// rows of things say, and where an address may be held under two pools; it needs nearly the same memory for any number of rows, and may run
// while others write.
func Verify(ctx context.Context, store Store, o VerifyOptions) (*Report, error) {
	if o.Maximum == 0 {
		o.Maximum = 10_000
	}
	v := &verifier{VerifyOptions: o, store: store, balance: newBalance(), meetings: newMeetings(), report: &Report{}}
	if err := v.format(ctx); err != nil {
		return nil, err
	}
	if err := v.scan(ctx, v.first); err != nil {
		return nil, err
	}
	if !v.balance.even() && !v.report.More {
		if err := v.scan(ctx, v.second); err != nil {
			return nil, err
		}
	}
	if len(v.meetings.twice) > 0 && !v.report.More {
		if err := v.scanFrom(ctx, prefixAddress, v.meet); err != nil {
			return nil, err
		}
	}
	v.settle()
	return v.report, nil
}

type verifier struct {
	VerifyOptions
	store   Store
	balance *balance
	// meetings are of addresses that are held under two pools.
	meetings *meetings
	report   *Report
	// read are the rows of the scan that is under way.
	read int
}

// errEnough ends a scan when no more faults are told.
var errEnough = errors.New("enough faults")

func (v *verifier) scan(ctx context.Context, each func(context.Context, Entry, *BrokenRow) error) error {
	return v.scanFrom(ctx, "", each)
}

func (v *verifier) scanFrom(ctx context.Context, prefix string, each func(context.Context, Entry, *BrokenRow) error) error {
	err := v.store.Scan(ctx, prefix, func(key, value []byte) error {
		if v.read++; v.Progress != nil && v.read%4096 == 0 {
			v.Progress(v.read)
		}
		if string(key) == keyFormat {
			return nil
		}
		entry, err := ReadEntry(key, value)
		if err != nil {
			return each(ctx, entry, &BrokenRow{Key: entry.Key, Err: err})
		}
		return each(ctx, entry, nil)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	return nil
}

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
			repair: []Change{{Key: keyFormat, Value: []byte(format)}},
		})
	}
	return err
}

// first looks at a row by itself, and weighs what owners hold against the rows of things.
func (v *verifier) first(_ context.Context, e Entry, broken *BrokenRow) error {
	v.report.Rows++
	if strings.HasPrefix(e.Key, prefixOwner) {
		v.report.Allocations++
	}
	if broken != nil {
		remedy := "nothing holds by it; find out who wrote it, and restore the ledger from an export when it was Graft"
		if strings.HasPrefix(e.Key, prefixOwner) {
			remedy = "restore it from an export: export the rest with --leave-out-broken, add it, and import all into a new ledger"
		} else if isRecord(e.Key) {
			remedy = "restore it from an export: export the rest with --leave-out-broken, add its line, and import all into a new ledger"
		}
		return v.add(Fault{Key: e.Key, Problem: broken.Err.Error(), Remedy: remedy})
	}
	v.balance.weigh(e)
	v.meetings.note(e)
	if e.Record {
		v.report.Records++
		return nil
	}
	if e.Allocation == nil {
		if e.Until.IsZero() {
			v.report.Held++
		} else {
			v.report.Resting++
		}
	}
	return v.times(e)
}

const (
	// skew is how far clocks may be apart.
	skew = time.Hour
	// longRest is longer than any pool lets anything rest.
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

// second looks at the rows of which the first look has found that some do not fit together. One that cannot be read is told already.
func (v *verifier) second(ctx context.Context, e Entry, broken *BrokenRow) error {
	if broken == nil && e.Allocation == nil && !e.Record && e.Until.IsZero() && v.balance.suspect(e.Key) {
		return v.owned(ctx, e)
	}
	if broken == nil && e.Allocation != nil {
		for _, key := range places(*e.Allocation) {
			if v.balance.suspect(key) {
				if err := v.owns(ctx, e, key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// owns sees that the row of a thing says what its owner's row does.
func (v *verifier) owns(ctx context.Context, e Entry, key string) error {
	owned := place{owner: e.Owner}.encode()
	stands, err := v.store.Get(ctx, key)
	if err != nil || bytes.Equal(stands, owned) {
		return err
	}
	if same, err := v.unchanged(ctx, e); err != nil || !same {
		return err
	}
	thing, _ := parseThing(key) // the key is made by this package
	p, err := parsePlace(stands)
	if stands != nil && (err != nil || p.until.IsZero()) {
		return v.add(Fault{Key: e.Key, Problem: fmt.Sprintf("it holds %s, of which the row says that %s has it", thing, p.owner),
			Remedy: "two may use it: find out who does, and release the other with `graft ledger release`; --repair mends it when the other has no row of its own"})
	}
	problem := fmt.Sprintf("it holds %s, of which no row says so", thing)
	if stands != nil {
		problem = fmt.Sprintf("it holds %s, of which the row says that it rests", thing)
	}
	raw := slices.Clone(e.Value)
	return v.add(Fault{Key: e.Key, Problem: problem, Remedy: "write the row, so that it is given to nobody else",
		repair: []Change{{Key: e.Key, Was: raw, Value: raw}, {Key: key, Was: stands, Value: owned}}})
}

// owned sees that the owner of a thing knows of it.
func (v *verifier) owned(ctx context.Context, e Entry) error {
	owner := ownerKey(e.Owner)
	raw, err := v.store.Get(ctx, owner)
	if err != nil {
		return err
	}
	f := Fault{Key: e.Key, Problem: fmt.Sprintf("%s, who is to have it, holds nothing", e.Owner), Remedy: "remove the row, so that it is free"}
	if raw != nil {
		if mayHold(raw, e.Key) {
			return nil
		}
		f.Problem = fmt.Sprintf("%s, who is to have it, holds other things", e.Owner)
		f.repair = []Change{{Key: owner, Was: raw, Value: raw}}
	} else {
		f.repair = []Change{{Key: owner}}
	}
	if same, err := v.unchanged(ctx, e); err != nil || !same {
		return err
	}
	f.repair = append(f.repair, Change{Key: e.Key, Was: slices.Clone(e.Value)})
	return v.add(f)
}

// mayHold says whether an owner's row says that it has a thing, or cannot be read, which is told already.
func mayHold(raw []byte, key string) bool {
	a, err := decode(raw)
	return err != nil || slices.Contains(places(a), key)
}

// unchanged says whether a row is still as it was when it was read: others may write meanwhile.
func (v *verifier) unchanged(ctx context.Context, e Entry) (bool, error) {
	value, err := v.store.Get(ctx, e.Key)
	return value != nil && bytes.Equal(value, e.Value), err
}

// settle takes the remedy from faults that have several: of which two owners say that they hold it, or may, when not all faults are known.
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

// claims is the row that the repair gives to an owner.
func (f *Fault) claims() string {
	if len(f.repair) == 2 && f.repair[1].Value != nil {
		return f.repair[1].Key
	}
	return ""
}

// Repair mends the faults of a report that have one remedy only, and says how many. One whose rows have changed since stays as it is.
func Repair(ctx context.Context, store Store, report *Report) (int, error) {
	mended := 0
	for _, f := range report.Faults {
		if f.repair == nil {
			continue
		}
		switch err := store.Commit(ctx, f.repair...); {
		case err == nil:
			mended++
		case !errors.Is(err, ErrConflict):
			return mended, wrapWriting(err)
		}
	}
	return mended, nil
}
