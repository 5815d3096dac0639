// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// NetworkKubernetes is the cluster whose Pods and ResourceClaims hold addresses.
type NetworkKubernetes struct {
	// Kubeconfig is the file that leads to the cluster; that of the program's ServiceAccount without one. The program may get, list and watch
	// pods and resourceclaims, and create and patch events.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Leaks says what is done with addresses whose holders do not exist any more, since a release was lost.
	Leaks Leaks `json:"leaks,omitempty"`
}

// Leaks are addresses whose holders do not exist any more.
type Leaks struct {
	// Mode is report or free. Whoever is missing twice, a period apart, is reported as an event and in the metrics; free gives back what it held, too.
	// Default report.
	Mode string `json:"mode,omitempty" oneOf:"report,free"`
	// Period is the time between two looks; 5m by default.
	Period Duration `json:"period,omitempty"`
	// Grace is how long an address is held before its holder is looked for; 10m by default.
	Grace Duration `json:"grace,omitempty"`
	// Oldest is how long an address may be held whose holder cannot be looked for, such as a container, before it is reported; 0s by default:
	// as long as it likes.
	Oldest Duration `json:"oldest,omitempty"`
}

// setDefaults fills in what was not written.
func (k *NetworkKubernetes) setDefaults() {
	setDefault(&k.Leaks.Mode, "report")
	setDuration(&k.Leaks.Period, 5*time.Minute)
	setDuration(&k.Leaks.Grace, 10*time.Minute)
}
