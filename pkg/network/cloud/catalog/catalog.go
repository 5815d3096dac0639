// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package catalog lists the kinds of clouds, one line each, and creates clouds from documents. Only programs and the
// tools that check documents import it; all other packages use cloud.Cloud. Start reading at Check and New.
package catalog

import (
	"maps"
	"regexp"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/cni"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/web"
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

func hasHTTP(spec policy.CloudSpec) bool { return spec.HTTP != nil }

func checkHTTP(spec policy.CloudSpec) source.Findings {
	_, findings := web.Compile(*spec.HTTP, spec.Node.Get("http"), spec.Path+".http")
	return findings
}

func newHTTP(spec policy.CloudSpec, o Options) (cloud.Cloud, source.Findings) {
	n, path := spec.Node.Get("http"), spec.Path+".http"
	definition, findings := web.Compile(*spec.HTTP, n, path)
	if len(findings.Errors()) > 0 {
		return nil, nil
	}
	made, err := web.New(definition, web.Options{Timeout: timeout(spec), Clock: o.Clock})
	if err != nil {
		return nil, source.Findings{n.Finding(path, "%s", err).Of(source.MissingFile)}
	}
	return made, nil
}

func hasCNI(spec policy.CloudSpec) bool { return spec.CNI != nil }

// networkName matches names of networks that the CNI specification allows.
var networkName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

func checkCNI(spec policy.CloudSpec) source.Findings {
	name, path := spec.CNI.Configuration, spec.Path+".cni.configuration"
	switch {
	case name.Value == "":
		return source.Findings{spec.Node.Get("cni").Finding(path, "is missing: the name of a CNI network configuration").Of(source.MissingField)}
	case !networkName.MatchString(name.Value):
		const message = "%q is no name of a CNI network configuration: letters, digits, dots, dashes and underscores"
		return source.Findings{name.At.Finding(path, message, name.Value).Of(source.InvalidName)}
	}
	return nil
}

// newCNI warns about a missing configuration, because it is often created after the server has started.
func newCNI(spec policy.CloudSpec, o Options) (cloud.Cloud, source.Findings) {
	made := cni.New(spec.CNI.Configuration.Value, cni.Options{Configurations: o.CNIConfigurations, Plugins: o.CNIPlugins, Timeout: timeout(spec)})
	if err := made.Check(); err != nil {
		at, path := spec.CNI.Configuration.At, spec.Path+".cni.configuration"
		return made, source.Findings{at.Finding(path, "nothing can be allocated yet: %s", err).Of(source.MissingFile).Warn()}
	}
	return made, nil
}

func hasOpenStack(spec policy.CloudSpec) bool { return spec.OpenStack != nil }

func checkOpenStack(spec policy.CloudSpec) source.Findings {
	_, findings := openstack.Compile(*spec.OpenStack, spec.Node.Get("openstack"), spec.Path+".openstack")
	return findings
}

func newOpenStack(spec policy.CloudSpec, o Options) (cloud.Cloud, source.Findings) {
	n, path := spec.Node.Get("openstack"), spec.Path+".openstack"
	definition, findings := openstack.Compile(*spec.OpenStack, n, path)
	if len(findings.Errors()) > 0 {
		return nil, nil
	}
	made, err := openstack.New(definition, openstack.Options{Timeout: timeout(spec), Clock: o.Clock, Metrics: o.OpenStack})
	if err != nil {
		return nil, source.Findings{n.Finding(path, "%s", err).Of(source.MissingFile)}
	}
	return made, nil
}
