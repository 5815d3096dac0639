// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/benchmark/apart"
)

// row is one request with its measurements.
type row struct {
	question
	kilobytes int
	// hand and generated are the sizes of the scripts.
	hand, generated int
	rounds          []round
}

// round is one round of a row, each way that there is.
type round struct {
	// floor and graft are servers: how long their caller waits, and what they use themselves.
	floor, graft cost
	// client is the whole round trip of Karmada's client to Graft: encoding, TLS, decoding and checking. Its CPU time is
	// the caller's.
	client cost
	// work is Graft without the network; hand and generated are scripts in Karmada's machine.
	work, hand, generated cost
}

// cost is what one answer takes.
type cost struct {
	took, cpu time.Duration
	allocs    float64
}

func (r *row) name() string { return fmt.Sprintf("%s, %d kB", r.Operation, r.kilobytes) }

// prepare makes the rows, and checks that all ways answer, and as they should.
func prepare(ctx context.Context, s servers, w *work, chosen *regexp.Regexp) ([]*row, error) {
	var rows []*row
	for _, a := range asked {
		for _, kilobytes := range sizes {
			q, err := newQuestion(w.program, a.operation, a.name, kilobytes)
			if err != nil {
				return nil, err
			}
			r := &row{question: q, kilobytes: kilobytes, hand: len(w.hand.Of(a.operation).LuaScript), generated: len(w.scripts.Of(a.operation).LuaScript)}
			if !chosen.MatchString(r.name()) {
				continue
			}
			if err := s.check(ctx, a.name, r.body); err != nil {
				return nil, fmt.Errorf("asking for %s: %w", r.name(), err)
			}
			if err := w.check(r.Request); err != nil {
				return nil, fmt.Errorf("asking for %s: %w", r.name(), err)
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// measure adds a round.
func (r *row) measure(ctx context.Context, s servers, w *work, window time.Duration) error {
	remote := func() (apart.Usage, error) { return s.Usage(ctx) }
	var one round
	for _, way := range []struct {
		into  *cost
		usage func() (apart.Usage, error)
		do    func() error
	}{
		{&one.floor, remote, func() error { _, err := s.Post(ctx, s.floor, r.body); return err }},
		{&one.graft, remote, func() error { _, err := s.Post(ctx, s.graft, r.body); return err }},
		{&one.work, apart.UsageOfProcess, func() error { return w.answer(r.body) }},
		{&one.client, apart.UsageOfProcess, func() error { _, err := s.karmada.Interpret(ctx, r.Request); return err }},
		{&one.hand, apart.UsageOfProcess, func() error { return w.script(w.hand, r.Request) }},
		{&one.generated, apart.UsageOfProcess, func() error { return w.script(w.scripts, r.Request) }},
	} {
		var err error
		if *way.into, err = repeat(window, way.usage, way.do); err != nil {
			return err
		}
	}
	r.rounds = append(r.rounds, one)
	return nil
}

// repeat does something until the window is over, at least once.
func repeat(window time.Duration, used func() (apart.Usage, error), do func() error) (cost, error) {
	if err := do(); err != nil { // connections and memory are there afterwards
		return cost{}, err
	}
	runtime.GC() // collecting the garbage of the way before is not part of the cost
	before, err := used()
	if err != nil {
		return cost{}, err
	}
	count, begun := 0, time.Now()
	for count == 0 || time.Since(begun) < window {
		if err := do(); err != nil {
			return cost{}, err
		}
		count++
	}
	took := time.Since(begun)
	after, err := used()
	n := time.Duration(count)
	return cost{took / n, (after.CPU - before.CPU) / n, float64(after.Mallocs-before.Mallocs) / float64(count)}, err
}
