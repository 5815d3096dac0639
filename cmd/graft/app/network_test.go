// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const networkProfile = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: acme}
pools:
  vpc:
    subnets: [{prefix: 172.91.0.0/24, gateway: 172.91.0.1}]
    vlans: 100-4000
`

// TestNetworkManifests holds what the flags do, and the exit status; what is written is the business of package netmanifest.
func TestNetworkManifests(t *testing.T) {
	wrong := strings.Replace(networkProfile, "vlans", "vlan", 1)
	tests := []struct {
		name, text  string
		arguments   []string
		status      int
		out, errors string
	}{
		{"the objects", networkProfile, []string{"--master", "enp0s28"}, 0, "kind: SpiderMultusConfig", ""},
		{"an older Spiderpool", networkProfile, []string{"--master", "enp0s28", "--spiderpool-version", "v1.2.0"}, 0, "for Spiderpool 1.2.0", ""},
		{"other names", networkProfile, []string{"--master", "eth1", "--name", "blue", "--namespace", "nets"}, 0, "default-network: nets/blue", ""},
		{"some addresses", networkProfile, []string{"--master", "eth1", "--ips", "172.91.0.8/30"}, 0, "- 172.91.0.8-172.91.0.11\n", ""},
		{"values", networkProfile, []string{"--for", "spiderpool-values", "--server-url", "https://graft:8443"}, 0, "serverUrl: https://graft:8443", ""},
		{"no interface", networkProfile, nil, 2, "", "give --master"},
		{"no such pool", networkProfile, []string{"--pool", "vpn"}, 2, "", `did you mean "vpc"?`},
		{"nothing for DRANET", networkProfile, []string{"--for", "dranet-values"}, 2, "", "DRANET has nothing to ask"},
		{"for whom", networkProfile, []string{"--for", "dockers"}, 2, "", "--for dockers: must be one of spiderpool, spiderpool-values, dranet-values, docker"},
		{"for Docker", networkProfile, []string{"--for", "docker"}, 0, "unix:///run/graft/docker.sock\n", "Save it as graft.spec in /etc/docker/plugins"},
		{"for Docker without a CA", networkProfile, []string{"--for", "docker", "--docker-url", "https://graft:8443"}, 2, "", "without a CA Docker trusts everybody"},
		{"no version", networkProfile, []string{"--spiderpool-version", "new"}, 2, "", "must be a version, such as 1.2.2"},
		{"no addresses", networkProfile, []string{"--ips", "all"}, 2, "", `reading --ips: "all" is no address`},
		{"a wrong profile", wrong, nil, 2, "", `profile.yaml:7:5: pools.vpc: unknown field "vlan" (did you mean "vlans"?)`},
		{"another document", profileWithWarning, nil, 2, "", "NetworkProfile"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "profile.yaml")
			if err := os.WriteFile(name, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errors strings.Builder
			status := Main("test", append([]string{"network", "manifests", name}, test.arguments...), &Streams{Out: &out, Err: &errors})
			if status != test.status || !strings.Contains(out.String(), test.out) || !strings.Contains(errors.String(), test.errors) {
				t.Errorf("status %d, want %d\n%s\n%s", status, test.status, out.String(), errors.String())
			}
		})
	}
	t.Run("no file", func(t *testing.T) {
		var errors strings.Builder
		status := Main("test", []string{"network", "manifests"}, &Streams{Err: &errors})
		if status != 2 || !strings.Contains(errors.String(), "name a NetworkProfile") {
			t.Errorf("status %d: %s", status, errors.String())
		}
	})
}

// TestCompletePools holds that the pools of the named files complete --pool.
func TestCompletePools(t *testing.T) {
	name := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(name, []byte(networkProfile), 0o600); err != nil {
		t.Fatal(err)
	}
	if names, _ := completePools(nil, []string{name}, ""); len(names) != 1 || names[0] != "vpc" {
		t.Errorf("got %v", names)
	}
	if names, _ := completePools(nil, nil, ""); names != nil {
		t.Errorf("without a file, got %v", names)
	}
}
