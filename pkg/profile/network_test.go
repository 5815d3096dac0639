// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const network = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: acme}
pools:
  overlay: {subnets: [{prefix: 10.64.0.0/16}], vlans: 100, quarantine: 30s}
profiles:
  acme.com/overlay: {pools: [overlay], config: {interface: {mtu: 1450}}}
`

// TestLoadNetworks checks the loaded form of a network profile.
func TestLoadNetworks(t *testing.T) {
	documents, problems := profile.LoadNetworks(source.File{Name: "1.yaml", Data: []byte(network)})
	if len(problems) > 0 || len(documents) != 1 {
		t.Fatalf("%d documents, %v", len(documents), problems)
	}
	d := documents[0]
	if len(d.Hash) != 12 || d.Summary() != "acme@"+d.Hash {
		t.Errorf("the summary is %s", d.Summary())
	}
	pool, choice := d.Pools["overlay"], d.Profiles["acme.com/overlay"]
	if pool.VLANs.Value != "100" || pool.Quarantine.Seconds() != 30 || !pool.Quarantine.Set || pool.Subnets[0].Prefix.At.Position().String() != "1.yaml:5:32" {
		t.Errorf("the pool is %+v", pool)
	}
	if choice.Pools[0].Value != "overlay" || choice.Config.Get("interface").Get("mtu").Value != "1450" {
		t.Errorf("the profile is %+v", choice)
	}
}

// TestNetworksRefused checks findings before the compilation.
func TestNetworksRefused(t *testing.T) {
	documents, problems := profile.LoadNetworks(
		source.File{Name: "1.yaml", Data: []byte(network)},
		source.File{Name: "2.yaml", Data: []byte(network)},
		source.File{Name: "3.yaml", Data: []byte(withParameter("one"))},
		source.File{Name: "4.yaml", Data: []byte("apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: NetworkProfil\n" +
			"metadata: {name: Not_Valid}\npools: {a: {mtu: 7}}\n")},
		source.File{Name: "5.yaml"},
	)
	want := `2.yaml:1:1: metadata.name: the profile "acme" is already defined at 1.yaml:1:1
3.yaml:2:7: kind: unknown kind "ProviderProfile": must be NetworkProfile
4.yaml:2:7: kind: unknown kind "NetworkProfil" (did you mean "NetworkProfile"?): must be NetworkProfile
4.yaml:3:18: metadata.name: "Not_Valid" is not a valid name: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ` +
		`'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
		`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
4.yaml:4:18: pools.a.mtu: must be 68 to 65535
5.yaml: no document in this file`
	if diff := cmp.Diff(want, problems.Error()); diff != "" {
		t.Error(diff)
	}
	if len(documents) != 2 || len(documents[1].Findings) != 3 {
		t.Errorf("%d documents", len(documents))
	}
}
