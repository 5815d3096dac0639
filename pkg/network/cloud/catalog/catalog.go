// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package catalog lists the kinds of clouds, one line each, and creates clouds from documents. Only programs and the
// tools that check documents import it; all other packages use cloud.Cloud. Start reading at Check and New.
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

// kinds lists the clouds that a document can declare. To add one: a field of v1alpha1.NetworkCloud, a sibling package,
// and a line here.
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
	// check returns the findings of a declaration without reading files.
	check func(policy.CloudSpec) source.Findings
	// make creates the cloud of a valid declaration. Missing parts of the machine may be findings.
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

// Check returns the findings of declared clouds beyond their form. It reads no files, so that documents can be checked
// anywhere.
func Check(specs map[string]policy.CloudSpec) source.Findings {
	var findings source.Findings
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		if k := of(specs[name]); k != nil {
			findings = append(findings, k.check(specs[name])...)
		}
	}
	return findings
}

// New creates all declared clouds. It omits those with errors in the findings; warnings name missing parts of the
// machine. A pool without a cloud is handled by service.Pool: no cloud is called, and nothing is configured outside of
// the machine.
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

// of returns the kind of a declaration, or nil if it has none, which is another finding.
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
