// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package netmanifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/netmanifest"
)

const forContainers = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: acme}
pools:
  overlay: {exclusive: true, subnets: [{prefix: 10.0.0.0/16}]}
profiles:
  overlay: {pools: [overlay]}
  hosts: {link: {kind: vxlan}}
  tuned: {config: {interface: {mtu: 9000}}}
`

// TestDocker holds the files by which Docker finds a provider, and what is said beside them.
func TestDocker(t *testing.T) {
	use := "Then:\n" +
		"docker network create -d graft -o profile=hosts NAME\n" +
		"docker network create -d graft -o profile=overlay --ipam-driver graft --ipam-opt profile=overlay NAME"
	files := netmanifest.Discovery{Name: "graft", URL: "https://192.0.2.1:8443", CAFile: "/etc/docker/graft/ca.crt", CertFile: "/c", KeyFile: "/k"}
	tests := map[string]struct {
		of         netmanifest.Discovery
		name, data string
		advice     []string
	}{
		"a socket":           {netmanifest.Discovery{Name: "graft", URL: "unix:///run/graft/docker.sock"}, "graft.spec", "unix:///run/graft/docker.sock\n", []string{use}},
		"a socket in place":  {netmanifest.Discovery{Name: "graft", URL: "unix:///run/docker/plugins/graft.sock"}, "graft.spec", "unix:///run/docker/plugins/graft.sock\n", []string{"Docker finds a socket of this path without the file.", use}},
		"without encryption": {netmanifest.Discovery{Name: "graft", URL: "http://127.0.0.1:80"}, "graft.spec", "http://127.0.0.1:80\n", []string{"Over http whoever reaches the provider makes links as root: its listener must say `insecure: true`.", use}},
		"with a certificate": {files, "graft.json", `{
  "Name": "graft",
  "Addr": "https://192.0.2.1:8443",
  "TLSConfig": {
    "InsecureSkipVerify": false,
    "CAFile": "/etc/docker/graft/ca.crt",
    "CertFile": "/c",
    "KeyFile": "/k"
  }
}
`, []string{"The listener of the provider has tls with certFile, keyFile and clientCAFile: the CA of Docker's certificate.", use}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := netmanifest.Docker(load(t, forContainers), test.of)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.data, string(got.Data)); diff != "" || got.Name != test.name {
				t.Errorf("%s:\n%s", got.Name, diff)
			}
			if diff := cmp.Diff(test.advice, got.Advice); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDockerRefused holds what Docker could not use.
func TestDockerRefused(t *testing.T) {
	for name, test := range map[string]struct {
		of   netmanifest.Discovery
		want string
	}{
		"a name with a slash":  {netmanifest.Discovery{Name: "a/b", URL: "unix:///x"}, "is no name of a driver"},
		"no name":              {netmanifest.Discovery{URL: "unix:///x"}, "is no name of a driver"},
		"no scheme":            {netmanifest.Discovery{Name: "a", URL: "/run/x.sock"}, "must be unix:///path"},
		"a host of a socket":   {netmanifest.Discovery{Name: "a", URL: "unix://run/x.sock"}, "must be unix:///path"},
		"no port":              {netmanifest.Discovery{Name: "a", URL: "http://graft"}, "must be unix:///path"},
		"a path":               {netmanifest.Discovery{Name: "a", URL: "http://graft:80/v1"}, "scheme, host and port alone"},
		"no CA":                {netmanifest.Discovery{Name: "a", URL: "https://graft:443", CertFile: "/c", KeyFile: "/k"}, "without a CA"},
		"files for a socket":   {netmanifest.Discovery{Name: "a", URL: "unix:///x", CAFile: "/ca"}, "are for https"},
		"a file of a relative": {netmanifest.Discovery{Name: "a", URL: "https://graft:443", CAFile: "ca", CertFile: "/c", KeyFile: "/k"}, "absolute path"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := netmanifest.Docker(load(t, forContainers), test.of)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
