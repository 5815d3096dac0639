// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/test/libnetwork/engine"
)

// peer is the network that the others are compared with.
const peer = "docker's bridge"

// rows are the networks that take turns. All of them are bridges with veth pairs and the MTU of 1500.
var rows = []struct {
	name    string
	network engine.Network
}{
	{peer, engine.Network{Driver: "bridge", Name: "bridge", Four: subnet("172.20.0.0/16")}},
	{"graft", engine.Network{Driver: "graft", Name: "graft", Four: subnet("172.21.0.0/16")}},
	{"graft, addresses of a pool",
		engine.Network{Driver: "graft", Name: "pool", IPAM: "graft", IPAMOptions: profile("pooled"),
			Options: profile("pooled")}},
}

func subnet(prefix string) []engine.Pool { return []engine.Pool{{Subnet: prefix}} }

func profile(name string) map[string]string { return map[string]string{"profile": name} }

// figures are what was measured of a row with so many endpoints there and so many callers.
type figures struct {
	attach, detach []float64 // per second, of each round
	server         usage
	endpoints      int
}

// run measures all, and prints tables.
func (o options) run(out io.Writer) error {
	m, err := o.open()
	if err != nil {
		return err
	}
	defer m.close()
	for _, row := range rows {
		if _, err := m.NewNetwork(row.network); err != nil {
			return fmt.Errorf("making the network of %s: %w", row.name, err)
		}
	}
	table := begin(out)
	there := 0
	for _, held := range o.held {
		for _, row := range rows {
			load := engine.Load{Network: row.network.Name, Endpoints: held - there, Callers: 16,
				Prefix: fmt.Sprint(row.network.Name, "-held-", held, "-"), Keep: true}
			if _, err := m.Load(load); err != nil {
				return fmt.Errorf("filling the network of %s: %w", row.name, err)
			}
		}
		there = held
		for _, callers := range o.callers {
			measured, err := o.measure(m, callers)
			if err != nil {
				return err
			}
			table.add(held, callers, measured)
		}
	}
	table.end()
	return nil
}

// measure lets all networks take turns, and the first turn of each is not counted.
func (o options) measure(m *machine, callers int) ([]figures, error) {
	measured := make([]figures, len(rows))
	for round := range o.rounds + 1 {
		for i, row := range rows {
			before, err := m.used()
			if err != nil {
				return nil, err
			}
			took, err := m.Load(engine.Load{Network: row.network.Name, Endpoints: o.batch, Callers: callers,
				Prefix: row.network.Name + "-"})
			if err != nil {
				return nil, fmt.Errorf("measuring %s: %w", row.name, err)
			}
			after, err := m.used()
			if err != nil {
				return nil, err
			}
			if round == 0 {
				continue
			}
			f := &measured[i]
			f.attach, f.detach = append(f.attach, o.rate(took.Attach)), append(f.detach, o.rate(took.Detach))
			f.server, f.endpoints = f.server.plus(after.minus(before)), f.endpoints+o.batch
		}
	}
	return measured, nil
}

// rate is how many a second a turn has made.
func (o options) rate(took time.Duration) float64 { return float64(o.batch) / took.Seconds() }
