// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// validate implements configuration.
func (c *NetworkProviderConfiguration) validate(root source.Node) source.Findings {
	v := validator{root: root}
	v.address(true, c.Metrics.Address, "metrics", "address")
	v.debugging(c.Debugging)
	v.paths(c.Profiles.Paths)
	v.ledger(c.Ledger)
	v.listeners(c.Listeners)
	v.administration(c.Administration, c.Listeners)
	v.docker(c.Docker)
	v.leaks(c.Leaks, c.Kubernetes != nil)
	return v.findings
}

// leaks requires periods that are long enough to protect new allocations.
func (v *validator) leaks(l Leaks, cluster bool) {
	if l.Mode == "free" && !cluster {
		v.add("needs kubernetes: without it the owners of allocations cannot be checked", "leaks", "mode")
	}
	if l.Period.Set && l.Period.Duration < time.Minute {
		v.add("must be at least 1m", "leaks", "period")
	}
	if l.Grace.Set && l.Grace.Duration < time.Minute {
		v.add("must be at least 1m", "leaks", "grace")
	}
}

func (v *validator) ledger(l Ledger) {
	if l.Etcd == nil {
		return
	}
	if l.Path != "" {
		v.add("excludes ledger.path: set one of them", "ledger", "etcd")
	}
	if len(l.Etcd.Endpoints) == 0 {
		v.add("must have at least one URL", "ledger", "etcd", "endpoints")
	}
	for i, node := range find(v.root, "ledger", "etcd", "endpoints").Items() {
		if at, err := url.Parse(l.Etcd.Endpoints[i]); err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
			v.at(node, fmt.Sprintf("ledger.etcd.endpoints[%d]", i), "must be a URL such as https://10.0.0.1:2379")
		}
	}
	if (l.Etcd.CertFile == "") != (l.Etcd.KeyFile == "") {
		v.add("needs both certFile and keyFile", "ledger", "etcd")
	}
}

// listeners reports errors of listeners, and duplicate addresses.
func (v *validator) listeners(listeners []NetworkListener) {
	seen := map[string]bool{}
	for i, node := range find(v.root, "listeners").Items() {
		l, path := listeners[i], fmt.Sprintf("listeners[%d]", i)
		problems := l.Check()
		for _, field := range slices.Sorted(maps.Keys(problems)) {
			value := node.Get(field)
			if value.Node == nil {
				value = node
			}
			v.at(value, path+"."+field, problems[field].Error())
		}
		if l.TLS != nil && (l.TLS.CertFile == "" || l.TLS.KeyFile == "") {
			v.at(node.Get("tls"), path+".tls", "needs certFile and keyFile")
		}
		if l.Address != "" && seen[l.Address] {
			v.at(node.Get("address"), path+".address", "occurs twice")
		}
		seen[l.Address] = true
	}
}

func (v *validator) administration(a Administration, listeners []NetworkListener) {
	path, err := a.Socket()
	if err != nil {
		v.add(err.Error(), "administration", "address")
	}
	for _, l := range listeners {
		if netw, at, _ := l.Endpoint(); path != "" && netw == "unix" && at == path {
			v.add("is already the address of a listener", "administration", "address")
		}
	}
}

// at adds a finding at a node that is not addressed by keys alone.
func (v *validator) at(node source.Node, path, message string) {
	v.findings = append(v.findings, node.Finding(path, "%s", message).Of(source.WrongValue))
}

const (
	// longestKernelTimeout is shorter than the longest timeout of an API.
	longestKernelTimeout = time.Minute
	// turns is the number of kernelTimeouts for creating an endpoint: waiting for a turn and for the kernel.
	// Until then its address seems unused. leastGrace covers the rest.
	turns      = 2
	leastGrace = 2 * time.Second
)

// docker requires times that fit together: an unfinished link must not look like a leftover.
func (v *validator) docker(d Docker) {
	if d.Scope == "global" && d.Connectivity == "local" {
		v.add("must be global if scope is global: a Swarm network is on all its machines", "docker", "connectivity")
	}
	if d.Sweep.Period.Set && d.Sweep.Period.Duration < time.Second {
		v.add("must be at least 1s", "docker", "sweep", "period")
	}
	if d.KernelTimeout.Set && (d.KernelTimeout.Duration < 100*time.Millisecond || d.KernelTimeout.Duration > longestKernelTimeout) {
		v.add("must be 100ms to "+longestKernelTimeout.String(), "docker", "kernelTimeout")
		d.KernelTimeout.Set = false
	}
	setDuration(&d.KernelTimeout, defaultKernelTimeout)
	if least := max(turns*d.KernelTimeout.Duration, leastGrace); d.Sweep.Grace.Set && d.Sweep.Grace.Duration < least {
		v.add(fmt.Sprintf("must be at least %s, because docker.kernelTimeout is %s: unfinished links would be removed",
			least, d.KernelTimeout.Duration), "docker", "sweep", "grace")
	}
}
