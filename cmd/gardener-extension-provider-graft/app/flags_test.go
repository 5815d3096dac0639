// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/build"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/installation"
)

// complete parses a command line in an empty environment.
func complete(t *testing.T, arguments ...string) (*installation.Installation, error) {
	t.Helper()
	for _, name := range []string{"KUBECONFIG", "LEADER_ELECTION_NAMESPACE"} {
		t.Setenv(name, "")
	}
	flags, set := NewFlags(), pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.AddTo(set)
	if err := set.Parse(arguments); err != nil {
		t.Fatal(err)
	}
	return flags.Complete(set)
}

func TestCompleteInCluster(t *testing.T) {
	t.Setenv("WEBHOOK_CONFIG_NAMESPACE", "extension-provider-graft-abcde")
	o, err := complete(t, "--profile=a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type summary struct {
		Name, Mode, Namespace, Server, Lease string
		Port, ServicePort                    int32
		Generation                           contract.Generation
	}
	got := summary{
		o.Endpoint.Name, o.Endpoint.Mode, o.Endpoint.Namespace, o.Endpoint.ServerName(),
		o.Config.LeaderElection.ResourceNamespace, o.Config.Server.WebhookPort, o.Endpoint.ServicePort, o.Generation,
	}
	want := summary{
		"gardener-extension-provider-graft.extension-provider-graft-abcde", "service", "extension-provider-graft-abcde",
		"gardener-extension-provider-graft.extension-provider-graft-abcde.svc", "extension-provider-graft-abcde", 10250, 443, contract.Today,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCompleteOutside(t *testing.T) {
	t.Setenv("WEBHOOK_CONFIG_NAMESPACE", "")
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: ControllerConfiguration
server: {webhookPort: 1, metricsBindAddress: ":2", healthBindAddress: ":3"}
logging: {level: error}
profiles: {paths: [one]}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := complete(t, "--config="+file, "--webhook-config-mode=url", "--webhook-config-url=10.0.0.1:9443", "--webhook-config-namespace=n", "--leader-election=false", "--webhook-config-cert-dir=/certificates",
		"--webhook-config-server-port=9443", "--metrics-bind-address=0", "--profile=two", "--profile=three", "--gardener-version=v1.50.0")
	if err != nil {
		t.Fatal(err)
	}
	if o.Config.Server.WebhookPort != 9443 || o.Config.Server.MetricsBindAddress != "0" || *o.Config.LeaderElection.Enabled {
		t.Errorf("want the values of the flags, got %+v", o.Config)
	}
	if o.Config.Server.HealthBindAddress != ":3" || o.Config.Logging.Level != "error" {
		t.Errorf("want the values of the configuration where no flag is set, got %+v", o.Config)
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, o.Config.Profiles.Paths); diff != "" {
		t.Error(diff)
	}
	if o.Generation != contract.Labelled || o.Endpoint.ServerName() != "10.0.0.1" {
		t.Errorf("the options are %+v", o)
	}
}

// TestCompleteRejectsRegistrationOfVirtualGarden: the two installations in one cluster must not write the same registration.
func TestCompleteRejectsRegistrationOfVirtualGarden(t *testing.T) {
	t.Setenv("WEBHOOK_CONFIG_NAMESPACE", "runtime-extension-provider-graft")
	o, err := complete(t, "--profile=a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if o.Endpoint.Name != "gardener-extension-provider-graft-runtime.runtime-extension-provider-graft" {
		t.Errorf("the registration is called %s", o.Endpoint.Name)
	}
}

func TestCompleteWrong(t *testing.T) {
	for name, test := range map[string]struct {
		arguments string
		want      string
	}{
		"names all missing flags":                  {"", "--webhook-config-namespace (or WEBHOOK_CONFIG_NAMESPACE) is needed\nno profiles: give --profile, or profiles.paths or profiles.configMaps in the configuration"},
		"an unknown mode":                          {"--profile=a --webhook-config-namespace=n --webhook-config-mode=url-service", `--webhook-config-mode must be service or url, is "url-service"`},
		"no port in URL":                           {"--profile=a --webhook-config-namespace=n --webhook-config-mode=url --webhook-config-url=host", "--webhook-config-url must be host:port in the mode url"},
		"a port above 65535":                       {"--profile=a --webhook-config-namespace=n --webhook-config-server-port=70000", "--webhook-config-server-port must be 1 to 65535"},
		"a heartbeat without an interval":          {"--profile=a --webhook-config-namespace=n --heartbeat-renew-interval-seconds=0", "--heartbeat-renew-interval-seconds must be at least 1"},
		"an unknown log level":                     {"--profile=a --webhook-config-namespace=n --log-level=loud", `--log-level must be debug, info or error, is "loud"`},
		"an unknown log format":                    {"--profile=a --webhook-config-namespace=n --log-format=xml", `--log-format must be json or text, is "xml"`},
		"an invalid Gardener version":              {"--profile=a --webhook-config-namespace=n --gardener-version=new", `reading --gardener-version: reading the Gardener version "new": invalid semantic version`},
		"an invalid range of Kubernetes versions":  {"--profile=a --webhook-config-namespace=n --kubernetes-versions=new", "reading --kubernetes-versions: improper constraint: new"},
		"no file of CAs":                           {"--profile=a --webhook-config-namespace=n --leader-election=false --client-ca=/dev/zero", "reading --client-ca: read /dev/zero: it is a device: only regular files are read"},
		"a configuration file that does not exist": {"--config=/does/not/exist", "reading the configuration: open /does/not/exist: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("WEBHOOK_CONFIG_NAMESPACE", "")
			_, err := complete(t, strings.Fields(test.arguments)...)
			if err == nil {
				t.Fatal("no error, want one")
			}
			if diff := cmp.Diff(strings.ToLower(test.want), strings.ToLower(err.Error())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMainWritesFindings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ControllerConfiguration\nprofils: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	if status := Main(context.Background(), "v1", []string{"--config=" + file}, &out, &problems); status != 1 {
		t.Errorf("the status is %d", status)
	}
	if got, want := problems.String(), file+`:3:1: unknown field "profils" (did you mean "profiles"?)`+"\n"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestVersion(t *testing.T) {
	var out, problems bytes.Buffer
	status := Main(context.Background(), build.Version("v0.1.0", "0123abc"), []string{"--version"}, &out, &problems)
	if status != 0 || out.String() != "gardener-extension-provider-graft v0.1.0 (0123abc)\n" || problems.Len() > 0 {
		t.Errorf("status %d, %q, %q", status, out.String(), problems.String())
	}
}
