// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
)

// complete parses a command line.
func complete(t *testing.T, arguments ...string) (*Options, error) {
	t.Helper()
	flags, set := NewFlags(), pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.AddTo(set)
	if err := set.Parse(arguments); err != nil {
		t.Fatal(err)
	}
	return flags.Complete(set)
}

func TestFlagsWin(t *testing.T) {
	t.Setenv("NODE_NAME", "from-the-environment")
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: NetworkProviderConfiguration
node: written
profiles: {paths: [a]}
ledger: {etcd: {endpoints: ["https://a:2379"]}}
listeners: [{address: "unix:///written.sock"}]
logging: {level: error}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	type summary struct {
		Node, Ledger, Level, Metrics string
		Etcd                         bool
		Paths                        []string
		Listeners                    []configv1alpha1.NetworkListener
	}
	for name, test := range map[string]struct {
		arguments []string
		want      summary
	}{
		"defaults without flags": {nil, summary{
			"written", "", "error", "127.0.0.1:9474", true, []string{"a"}, []configv1alpha1.NetworkListener{{Address: "unix:///written.sock"}},
		}},
		"every flag replaces a default": {[]string{
			"--node=given", "--ledger=folder", "--profiles=b", "--listen=unix:///given.sock", "--listen=dranet,spiderpool=tcp://:1", "--insecure",
			"--log-level=debug", "--metrics-address=0",
		}, summary{"given", "folder", "debug", "0", false, []string{"a", "b"}, []configv1alpha1.NetworkListener{
			{Address: "unix:///given.sock"},
			{Address: "tcp://:1", Insecure: true, Contracts: []configv1alpha1.NetworkContract{"dranet", "spiderpool"}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := complete(t, append(test.arguments, "--config="+path)...)
			if err != nil {
				t.Fatal(err)
			}
			c := o.Config
			got := summary{c.Node, c.Ledger.Path, c.Logging.Level, c.Metrics.Address, c.Ledger.Etcd != nil, c.Profiles.Paths, c.Listeners}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if o, err := complete(t, "--profiles=a", "--listen=unix:///a"); err != nil || o.Config.Node != "from-the-environment" {
		t.Errorf("got %+v, %v", o, err)
	}
}

// TestNodeNameMarksOneServerOfMany checks that NODE_NAME marks one server of many, and that a node from a flag or the configuration does
// not.
func TestNodeNameMarksOneServerOfMany(t *testing.T) {
	for name, test := range map[string]struct {
		environment string
		arguments   []string
		want        bool
	}{
		"the node comes from NODE_NAME": {"worker-1", nil, true},
		"the flag precedes NODE_NAME":   {"worker-1", []string{"--node=worker-1"}, false},
		"without a node":                {"", nil, false},
		"node in the configuration":     {"worker-1", []string{"--node="}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NODE_NAME", test.environment)
			if o, err := complete(t, append(test.arguments, "--profiles=a", "--listen=unix:///a")...); err != nil || o.EachNode != test.want {
				t.Errorf("got %+v, %v", o, err)
			}
		})
	}
}

// TestDockerNode checks that Docker's contract needs a node if several machines may share the ledger.
func TestDockerNode(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: NetworkProviderConfiguration\n" +
		"profiles: {paths: [a]}\nledger: {etcd: {endpoints: [\"https://a:2379\"]}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, arguments := range map[bool][]string{
		true:  {"--config=" + path, "--listen=docker=unix:///x"},
		false: {"--config=" + path, "--listen=docker=unix:///x", "--node=worker-1"},
	} {
		if _, err := complete(t, arguments...); (err != nil) != want {
			t.Errorf("%v: %v", arguments, err)
		}
	}
	if _, err := complete(t, "--config="+path, "--listen=unix:///x"); err != nil {
		t.Error(err)
	}
}

// TestFlagsWrong checks the message of each mistake in testdata/mistakes.yaml.
func TestFlagsWrong(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "mistakes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Arguments []string
		Want      string
	}
	if err := yaml.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, test := range cases {
		_, err := complete(t, test.Arguments...)
		if err == nil {
			t.Errorf("%v: no error, want one", test.Arguments)
		} else if diff := cmp.Diff(test.Want, err.Error()); diff != "" {
			t.Errorf("%v:\n%s", test.Arguments, diff)
		}
	}
}

func TestEndpoints(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/apis/network.iaas.io/ipam/allocate-ips":            "allocate-ips",
		"/prefix/v1/apis/network.iaas.io/ipam/release-ip":       "release-ip",
		"/v1/apis/network.iaas.io/status/ips-cache/192.168.0.1": "ips-cache",
		"/v1/apis/network.iaas.io/":                             "",
		"/healthz":                                              "healthz",
		"/records":                                              "",
		"/health":                                               "",
		"/":                                                     "",
	} {
		if got := spiderpoolEndpoint(path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}
