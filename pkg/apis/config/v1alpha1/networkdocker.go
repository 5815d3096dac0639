// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Docker configures that contract, which makes links on this machine. It is answered only where a listener names it.
type Docker struct {
	// Scope is local or global: one machine, or a Swarm. Default local.
	Scope string `json:"scope,omitempty" oneOf:"local,global"`
	// Connectivity is local or global: whether containers of different machines may be in one network. Default that of scope.
	Connectivity string `json:"connectivity,omitempty" oneOf:"local,global"`
	// Sweep is the search for leftover links, endpoints and addresses.
	Sweep DockerSweep `json:"sweep,omitempty"`
	// KernelTimeout limits one kernel call; 5s by default.
	KernelTimeout Duration `json:"kernelTimeout,omitempty"`
}

// DockerSweep says how often and how patiently it is looked for what was left over.
type DockerSweep struct {
	// Period is the time between two looks; 1m by default.
	Period Duration `json:"period,omitempty"`
	// Grace is the age of leftovers before removal; 10m by default, and at least twice kernelTimeout.
	Grace Duration `json:"grace,omitempty"`
}

// setDefaults fills in what was not written.
func (d *Docker) setDefaults() {
	setDefault(&d.Scope, "local")
	setDefault(&d.Connectivity, d.Scope)
	setDuration(&d.Sweep.Period, time.Minute)
	setDuration(&d.Sweep.Grace, 10*time.Minute)
	setDuration(&d.KernelTimeout, defaultKernelTimeout)
}

const (
	defaultKernelTimeout = 5 * time.Second
	// longestKernelTimeout is less than what the callers of a contract have at the most.
	longestKernelTimeout = time.Minute
	// turns is how many kernelTimeouts an endpoint may take to be made, as it waits for its turn and for the kernel: until then nobody is in it, and nobody
	// seems to have its address. What follows is given leastGrace.
	turns      = 2
	leastGrace = 2 * time.Second
)

func (v *validator) docker(d Docker) {
	if d.Scope == "global" && d.Connectivity == "local" {
		v.add("must be global where scope is: a network of a Swarm is on all its machines", "docker", "connectivity")
	}
	if d.Sweep.Period.Set && d.Sweep.Period.Duration < time.Second {
		v.add("must be a second at least", "docker", "sweep", "period")
	}
	if d.KernelTimeout.Set && (d.KernelTimeout.Duration < 100*time.Millisecond || d.KernelTimeout.Duration > longestKernelTimeout) {
		v.add("must be 100ms to "+longestKernelTimeout.String(), "docker", "kernelTimeout")
		d.KernelTimeout.Set = false
	}
	setDuration(&d.KernelTimeout, defaultKernelTimeout)
	if least := max(turns*d.KernelTimeout.Duration, leastGrace); d.Sweep.Grace.Set && d.Sweep.Grace.Duration < least {
		v.add(fmt.Sprintf("must be %s at least, as docker.kernelTimeout is %s: what is still being made would be taken for left over",
			least, d.KernelTimeout.Duration), "docker", "sweep", "grace")
	}
}

// ContractDocker is the name of Docker's contract.
const ContractDocker NetworkContract = "docker"

// dockerProblem says why Docker cannot or must not be answered at a listener, and at which field; nil: it can.
func (l NetworkListener) dockerProblem(netw string) (field string, err error) {
	switch {
	case !l.Answers(ContractDocker):
		return "", nil
	case l.TokenFile != "":
		return "tokenFile", errors.New("Docker shows no token: over TCP it shows a certificate, and a socket has a mode")
	case netw == "tcp" && !l.Mutual() && !l.Insecure:
		return "address", errors.New("is for Docker, which makes links as root: over TCP it needs tls with clientCAFile, " +
			"or insecure: true where everybody who can reach it may do so")
	default:
		return "", nil
	}
}

// Mutual says whether callers must show a certificate.
func (l NetworkListener) Mutual() bool { return l.TLS != nil && l.TLS.ClientCAFile != "" }

// AnswersDocker says whether a listener names Docker's contract.
func (c *NetworkProviderConfiguration) AnswersDocker() bool {
	return slices.ContainsFunc(c.Listeners, func(l NetworkListener) bool { return l.Answers(ContractDocker) })
}
