// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestLimits checks that all expressions that are evaluated for one question share one limit. Each of the ten expressions computes a
// value of 1 MiB, which is allowed; all together exceed the limit.
func TestLimits(t *testing.T) {
	var text strings.Builder
	text.WriteString(`apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: limits}
pools:
  four:
    subnets: [{prefix: 10.64.0.0/24}]
    quotas:
`)
	const count, size = 10, 1 << 20
	for i := range count {
		fmt.Fprintf(&text, "    - {by: q%d, limit: 1, when: '${ (pod.name + \"%d\").size() > 5 }'}\n", i, i)
	}
	text.WriteString("profiles:\n  acme.com/four:\n    pools: [four]\n    config:\n      routes:\n")
	for i := range count {
		fmt.Fprintf(&text, "      - {destination: 10.%d.0.0/16, gateway: '${ (pod.name + \"%d\").size() > 5 ? \"10.64.0.1\" : \"10.64.0.2\" }'}\n", i, i)
	}
	text.WriteString("deny:\n")
	for i := range count {
		fmt.Fprintf(&text, "- {name: rule-%d, when: '${ (pod.name + \"%d\").size() < 5 }'}\n", i, i)
	}
	text.WriteString("devices:\n")
	for i := range count {
		fmt.Fprintf(&text, "- {when: '${ (device.name + \"%d\").size() > 5 }', attributes: {acme.com/a: %d}, config: {interface: {mtu: 1500}}}\n", i, i)
	}
	documents, findings := profile.LoadNetworks(source.File{Name: "limits.yaml", Data: []byte(text.String())})
	p, more := policy.Compile(documents)
	if findings = append(findings, more...); len(findings) > 0 {
		t.Fatal(findings)
	}
	questions := map[string]func(name string) error{
		"in the condition of a denial": func(name string) error {
			return p.Permit(t.Context(), policy.Subject{Pod: &policy.Pod{Name: name}})
		},
		"in the key of a quota": func(name string) error {
			_, err := p.Pool("four").Quotas(t.Context(), policy.Subject{Pod: &policy.Pod{Name: name}})
			return err
		},
		"the configuration of a request": func(name string) error {
			_, err := p.Profile("acme.com/four").Config(t.Context(), policy.Subject{Pod: &policy.Pod{Name: name}})
			return err
		},
		"in the condition of device attributes": func(name string) error {
			_, err := p.Attributes(t.Context(), device.Device{Name: name})
			return err
		},
		"the configuration of a device": func(name string) error {
			_, err := p.DeviceConfig(t.Context(), device.Device{Name: name})
			return err
		},
	}
	for name, ask := range questions {
		t.Run(name, func(t *testing.T) {
			if err := ask("worker"); err != nil {
				t.Errorf("of a short name: %v", err)
			}
			if err := ask(strings.Repeat("a", size)); !expression.ExceedsLimit(err) || !strings.Contains(err.Error(), "limits.yaml:") {
				t.Errorf("of a long name: got %v, want an exceeded limit with its place", err)
			}
		})
	}
}
