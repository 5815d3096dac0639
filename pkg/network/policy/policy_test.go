// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// load compiles testdata/policy.yaml.
func load(t testing.TB) *policy.Policy {
	t.Helper()
	data, err := os.ReadFile("testdata/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents, findings := profile.LoadNetworks(source.File{Name: "policy.yaml", Data: data})
	p, more := policy.Compile(documents)
	if findings = append(findings, more...); len(findings) > 0 {
		t.Fatal(findings)
	}
	return p
}

// text is a value as JSON.
func text(t testing.TB, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// ranges writes the dynamic and the static addresses of a subnet.
func ranges(s ledger.Subnet) string {
	var all []string
	for _, r := range s.Dynamic.Ranges() {
		all = append(all, r.String())
	}
	all = append(all, "|")
	for _, r := range s.Static.Ranges() {
		all = append(all, r.String())
	}
	return strings.Join(all, " ")
}

// TestPools checks the compiled pools: their addresses and settings.
func TestPools(t *testing.T) {
	p := load(t)
	four := p.Pool("four")
	if got, want := ranges(four.Subnets[0]),
		"10.64.0.2-10.64.0.6 10.64.0.8-10.64.0.9 10.64.0.12-10.64.0.15 10.64.0.20-10.64.0.20 | 10.64.0.16-10.64.0.19 10.64.0.200-10.64.0.200"; got != want {
		t.Errorf("the addresses are %s, want %s", got, want)
	}
	whole := p.Pool("whole")
	if got, want := ranges(whole.Subnets[0])+" "+ranges(whole.Subnets[1]), "10.65.0.1-10.65.0.2 10.65.0.4-10.65.0.6 | fd00::1-fd00::7 |"; got != want {
		t.Errorf("the addresses are %s, want %s", got, want)
	}
	if four.FirstVLAN != 100 || four.LastVLAN != 200 || string(four.MACPrefix) != "\x0a\x58" || four.Quarantine != 30*time.Second || !four.Drain ||
		!four.Exclusive || four.Cloud != "" || !slices.Equal(four.Gateways, []netip.Addr{netip.MustParseAddr("10.64.0.1")}) {
		t.Errorf("the pool is %+v", four)
	}
	if whole.Cloud != "fabric" || whole.MTU != nil || whole.Drain || p.Pool("chosen").Subnets != nil || p.Pool("none") != nil {
		t.Errorf("the pool is %+v", whole)
	}
	for prefix, want := range map[string]*policy.Pool{"10.64.0.0/24": four, "10.64.0.9/24": four, "fd00::/125": whole, "10.64.0.0/25": nil, "10.99.0.0/24": nil} {
		if got := p.PoolOf(netip.MustParsePrefix(prefix)); got != want {
			t.Errorf("%s is of %v", prefix, got)
		}
	}
	if len(p.Hash) != 12 || !p.HasDevices() || !p.HasProfiles() || p.Profile("none") != nil {
		t.Errorf("the policy is %+v", p)
	}
}

// TestPoolConfig checks the configuration of a device with an allocation.
func TestPoolConfig(t *testing.T) {
	p := load(t)
	addr, prefix := netip.MustParseAddr, netip.MustParsePrefix
	tests := map[string]struct {
		pool string
		of   network.Allocation
		want string
	}{
		"all settings of a pool": {"four", network.Allocation{Addresses: []netip.Addr{addr("10.64.0.9")}, MAC: network.HardwareAddr("\x0a\x58\x0a\x40\x00\x09")},
			`{"interface":{"addresses":["10.64.0.9/24"],"mtu":1450,"hardwareAddr":"0a:58:0a:40:00:09"},"routes":[{"destination":"0.0.0.0/0","gateway":"10.64.0.1"}]}`},
		"an allocation with two families": {"whole", network.Allocation{Addresses: []netip.Addr{addr("10.65.0.1"), addr("fd00::1")}},
			`{"interface":{"addresses":["10.65.0.1/29","fd00::1/125"]}}`},
		"an address that the pool has no longer": {"whole", network.Allocation{Addresses: []netip.Addr{addr("10.99.0.1")}},
			`{"interface":{"addresses":["10.99.0.1/32"]}}`},
		"the answer of the cloud": {"chosen", network.Allocation{Addresses: []netip.Addr{addr("192.168.1.9"), addr("fd01::9")}, Binding: network.Binding{
			MAC: network.HardwareAddr("\x0a\x00\x00\x00\x00\x01"), Addresses: []netip.Prefix{prefix("192.168.1.9/24"), prefix("fd01::9/64")},
			Gateways: []netip.Addr{addr("192.168.1.1"), addr("fd01::1")}, Routes: []network.Route{{Destination: prefix("10.0.0.0/8"), Gateway: addr("192.168.1.2")}},
		}},
			`{"interface":{"addresses":["192.168.1.9/24","fd01::9/64"],"hardwareAddr":"0a:00:00:00:00:01"},"routes":[` +
				`{"destination":"10.0.0.0/8","gateway":"192.168.1.2"},{"destination":"0.0.0.0/0","gateway":"192.168.1.1"},{"destination":"::/0","gateway":"fd01::1"}]}`},
		"a default route of the pool": {"four", network.Allocation{Binding: network.Binding{Gateways: []netip.Addr{addr("10.64.0.2")}}},
			`{"interface":{"mtu":1450},"routes":[{"destination":"0.0.0.0/0","gateway":"10.64.0.1"}]}`},
		"a route over the link": {"chosen", network.Allocation{Binding: network.Binding{Routes: []network.Route{{Destination: prefix("10.0.0.0/8")}}}},
			`{"interface":{},"routes":[{"destination":"10.0.0.0/8","scope":253}]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := p.Pool(test.pool).Config(test.of)
			if diff := cmp.Diff(test.want, text(t, got)); diff != "" {
				t.Error(diff)
			}
			if err := got.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
	config := p.Pool("four").Config(network.Allocation{})
	*config.Interface.MTU, config.Routes[0].Gateway = 1, "changed"
	if again := p.Pool("four").Config(network.Allocation{}); *again.Interface.MTU != 1450 || again.Routes[0].Gateway != "10.64.0.1" {
		t.Error("the pool was changed by its caller")
	}
}

// TestFor checks which pools the server of a node serves, and which of them it serves alone.
func TestFor(t *testing.T) {
	p := load(t)
	for node, want := range map[string]string{
		"worker-1": `{"pools":["chosen","four","pair","shared","whole"],"clouds":["fabric","lan"],"shared":["pair","shared"],` +
			`"overlay":["four","whole"],"other":true}`,
		"worker-2": `{"pools":["four","other","pair","shared"],"clouds":[],"shared":["pair","shared"],"overlay":["other","four"],"other":false}`,
		"worker-3": `{"pools":["four","shared"],"clouds":[],"shared":["shared"],"overlay":["four"],"other":true}`,
		"":         `{"pools":["four","shared"],"clouds":[],"shared":["shared"],"overlay":["four"],"other":true}`,
	} {
		of, err := p.For(node)
		if err != nil {
			t.Fatal(err)
		}
		got := struct {
			Pools   []string `json:"pools"`
			Clouds  []string `json:"clouds"`
			Shared  []string `json:"shared"`
			Overlay []string `json:"overlay"`
			Other   bool     `json:"other"`
		}{[]string{}, []string{}, nil, []string{}, of.Profile("acme.com/other").Elsewhere}
		for _, finding := range of.CheckAlone(node, false).Errors() {
			got.Shared = append(got.Shared, strings.TrimPrefix(finding.Path, "pools."))
		}
		for name := range of.Pools {
			got.Pools = append(got.Pools, name)
		}
		for name := range of.Clouds {
			got.Clouds = append(got.Clouds, name)
		}
		slices.Sort(got.Pools)
		slices.Sort(got.Clouds)
		slices.Sort(got.Shared)
		for _, pool := range of.Profile("acme.com/overlay").Pools {
			got.Overlay = append(got.Overlay, pool.Name)
		}
		if diff := cmp.Diff(want, text(t, got)); diff != "" {
			t.Errorf("%s: %s", node, diff)
		}
		if of.Hash != p.Hash || len(of.ProfileNames()) != 5 || of.PoolOf(netip.MustParsePrefix("10.66.0.0/24")) != of.Pool("other") {
			t.Errorf("%s: the policy is %+v", node, of)
		}
	}
}

// TestServerWithoutPool checks the error of a server without a pool, which lists the nodes of the pools.
func TestServerWithoutPool(t *testing.T) {
	documents, _ := profile.LoadNetworks(source.File{Name: "p.yaml", Data: []byte(`apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: acme}
pools: {one: {nodes: [worker-1], subnets: [{prefix: 10.64.0.0/24}]}}
`)})
	p, findings := policy.Compile(documents)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	for node, want := range map[string]string{
		"worker1": `no pool is for the node "worker1" (did you mean "worker-1"?)`, "": "all pools name nodes, but this server has no node: set --node",
	} {
		if _, err := p.For(node); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestDevices checks facts of devices: later facts win, and errors have a position and no values.
func TestDevices(t *testing.T) {
	p := load(t)
	tests := map[string]struct {
		of                          device.Device
		attributes, config          string
		attributeError, configError string
	}{
		"a device without known properties": {of: device.Device{}, attributes: `{"acme.com/site":{"string":"fra"},"acme.com/speed":{"int":10}}`, config: `{"interface":{}}`},
		"by address on the bus": {
			of: device.Device{Name: "eth1", PCI: "0000:27:00.0", MAC: "0a:00:00:00:00:01"},
			attributes: `{"acme.com/firmware":{"version":"22.41.1"},"acme.com/mac":{"string":"0a:00:00:00:00:01"},"acme.com/site":{"string":"fra"},` +
				`"acme.com/speed":{"int":100},"acme.com/sriov":{"bool":true}}`,
			config: `{"profile":"acme.com/overlay","interface":{"mtu":1400},"routes":[{"destination":"10.1.0.0/16","gateway":"10.0.0.1"}]}`,
		},
		"a failing expression": {
			of:             device.Device{Name: "broken", MAC: "0a:00:00:00:00:01", PCI: "secret"},
			attributeError: "evaluating the attribute acme.com/part: policy.yaml:64:56: index out of bounds",
			configError:    "evaluating the configuration of a device: policy.yaml:65:33: int cannot take the value that it was given",
		},
		"a value that is too large": {
			of:             device.Device{Name: "large", PCI: "0000:28:00.0"},
			attributeError: "evaluating the attribute acme.com/name: policy.yaml:67:31: is longer than 64 bytes",
			configError:    "evaluating the configuration of a device: policy.yaml:68:11: not valid: interface.mtu",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			attributes, err := p.Attributes(t.Context(), test.of)
			if test.attributeError != message(err) {
				t.Errorf("attributes: %v, want %s", err, test.attributeError)
			}
			if err == nil && test.attributes != text(t, attributes) {
				t.Errorf("the attributes are %s, want %s", text(t, attributes), test.attributes)
			}
			config, err := p.DeviceConfig(t.Context(), test.of)
			if test.configError != message(err) {
				t.Errorf("config: %v, want %s", err, test.configError)
			}
			if err == nil && test.config != text(t, config) {
				t.Errorf("the config is %s, want %s", text(t, config), test.config)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestDeny checks that the first matching rule denies, and that missing values of the request are empty.
func TestDeny(t *testing.T) {
	p := load(t)
	yes := true
	dhcp := device.Config{Interface: device.Interface{DHCP: &yes}}
	tests := map[string]struct {
		of   policy.Subject
		want string
	}{
		"an empty configuration": {},
		"with a message": {of: policy.Subject{Profile: "acme.com/four", Config: dhcp, Contract: "docker"},
			want: "denied: no DHCP in acme.com/four"},
		"without a message": {of: policy.Subject{Pod: &policy.Pod{Namespace: "kube-system"}},
			want: "denied: the rule no-pods applies"},
		"a claim is no pod": {of: policy.Subject{Claim: &policy.Claim{Namespace: "kube-system"}}},
		"a failing expression": {of: policy.Subject{Config: device.Config{Interface: device.Interface{Name: "x"}}},
			want: "evaluating the rule fails: policy.yaml:72:79: there is no rules; read a field that may be missing as .?rules.orValue(…)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := p.Permit(t.Context(), test.of)
			if diff := cmp.Diff(test.want, message(err)); diff != "" || strings.HasPrefix(test.want, "denied") != errors.Is(err, policy.ErrDenied) {
				t.Error(diff)
			}
		})
	}
}

// TestQuotas checks which quotas count a request.
func TestQuotas(t *testing.T) {
	p := load(t)
	for name, test := range map[string]struct {
		of   policy.Subject
		want []ledger.Quota
		err  string
	}{
		"an unknown owner": {want: []ledger.Quota{{Name: "namespace/", Limit: 50}, {Name: "namespace/gold", Limit: 10}}},
		"a claim on a node": {of: policy.Subject{Node: "worker-1", Claim: &policy.Claim{Namespace: "default"}},
			want: []ledger.Quota{{Name: "namespace/default", Limit: 50}, {Name: "node/worker-1", Limit: 110}, {Name: "namespace/gold", Limit: 10}}},
		"the smaller of two": {of: policy.Subject{Pod: &policy.Pod{Namespace: "gold"}}, want: []ledger.Quota{{Name: "namespace/gold", Limit: 10}}},
		"a missing label": {of: policy.Subject{Claim: &policy.Claim{Labels: map[string]string{}}},
			err: "evaluating a quota of the pool four: policy.yaml:30:28: there is no tier; read a field that may be missing as [?\"tier\"].orValue(…)"},
		"an empty label": {of: policy.Subject{Claim: &policy.Claim{Labels: map[string]string{"tier": ""}}},
			err: "evaluating a quota of the pool four: policy.yaml:30:12: the name must be 1 to 512 bytes of printable text"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := p.Pool("four").Quotas(t.Context(), test.of)
			if message(err) != test.err {
				t.Fatalf("%v, want %s", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got, err := p.Pool("whole").Quotas(t.Context(), policy.Subject{}); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestProfileConfig checks the settings of a profile for a device.
func TestProfileConfig(t *testing.T) {
	p := load(t)
	s := policy.Subject{
		Addresses: []netip.Addr{netip.MustParseAddr("10.64.0.9")}, Claim: &policy.Claim{Annotations: map[string]string{"acme.com/frames": "jumbo"}},
	}
	got, err := p.Profile("acme.com/frames").Config(t.Context(), s)
	if want := `{"interface":{"mtu":9000},"routes":[{"destination":"10.9.0.0/16","gateway":"10.64.0.9"}]}`; err != nil || text(t, got) != want {
		t.Errorf("%s, %v, want %s", text(t, got), err, want)
	}
	_, err = p.Profile("acme.com/frames").Config(t.Context(), policy.Subject{})
	if want := "evaluating the profile acme.com/frames: policy.yaml:54:73: index out of bounds"; message(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	if got, err := p.Profile("acme.com/four").Config(t.Context(), s); err != nil || text(t, got) != `{"interface":{}}` {
		t.Errorf("%s, %v", text(t, got), err)
	}
	if families := p.Profile("acme.com/four").Families; !slices.Equal(families, []int{32}) || p.Profile("acme.com/overlay").Families != nil {
		t.Errorf("the families are %v", families)
	}
}

// TestConcurrency evaluates a policy concurrently under the race detector.
func TestConcurrency(t *testing.T) {
	p := load(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				d := device.Device{Name: "eth1", PCI: "0000:27:00.0", MAC: "0a:00:00:00:00:01"}
				attributes, err := p.Attributes(t.Context(), d)
				if err != nil {
					t.Error(err)
				}
				*attributes["acme.com/speed"].Int++
				if _, err := p.DeviceConfig(t.Context(), d); err != nil {
					t.Error(err)
				}
				if err := p.Permit(t.Context(), policy.Subject{Device: d}); err != nil {
					t.Error(err)
				}
				if _, err := p.Pool("four").Quotas(t.Context(), policy.Subject{Node: "worker-1"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
