// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/engine"
)

// row is one network on which containers are started.
type row struct {
	name, network string
	// create has the arguments of docker network create. If it is empty, the network exists.
	create string
	// start is the duration of docker run --detach in each round, and end that of docker rm --force. startOwn and
	// endOwn are the provider's parts of them.
	start, end, startOwn, endOwn []time.Duration
}

// rows returns all measured networks. The first one is the base of comparison.
func rows() []*row {
	return []*row{
		{name: "none", network: "none"},
		{name: "bridge (docker0)", network: "bridge"},
		{name: "bridge, a network of its own", network: "own", create: "-d bridge --subnet=172.30.1.0/24"},
		{name: "graft, bridge, Docker's addresses", network: "links", create: "-d graft --subnet=172.30.2.0/24"},
		{name: "graft, bridge, addresses of a pool", network: "pool",
			create: "-d graft -o profile=acme.com/leased --ipam-driver=graft --ipam-opt=profile=acme.com/leased"},
	}
}

// measure starts and removes a container of each row in each round, each time in another order.
func measure(ctx context.Context, dockerd *engine.Dockerd, answers *answers, o options) ([]*row, error) {
	var measured []*row
	for i, r := range rows() {
		if i > 0 && !o.rows.MatchString(r.name) {
			continue
		}
		measured = append(measured, r)
		if r.create == "" {
			continue
		}
		if _, err := dockerd.Do(ctx,
			append(append([]string{"network", "create"}, strings.Fields(r.create)...), r.network)...); err != nil {
			return nil, fmt.Errorf("making the network of %q: %w", r.name, err)
		}
	}
	for round := range o.rounds + 1 {
		order := slices.Clone(measured)
		for i := range order {
			r := order[(i+round)%len(order)]
			if err := r.once(ctx, dockerd, answers); err != nil {
				return nil, fmt.Errorf("%q: %w", r.name, err)
			}
			if round == 0 { // removes files from memory
				r.start, r.end, r.startOwn, r.endOwn = nil, nil, nil, nil
			}
		}
		fmt.Fprintf(os.Stderr, "\r%d of %d rounds", round, o.rounds)
	}
	fmt.Fprintln(os.Stderr)
	return measured, nil
}

// once starts and removes one container.
func (r *row) once(ctx context.Context, dockerd *engine.Dockerd, answers *answers) error {
	for _, part := range []struct {
		took, own *[]time.Duration
		command   []string
	}{
		{&r.start, &r.startOwn,
			[]string{"run", "--detach", "--name=one", "--network=" + r.network, engine.Image, "/bin/sleep", "1d"}},
		{&r.end, &r.endOwn, []string{"rm", "--force", "one"}},
	} {
		began := time.Now()
		if _, err := dockerd.Do(ctx, part.command...); err != nil {
			return err
		}
		*part.took = append(*part.took, time.Since(began))
		own, err := answers.next()
		if err != nil {
			return err
		}
		*part.own = append(*part.own, own)
	}
	return nil
}

// table writes the measurements. Each network is compared within a round, so that other load on the machine affects
// both values.
func table(out io.Writer, rows []*row) {
	fmt.Fprintf(out, "| network | run, ms | the network | the provider | rm, ms | the network | the provider | n "+
		"|\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s | %d |\n", r.name, spread(r.start),
			added(r.start, rows[0].start), own(r.startOwn),
			spread(r.end), added(r.end, rows[0].end), own(r.endOwn), len(r.start))
	}
}

// own returns the median of the provider's time, if it got any request.
func own(all []time.Duration) string {
	if middle := quantile(all, 0.5); middle > 0 {
		return fmt.Sprintf("%.1f", milliseconds(middle))
	}
	return ""
}

// added returns the median of a row's additional time over the first row in the same round.
func added(all, first []time.Duration) string {
	more := make([]time.Duration, len(all))
	for i := range all {
		more[i] = all[i] - first[i]
	}
	return fmt.Sprintf("%.0f", milliseconds(quantile(more, 0.5)))
}

// spread returns the median and the range of nine out of ten values.
func spread(all []time.Duration) string {
	return fmt.Sprintf("%.0f (%.0f to %.0f)", milliseconds(quantile(all, 0.5)), milliseconds(quantile(all, 0.05)),
		milliseconds(quantile(all, 0.95)))
}

func quantile(all []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
