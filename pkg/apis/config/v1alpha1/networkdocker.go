// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"
	"slices"
	"time"
)

// Docker configures Docker's API, which creates links on this machine. It is served only if a listener names
// it.
type Docker struct {
	// Scope is local or global: one machine, or a Swarm. Default local.
	Scope string `json:"scope,omitempty" oneOf:"local,global"`
	// Connectivity is global if containers of different machines can share a network, or local. The default is the
	// scope.
	Connectivity string `json:"connectivity,omitempty" oneOf:"local,global"`
	// Sweep is the search for leftover links, endpoints and addresses.
	Sweep DockerSweep `json:"sweep,omitempty"`
	// KernelTimeout limits one kernel call; 5s by default.
	KernelTimeout Duration `json:"kernelTimeout,omitempty"`
}

// DockerSweep configures the search for unused objects.
type DockerSweep struct {
	// Period is the time between two searches; 1m by default.
	Period Duration `json:"period,omitempty"`
	// Grace is the age of leftovers before removal; 10m by default, and at least twice kernelTimeout.
	Grace Duration `json:"grace,omitempty"`
}

// setDefaults sets the default of every field that was not set.
func (d *Docker) setDefaults() {
	setDefault(&d.Scope, "local")
	setDefault(&d.Connectivity, d.Scope)
	setDuration(&d.Sweep.Period, time.Minute)
	setDuration(&d.Sweep.Grace, 10*time.Minute)
	setDuration(&d.KernelTimeout, defaultKernelTimeout)
}

const defaultKernelTimeout = 5 * time.Second

// ContractDocker is the name of Docker's API.
const ContractDocker NetworkContract = "docker"

// dockerProblem returns an error and its field if a listener must not serve Docker.
func (l NetworkListener) dockerProblem(netw string) (field string, err error) {
	switch {
	case !l.Answers(ContractDocker):
		return "", nil
	case netw == "tcp" && !l.Mutual() && !l.Insecure:
		return "address", errors.New("serves Docker, which creates links as root: over TCP it needs tls with clientCAFile, " +
			"or insecure: true to permit every caller")
	default:
		return "", nil
	}
}

// Mutual reports whether clients must present a certificate.
func (l NetworkListener) Mutual() bool { return l.TLS != nil && l.TLS.ClientCAFile != "" }

// AnswersDocker reports whether a listener serves Docker's API.
func (c *NetworkProviderConfiguration) AnswersDocker() bool {
	return slices.ContainsFunc(c.Listeners, func(l NetworkListener) bool { return l.Answers(ContractDocker) })
}
