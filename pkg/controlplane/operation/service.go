// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// serviceFields lists the fields that a profile may set. None of them selects Pods or addresses.
var serviceFields = []string{
	"allocateLoadBalancerNodePorts", "externalTrafficPolicy", "healthCheckNodePort", "internalTrafficPolicy",
	"ipFamilies", "ipFamilyPolicy", "loadBalancerClass", "loadBalancerSourceRanges", "sessionAffinity", "trafficDistribution",
}

// service sets fields of a Service of type LoadBalancer that are the cloud's business.
func service() Definition {
	return Definition{
		Name:      "service",
		Summary:   "sets and removes the fields of a Service's spec that configure its load balancer",
		Example:   "service: {set: {externalTrafficPolicy: Local}}",
		Examples:  []string{"service: {remove: [loadBalancerClass]}"},
		Arguments: setAndRemove("fields", shapeLike[corev1.ServiceSpec]().only(serviceFields)),
		Parts:     target.ServiceSpec,
		Compile:   compileService,
	}
}

func compileService(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	writes, findings := compiler{
		place: Place{Kind: ServiceField},
		value: c.Tree,
		check: func(name string) string {
			if !slices.Contains(serviceFields, name) {
				return fmt.Sprintf("%q is not a Service field that a cloud may set%s", name, source.Suggest(name, serviceFields))
			}
			return ""
		},
		rule:  func(string) source.Rule { return source.UnknownField },
		known: serviceFields,
		apply: setServiceField,
		keep:  func(name string) func(*target.Object) error { return fieldPath{{Key: "spec"}, {Key: name}}.keep },
	}.compileEdits(arguments, path)
	return writes, append(findings, runChecks(serviceChecks, arguments.Get("set"), path+".set").Beyond(findings)...)
}

func setServiceField(o *target.Object, name string, v Resolved) error {
	spec, err := o.Document.Root().Ensure("spec", document.Object)
	if err != nil {
		return nested(err, "spec")
	}
	if v.Absent {
		if spec.Get(name) != nil {
			spec.Remove(name)
		}
		return nil
	}
	return mergeMember(spec, name, v.JSON)
}
