// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package certificatetest has the tests that each certificate.Store passes. Start reading at Suite.
package certificatetest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
)

// Suite runs all cases as tests.
func Suite(t *testing.T, open func(t *testing.T) func() certificate.Store) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, open(t)) })
	}
}

// Case is one test of a store. Each call of open returns another client of the same store, which is empty at first.
type Case struct {
	Name string
	Run  func(t testing.TB, open func() certificate.Store)
}

// Cases returns all tests of a store.
func Cases() []Case {
	return []Case{
		{"refuses to overwrite data that the writer has not read", versions},
		{"gives one authority to replicas that start at the same time", together},
		{"moves replicas to the next authority once callers trust it", rotation},
	}
}

// versions tests that a write fails if the store changed since it was read.
func versions(t testing.TB, open func() certificate.Store) {
	ctx, one, two := t.Context(), open(), open()
	if got, err := one.Read(ctx); err != nil || len(got.Data) > 0 || got.Version != "" {
		t.Fatalf("an empty store: %v, %v", got, err)
	}
	first, second := map[string][]byte{"ca.crt": []byte("1"), "x": {0, 255}}, map[string][]byte{"ca.crt": []byte("2")}
	if err := one.Write(ctx, first, ""); err != nil {
		t.Fatal(err)
	}
	read, err := two.Read(ctx)
	if diff := cmp.Diff(first, read.Data); err != nil || diff != "" || read.Version == "" {
		t.Errorf("read after write: %v, %s", err, diff)
	}
	if err := two.Write(ctx, second, ""); !errors.Is(err, certificate.ErrConflict) {
		t.Errorf("write without version over existing data: %v", err)
	}
	if err := two.Write(ctx, second, read.Version); err != nil {
		t.Error(err)
	}
	if err := one.Write(ctx, first, read.Version); !errors.Is(err, certificate.ErrConflict) {
		t.Errorf("write with an old version: %v", err)
	}
	if read, err := one.Read(ctx); err != nil || string(read.Data["ca.crt"]) != "2" {
		t.Errorf("read after the second write: %v, %v", read.Data, err)
	}
}

// issued returns a replica.
func issued(t testing.TB, store certificate.Store, clock *clocktesting.FakePassiveClock,
	names ...string) *certificate.Issued {
	t.Helper()
	i, err := certificate.NewIssued(certificate.Options{
		Store: store, Clock: clock, Log: logr.Discard(),
		Policy: certificate.Policy{
			DNSNames: names, Authority: 900 * time.Hour, Certificate: 90 * time.Hour, Overlap: time.Hour, Told: true,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// together tests that replicas that start at the same time use one authority.
func together(t testing.TB, open func() certificate.Store) {
	ctx, clock := t.Context(), clocktesting.NewFakePassiveClock(time.Now())
	var (
		all  sync.WaitGroup
		them [4]*certificate.Issued
		errs [4]error
	)
	for n := range them {
		them[n] = issued(t, open(), clock, "interpreter.graft.svc")
	}
	for n := range them {
		all.Go(func() { errs[n] = them[n].Refresh(ctx) })
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	for _, one := range them[1:] {
		if !bytes.Equal(one.Held().Bundle, them[0].Held().Bundle) ||
			!one.Held().Certificate.Leaf.Equal(them[0].Held().Certificate.Leaf) {
			t.Error("two replicas serve different certificates")
		}
	}
}

// rotation moves two replicas to the next authority. Neither may use it before one of them was told that
// callers trust it.
func rotation(t testing.TB, open func() certificate.Store) {
	ctx := context.WithoutCancel(t.Context())
	clock := clocktesting.NewFakePassiveClock(time.Now())
	one, two := issued(t, open(), clock, "a.example.com"), issued(t, open(), clock, "a.example.com")
	refresh := func() {
		t.Helper()
		if err := errors.Join(one.Refresh(ctx), two.Refresh(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	refresh()
	known := one.Held().Bundle
	clock.SetTime(clock.Now().Add(601 * time.Hour))
	refresh()
	if bytes.Equal(one.Held().Bundle, known) || !bytes.Equal(one.Held().Bundle, two.Held().Bundle) {
		t.Fatal("want a next CA in the bundle, got none")
	}
	clock.SetTime(clock.Now().Add(48 * time.Hour))
	refresh()
	if !one.Held().Covers(known) || !two.Held().Covers(known) {
		t.Fatal("the next CA is used before callers trust it")
	}
	if err := two.Registered(ctx, two.Held().Bundle); err != nil {
		t.Fatal(err)
	}
	clock.SetTime(clock.Now().Add(30 * time.Minute))
	if refresh(); !one.Held().Covers(known) {
		t.Fatal("the next CA is used before callers have trusted it for Overlap")
	}
	wide := one.Held().Bundle
	clock.SetTime(clock.Now().Add(31 * time.Minute))
	refresh()
	if one.Held().Covers(known) || !one.Held().Covers(wide) || !two.Held().Covers(wide) ||
		!bytes.Equal(one.Held().Bundle, two.Held().Bundle) {
		t.Fatal("the next CA is not used although callers trust it")
	}
	if len(one.Held().Bundle) != len(wide) {
		t.Error("the previous CA is removed while replicas may use it")
	}
	clock.SetTime(clock.Now().Add(100 * time.Hour))
	if refresh(); len(one.Held().Bundle) >= len(wide) {
		t.Error("the previous authority is never removed")
	}
}
