// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"regexp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/cni"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/web"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

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
