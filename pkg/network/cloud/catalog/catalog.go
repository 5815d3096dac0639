// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package catalog lists the clouds that there are, one line each, and makes them of what documents say. Only programs, and what checks documents
// for people, import it: the rest of the wing knows cloud.Cloud. Enter at Check and New.
package catalog

import (
	"maps"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// kinds are all clouds that a document can declare. To add one: a field of v1alpha1.NetworkCloud, a package beside this one, and a line here.
var kinds = []kind{
	{"http", hasHTTP, checkHTTP, newHTTP},
	{"cni", hasCNI, checkCNI, newCNI},
	{"openstack", hasOpenStack, checkOpenStack, newOpenStack},
}

// kind is a kind of clouds.
type kind struct {
	// field is that of the declaration.
	field string
	// has says whether a declaration is of this kind.
	has func(policy.CloudSpec) bool
	// check finds what is wrong with a declaration, and reads no files.
	check func(policy.CloudSpec) source.Findings
	// make makes the cloud of a declaration in which nothing is wrong. What the machine does not have may be a finding.
	make func(policy.CloudSpec, Options) (cloud.Cloud, source.Findings)
}

// Options are those of the machine on which the clouds are.
type Options struct {
	// CNIConfigurations and CNIPlugins are folders; default /etc/cni/net.d and /opt/cni/bin.
	CNIConfigurations, CNIPlugins string
	// Clock is that of the machine by default.
	Clock clock.PassiveClock
	// OpenStack counts the calls of OpenStack; nil does not.
	OpenStack *openstack.Metrics
}

// defaultTimeout is that of one call where the document does not say it.
const defaultTimeout = 10 * time.Second

// Check finds what is wrong with declarations of clouds beyond their form. It reads no files, so that a document can be checked anywhere.
func Check(specs map[string]policy.CloudSpec) source.Findings {
	var findings source.Findings
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		if k := of(specs[name]); k != nil {
			findings = append(findings, k.check(specs[name])...)
		}
	}
	return findings
}

// New makes all clouds that are declared. Those of which the findings have an error are missing; warnings say what the machine does not have
// yet. A pool that names none has no cloud, which service.Pool knows: nobody is asked, and nothing is programmed outside of the machine.
func New(specs map[string]policy.CloudSpec, o Options) (map[string]cloud.Cloud, source.Findings) {
	if o.CNIConfigurations == "" {
		o.CNIConfigurations = "/etc/cni/net.d"
	}
	if o.CNIPlugins == "" {
		o.CNIPlugins = "/opt/cni/bin"
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	findings := Check(specs)
	clouds := map[string]cloud.Cloud{}
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		k := of(specs[name])
		if k == nil || len(k.check(specs[name]).Errors()) > 0 {
			continue
		}
		made, problems := k.make(specs[name], o)
		findings = append(findings, problems...)
		if made != nil {
			clouds[name] = made
		}
	}
	return clouds, findings
}

// of is the kind of a declaration; nil where it is of none, which is found elsewhere.
func of(spec policy.CloudSpec) *kind {
	for i := range kinds {
		if kinds[i].has(spec) {
			return &kinds[i]
		}
	}
	return nil
}

func timeout(spec policy.CloudSpec) time.Duration {
	switch {
	case spec.Timeout.Duration > 0:
		return spec.Timeout.Duration
	case spec.OpenStack != nil:
		return openstack.DefaultTimeout
	}
	return defaultTimeout
}

// Settle returns how long after its begin a call of a cloud may still take effect though its answer was lost: a cloud may be slower than the
// timeout. A plugin is a process that is killed at its timeout. A batch of OpenStack may begin at the timeout of its first call, and end at that of
// its last one.
func Settle(spec policy.CloudSpec) time.Duration {
	if spec.CNI != nil {
		return 0
	}
	if spec.OpenStack != nil {
		return 3 * timeout(spec)
	}
	return 2 * timeout(spec)
}
