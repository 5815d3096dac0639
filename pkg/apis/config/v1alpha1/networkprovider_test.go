// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const networkHead = "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: NetworkProviderConfiguration\n"

func decodeNetwork(text string) (*v1alpha1.NetworkProviderConfiguration, error) {
	return v1alpha1.DecodeNetworkProviderConfiguration(source.File{Name: "config.yaml", Data: []byte(text)})
}

func TestNetworkDefaults(t *testing.T) {
	for name, text := range map[string]string{"no bytes": "", "a head alone": networkHead} {
		t.Run(name, func(t *testing.T) {
			got, err := decodeNetwork(text)
			if err != nil {
				t.Fatal(err)
			}
			want := &v1alpha1.NetworkProviderConfiguration{
				APIVersion: "graft.provider.extensions.config.gardener.cloud/v1alpha1",
				Kind:       "NetworkProviderConfiguration",
				Ledger:     v1alpha1.Ledger{Path: "/var/lib/graft/ledger"},
				Metrics:    v1alpha1.NetworkMetrics{Address: "127.0.0.1:9474"},
				Limits:     v1alpha1.NetworkLimits{Requests: 512, Connections: 1024, Streams: 32, BodyBytes: 1 << 20, BodiesBytes: 64 << 20},
				CNI:        v1alpha1.CNI{Configurations: "/etc/cni/net.d", Plugins: "/opt/cni/bin"},
				Docker: v1alpha1.Docker{
					Scope: "local", Connectivity: "local", KernelTimeout: v1alpha1.Duration{Duration: 5 * time.Second},
					Sweep: v1alpha1.DockerSweep{Period: v1alpha1.Duration{Duration: time.Minute}, Grace: v1alpha1.Duration{Duration: 10 * time.Minute}},
				},
				Logging: v1alpha1.Logging{Level: "info", Format: "json"},
				Leaks: v1alpha1.Leaks{
					Mode: "report", Period: v1alpha1.Duration{Duration: 5 * time.Minute}, Grace: v1alpha1.Duration{Duration: 10 * time.Minute},
					Oldest: v1alpha1.Duration{Duration: 720 * time.Hour},
				},
				Shutdown: v1alpha1.Shutdown{
					Delay: v1alpha1.Duration{Duration: 3 * time.Second}, Timeout: v1alpha1.Duration{Duration: 30 * time.Second},
				},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLeaksMode checks that allocations of missing holders are freed by default where holders can be looked for.
func TestLeaksMode(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "report",
		"kubernetes: {}\n":                      "free",
		"kubernetes: {}\nleaks: {mode: report}": "report",
	} {
		got, err := decodeNetwork(networkHead + text)
		if err != nil || got.Leaks.Mode != want {
			t.Errorf("%q: got mode %q and error %v, want %q", text, got.Leaks.Mode, err, want)
		}
	}
}

func TestDecodeNetworkEverything(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "network.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeNetwork(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if got.Ledger.Path != "" || got.Ledger.Etcd.Prefix != "/somewhere" {
		t.Errorf("the ledger is %+v", got.Ledger)
	}
	if path, err := got.Administration.Socket(); path != "/run/graft/administration.sock" || err != nil {
		t.Errorf("the administration is at %q, %v", path, err)
	}
	type summary struct {
		Network, Address string
		Mode             fs.FileMode
		UID, GID         int
		Exposed          bool
		Contracts        []v1alpha1.NetworkContract
	}
	var summaries []summary
	for _, l := range got.Listeners {
		s := summary{Exposed: l.Exposed(), Contracts: l.Contracts}
		s.Network, s.Address, _ = l.Endpoint()
		s.Mode, _ = l.FileMode()
		s.UID, s.GID, _ = l.Owners()
		summaries = append(summaries, s)
	}
	want := []summary{
		{"unix", "/run/graft/dranet.sock", 0o660, 0, 1000, false, []v1alpha1.NetworkContract{"dranet"}},
		{"tcp", "0.0.0.0:8443", 0o600, -1, -1, false, []v1alpha1.NetworkContract{"spiderpool"}},
		{"tcp", "0.0.0.0:8080", 0o600, -1, -1, true, nil},
		{"unix", "/run/graft/all.sock", 0o666, -1, -1, true, nil},
		{"systemd", "graft-docker", 0o600, -1, -1, false, []v1alpha1.NetworkContract{"docker"}},
	}
	if diff := cmp.Diff(want, summaries); diff != "" {
		t.Error(diff)
	}
}

// TestNetworkWrong checks the message of each mistake in testdata/network-mistakes.yaml.
func TestNetworkWrong(t *testing.T) {
	mistakes(t, "network-mistakes.yaml", networkHead, func(text string) error { _, err := decodeNetwork(text); return err })
}

// mistakes checks the message of each mistake in a file of testdata, written below a head.
func mistakes(t *testing.T, file, head string, decode func(string) error) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Text, Want string }
	if err := yaml.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, test := range cases {
		t.Run(test.Text, func(t *testing.T) {
			err := decode(head + test.Text + "\n")
			if err == nil {
				t.Fatal("no error, want one")
			}
			if diff := cmp.Diff(test.Want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
