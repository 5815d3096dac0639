// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package catalog knows the kinds of clouds, and creates clouds from documents. Only programs and the
// tools that check documents import it; all other packages use cloud.Cloud. Start reading at Check and New.
package catalog

import (
	"cmp"
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

// Options describe the machine of the clouds.
type Options struct {
	// CNIConfigurations and CNIPlugins are folders; default /etc/cni/net.d and /opt/cni/bin.
	CNIConfigurations, CNIPlugins string
	// OpenStack counts the calls of OpenStack; nil does not.
	OpenStack *openstack.Metrics
}

// defaultTimeout is the timeout of one call if the document sets none. DRANET's calls have the same one.
const defaultTimeout = 10 * time.Second

// Check returns the findings of declared clouds beyond their form. It reads no files, so that documents can be checked
// anywhere.
func Check(specs map[string]policy.CloudSpec) source.Findings {
	var all source.Findings
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		_, findings := create(specs[name], nil)
		all = append(all, findings...)
	}
	return all
}

// New creates a declared cloud. It returns nil if a finding is an error; warnings name missing parts of the machine. A
// pool without a cloud is handled by service.Pool: no cloud is called, and nothing is configured outside of the machine.
func New(spec policy.CloudSpec, o Options) (cloud.Cloud, source.Findings) {
	o.CNIConfigurations = cmp.Or(o.CNIConfigurations, "/etc/cni/net.d")
	o.CNIPlugins = cmp.Or(o.CNIPlugins, "/opt/cni/bin")
	made, findings := create(spec, &o)
	if len(findings.Errors()) > 0 {
		return nil, findings
	}
	return made, findings
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

// Settle returns the time after the start of a call during which it may still take effect although its answer was lost:
// a cloud may be slower than the timeout. A plugin is a process that is killed at its timeout.
func Settle(spec policy.CloudSpec) time.Duration {
	if spec.CNI != nil {
		return 0
	}
	if spec.OpenStack != nil {
		return openstack.Settle(timeout(spec))
	}
	return 2 * timeout(spec)
}

// create checks a declaration, and creates its cloud unless o is nil: then it reads no files. Missing parts of the machine
// are findings. It returns nil for a declaration without a kind, which is a finding of its form. To add a kind of clouds:
// a field of v1alpha1.NetworkCloud, a sibling package, and a case here.
func create(spec policy.CloudSpec, o *Options) (cloud.Cloud, source.Findings) {
	switch {
	case spec.HTTP != nil:
		p := spec.At("http")
		definition, findings := web.Compile(*spec.HTTP, p)
		if o == nil || len(findings.Errors()) > 0 {
			return nil, findings
		}
		made, err := web.New(definition, web.Options{Timeout: timeout(spec), Clock: clock.RealClock{}})
		return made, append(findings, missing(p, err)...)
	case spec.OpenStack != nil:
		p := spec.At("openstack")
		definition, findings := openstack.Compile(*spec.OpenStack, p)
		if o == nil || len(findings.Errors()) > 0 {
			return nil, findings
		}
		made, err := openstack.New(definition, openstack.Options{Timeout: timeout(spec), Clock: clock.RealClock{}, Metrics: o.OpenStack})
		return made, append(findings, missing(p, err)...)
	case spec.CNI != nil:
		return createCNI(spec, spec.At("cni").At("configuration"), o)
	}
	return nil, nil
}

// missing returns the finding about a file that is missing or unreadable.
func missing(p source.Place, err error) source.Findings {
	if err == nil {
		return nil
	}
	return source.Findings{p.FindingOf(source.MissingFile, "%s", err)}
}

// networkName matches names of networks that the CNI specification allows.
var networkName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// createCNI works like create. It only warns about a missing configuration, because it is often created after the server
// has started.
func createCNI(spec policy.CloudSpec, p source.Place, o *Options) (cloud.Cloud, source.Findings) {
	name := spec.CNI.Configuration.Value
	switch {
	case name == "":
		return nil, source.Findings{p.FindingOf(source.MissingField, "is missing: the name of a CNI network configuration")}
	case !networkName.MatchString(name):
		return nil, source.Findings{p.FindingOf(source.InvalidName,
			"%q is not the name of a CNI network configuration: use letters, digits, dots, dashes and underscores", name)}
	case o == nil:
		return nil, nil
	}
	made := cni.New(name, cni.Options{Configurations: o.CNIConfigurations, Plugins: o.CNIPlugins, Timeout: timeout(spec)})
	if err := made.Check(); err != nil {
		return made, source.Findings{p.FindingOf(source.MissingFile, "nothing can be allocated yet: %s", err).Warn()}
	}
	return made, nil
}
