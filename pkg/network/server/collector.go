// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// Collector tells how full pools are and what waits for clouds, when it is asked. Its labels are names in profiles.
type Collector struct {
	// Pools and Clouds are by name.
	Pools  func() map[string]ledger.Usage
	Clouds func() map[string]service.Load
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
	descPending = prometheus.NewDesc("graft_network_releases_pending",
		"Releases of which the cloud does not know yet; those that do not fit into memory are not among them.", nil, nil)
	descWaiting = prometheus.NewDesc("graft_network_cloud_waiting",
		"Calls that wait for their turn at a cloud: of allocations (bind) and of releases (unbind).", []string{"cloud", "call"}, nil)
	descCalls = prometheus.NewDesc("graft_network_cloud_calls",
		"Calls to a cloud that are under way.", []string{"cloud"}, nil)
	descTypical = prometheus.NewDesc("graft_network_cloud_call_seconds",
		"How long a call to a cloud takes lately.", []string{"cloud"}, nil)
	descClosed = prometheus.NewDesc("graft_network_cloud_closed_seconds",
		"For how long a cloud still wants to be left alone.", []string{"cloud"}, nil)
)

// families are names by the length of addresses in bits.
var families = map[int]string{32: "ipv4", 128: "ipv6"}

// Describe implements prometheus.Collector.
func (c Collector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		descSize, descAddresses, descVLANs, descTakenVLANs, descPending, descWaiting, descCalls, descTypical, descClosed,
	} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for name, usage := range c.Pools() {
		for _, of := range usage.Families {
			family := families[of.Bits]
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
