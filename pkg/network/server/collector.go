// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// Collector reports the usage of pools and the load of clouds on each scrape. Its labels are names in profiles.
type Collector struct {
	// Pools and Clouds are by name.
	Pools  func() map[string]ledger.Usage
	Clouds func() map[string]service.Load
	// Exhaustions are how often the pools had nothing left, by kind.
	Exhaustions func() map[service.Exhaustion]uint64
	// Pending is how many releases wait for their cloud.
	Pending func() int
}

var (
	descSize = prometheus.NewDesc("graft_network_pool_size",
		"Addresses that a pool gives by choice, by family; none where its cloud chooses.", []string{"pool", "family"}, nil)
	descAddresses = prometheus.NewDesc("graft_network_pool_addresses",
		"Addresses of a pool that are held, or that rest after they were released, by family.", []string{"pool", "family", "state"}, nil)
	descVLANs = prometheus.NewDesc("graft_network_pool_vlans",
		"VLANs that a pool gives at each trunk.", []string{"pool"}, nil)
	descTakenVLANs = prometheus.NewDesc("graft_network_pool_vlans_taken",
		"VLANs of a pool that are held, or that rest after they were released, at the trunk that has the least left.", []string{"pool"}, nil)
	descExhausted = prometheus.NewDesc("graft_network_pool_exhausted_total",
		"Allocations for which a pool had nothing left: no address of a family (ipv4, ipv6), no VLAN at the trunk (vlan), or nothing in its cloud (cloud).",
		[]string{"pool", "of"}, nil)
	descPending = prometheus.NewDesc("graft_network_releases_pending",
		"Releases of which the cloud does not know yet; those that do not fit into memory are not among them.", nil, nil)
	descWaiting = prometheus.NewDesc("graft_network_cloud_waiting",
		"Calls that wait for their turn at a cloud: of allocations (bind) and of releases (unbind).", []string{"cloud", "call"}, nil)
	descCalls = prometheus.NewDesc("graft_network_cloud_calls",
		"Calls to a cloud that are under way.", []string{"cloud"}, nil)
	descTypical = prometheus.NewDesc("graft_network_cloud_call_seconds",
		"How long a call to a cloud takes lately.", []string{"cloud"}, nil)
	descClosed = prometheus.NewDesc("graft_network_cloud_closed_seconds",
		"Remaining time of a cloud's Retry-After, in seconds.", []string{"cloud"}, nil)
)

// Describe implements prometheus.Collector.
func (c Collector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		descSize, descAddresses, descVLANs, descTakenVLANs, descExhausted, descPending, descWaiting, descCalls, descTypical, descClosed,
	} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	exhaustions := c.Exhaustions()
	for name, usage := range c.Pools() {
		for _, kind := range kinds(usage) {
			count := exhaustions[service.Exhaustion{Pool: name, Of: kind}]
			to <- prometheus.MustNewConstMetric(descExhausted, prometheus.CounterValue, float64(count), name, string(kind))
		}
		for _, of := range usage.Families {
			family := string(network.OfFamily(of.Bits))
			gauge(descSize, float64(of.Size), name, family)
			gauge(descAddresses, float64(of.Held), name, family, "held")
			gauge(descAddresses, float64(of.Resting), name, family, "resting")
		}
		if usage.VLANs > 0 {
			gauge(descVLANs, float64(usage.VLANs), name)
			gauge(descTakenVLANs, float64(usage.TakenVLANs), name)
		}
	}
	gauge(descPending, float64(c.Pending()))
	for name, load := range c.Clouds() {
		gauge(descWaiting, float64(load.Binds), name, "bind")
		gauge(descWaiting, float64(load.Unbinds), name, "unbind")
		gauge(descCalls, float64(load.Running), name)
		gauge(descTypical, load.Typical.Seconds(), name)
		gauge(descClosed, load.Closed.Seconds(), name)
	}
}

// kinds returns the resources that a pool can exhaust. Its cloud may refuse any address.
func kinds(usage ledger.Usage) []network.Kind {
	all := []network.Kind{network.OfCloud}
	for _, of := range usage.Families {
		all = append(all, network.OfFamily(of.Bits))
	}
	if usage.VLANs > 0 {
		all = append(all, network.OfVLAN)
	}
	return all
}
