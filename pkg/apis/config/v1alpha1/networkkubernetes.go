// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// NetworkKubernetes configures the cluster with the Pods and ResourceClaims that hold addresses.
type NetworkKubernetes struct {
	// Kubeconfig is the kubeconfig; by default the ServiceAccount. It needs get and list on pods and
	// resourceclaims.
	Kubeconfig string `json:"kubeconfig,omitempty"`
}

// Leaks are addresses with holders that no longer exist. Without kubernetes, only the age of an address
// indicates a leak.
type Leaks struct {
	// Mode is report or free. Holders that are missing twice, a period apart, are logged and counted;
	// free also releases their allocations and needs kubernetes. The default is free with kubernetes and report without.
	Mode string `json:"mode,omitempty" oneOf:"report,free"`
	// Period is the time between two searches; 5m by default.
	Period Duration `json:"period,omitempty"`
	// Grace is the age of an address at which its holder is checked; 10m by default.
	Grace Duration `json:"grace,omitempty"`
	// Oldest is the age from which allocations without a checkable holder are reported; they are never freed. 0s
	// disables it (the default with kubernetes); otherwise 720h.
	Oldest Duration `json:"oldest,omitempty"`
}

// oldestUnseen is the default of Oldest without kubernetes.
const oldestUnseen = 30 * 24 * time.Hour

// setDefaults sets the default of every field that was not set.
func (l *Leaks) setDefaults(cluster bool) {
	mode := "report"
	if cluster {
		mode = "free"
	}
	setDefault(&l.Mode, mode)
	setDuration(&l.Period, 5*time.Minute)
	setDuration(&l.Grace, 10*time.Minute)
	if !cluster {
		setDuration(&l.Oldest, oldestUnseen)
	}
}
