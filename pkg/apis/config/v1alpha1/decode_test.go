// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const head = "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ControllerConfiguration\n"

func decode(text string) (*v1alpha1.ControllerConfiguration, error) {
	return v1alpha1.DecodeControllerConfiguration(source.File{Name: "config.yaml", Data: []byte(text)})
}

func TestDefaults(t *testing.T) {
	for name, text := range map[string]string{"no bytes": "", "a head alone": head} {
		t.Run(name, func(t *testing.T) {
			got, err := decode(text)
			if err != nil {
				t.Fatal(err)
			}
			enabled := true
			want := &v1alpha1.ControllerConfiguration{
				APIVersion:       "graft.provider.extensions.config.gardener.cloud/v1alpha1",
				Kind:             "ControllerConfiguration",
				ClientConnection: v1alpha1.ClientConnection{QPS: 100, Burst: 130},
				LeaderElection:   v1alpha1.LeaderElection{Enabled: &enabled, ResourceName: "gardener-extension-provider-graft-leader-election"},
				Server:           v1alpha1.Server{WebhookPort: 10250, MetricsBindAddress: ":8080", HealthBindAddress: ":8081"},
				Limits:           v1alpha1.WebhookLimits{Connections: 1024, Streams: 32, Requests: 256, BodiesBytes: 64 << 20},
				Logging:          v1alpha1.Logging{Level: "info", Format: "json"},
				Webhook: v1alpha1.Webhook{
					MaxReviewBytes: 8 << 20, TimeoutSeconds: 10, FailurePolicy: "Fail",
					SyncPeriod: v1alpha1.Duration{Duration: 5 * time.Minute},
				},
				Gate: v1alpha1.Gate{Type: "graft"},
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

func TestDecodeEverything(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "everything.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if got.Shutdown.Delay.Duration != 0 {
		t.Errorf("a written delay of 0s became %s", got.Shutdown.Delay)
	}
	if *got.LeaderElection.Enabled {
		t.Error("a written false became true")
	}
	if want := []string{"/etc/graft/profiles", "extra.yaml"}; !cmp.Equal(got.Profiles.Paths, want) {
		t.Errorf("paths are %q", got.Profiles.Paths)
	}
	node := got.Parameters["openstack"]["etcdStorageClass"]
	if node.Value != "fast" || node.Line == 0 {
		t.Errorf("the parameter is %q at %s", node.Value, node.Position())
	}
}

func TestWrong(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"apiVersion is missing":           {"kind: ControllerConfiguration\n", "config.yaml:1:1: apiVersion: is missing: must be graft.provider.extensions.config.gardener.cloud/v1alpha1"},
		"the kind is unknown":             {"apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: Thing\n", `config.yaml:2:7: kind: unknown kind "Thing": must be ControllerConfiguration`},
		"the file has a second document":  {head + "---\na: 1\n", "config.yaml:4:1: a second document: there must be one ControllerConfiguration"},
		"a field is misspelt":             {head + "webhok: {}\n", `config.yaml:3:1: unknown field "webhok" (did you mean "webhook"?)`},
		"port of the wrong type":          {head + "server:\n  webhookPort: \"1\"\n", `config.yaml:4:16: server.webhookPort: must be a whole number, is the string "1"`},
		"port out of range":               {head + "server: {webhookPort: 70000}\n", "config.yaml:3:23: server.webhookPort: must be 1 to 65535"},
		"timeout of zero":                 {head + "webhook: {timeoutSeconds: 0}\n", "config.yaml:3:27: webhook.timeoutSeconds: must be 1 to 30"},
		"the failure policy is lowercase": {head + "webhook: {failurePolicy: ignore}\n", `config.yaml:3:26: webhook.failurePolicy: must be one of Fail, Ignore (did you mean "Ignore"?)`},
		"a duration is not a number":      {head + "shutdown: {delay: soon}\n", `config.yaml:3:19: shutdown.delay: "soon" is not a duration, such as 500ms, 10s or 5m`},
		"a removed field":                 {head + "drift: {enabled: true}\n", `config.yaml:3:1: unknown field "drift"`},
		"gate with an invalid name":       {head + "gate: {type: Graft}\n", "config.yaml:3:14: gate.type: must have only lower case letters, digits and '-': gardenlet creates objects with this name"},
		"a duration is negative":          {head + "shutdown: {delay: -1s}\n", `config.yaml:3:19: shutdown.delay: "-1s" is not a duration, such as 500ms, 10s or 5m`},
		"short sync period":               {head + "webhook: {syncPeriod: 10ms}\n", "config.yaml:3:23: webhook.syncPeriod: must be at least 1s"},
		"an address has no port":          {head + "server: {healthBindAddress: \"0\"}\n", "config.yaml:3:29: server.healthBindAddress: must be host:port or :port"},
		"contention without profiling":    {head + "debugging: {contentionProfiling: true}\n", "config.yaml:3:34: debugging.contentionProfiling: needs debugging.profiling"},
		"a path is listed twice":          {head + "profiles: {paths: [a, a]}\n", `config.yaml:3:19: profiles.paths: has an empty or duplicate entry: "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(test.text)
			if err == nil {
				t.Fatal("no error, want one")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
