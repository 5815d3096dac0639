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

// round has the measurements of one round of a row.
type round struct {
	// floor and graft are the costs of requests to the servers: the caller's waiting time, and the servers' own usage.
	floor, graft cost
	// client is the round trip of Karmada's client to Graft: encoding, TLS, decoding and verification. Its CPU time is
	// that of the caller.
	client cost
	// work is Graft without the network; hand and generated are scripts in Karmada's Lua machine.
	work, hand, generated cost
}

// cost is the cost of one answer.
type cost struct {
	took, cpu time.Duration
	allocs    float64
}

func (r *row) name() string { return fmt.Sprintf("%s, %d kB", r.Operation, r.kilobytes) }

// prepare creates the rows and checks that all ways give the correct answers.
func prepare(ctx context.Context, s servers, w *work, chosen *regexp.Regexp) ([]*row, error) {
	var rows []*row
	for _, a := range asked {
		for _, kilobytes := range sizes {
			q, err := newQuestion(w.program, a.operation, a.name, kilobytes)
			if err != nil {
				return nil, err
			}
			r := &row{question: q, kilobytes: kilobytes, hand: len(w.hand.Of(a.operation).LuaScript),
				generated: len(w.scripts.Of(a.operation).LuaScript)}
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

// repeat calls a function until the window is over, at least once.
func repeat(window time.Duration, used func() (apart.Usage, error), do func() error) (cost, error) {
	if err := do(); err != nil { // opens connections and allocates buffers before the measurement
		return cost{}, err
	}
	runtime.GC() // collects the garbage of the previous measurement
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
