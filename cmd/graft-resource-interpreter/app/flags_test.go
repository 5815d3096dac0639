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

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
)

// TestFlagsWin checks that given flags override the configuration, and that absent flags do not change it.
func TestFlagsWin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: ResourceInterpreterConfiguration
profiles: {paths: [a], optional: [cluster]}
server: {address: "127.0.0.1:1"}
certificate: {secret: {name: written}, dnsNames: [written.example.com]}
registration: {name: written, service: {namespace: n, name: s}, timeoutSeconds: 3}
metrics: {address: "127.0.0.1:2"}
logging: {level: error}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	type summary struct {
		Profiles             configv1alpha1.InterpreterProfiles
		Address, Metrics     string
		Certificate          configv1alpha1.InterpreterCertificate
		Registration         configv1alpha1.Registration
		Elects               bool
		Level, Kubeconfig    string
		DNSNames, IPAddreses []string
	}
	yes, no := true, false
	same := configv1alpha1.ResourceInterpreterConfiguration{
		Certificate:  configv1alpha1.InterpreterCertificate{Secret: &configv1alpha1.SecretName{Name: "written"}, DNSNames: []string{"written.example.com"}},
		Registration: &configv1alpha1.Registration{Name: "written", Service: &configv1alpha1.RegisteredService{Namespace: "n", Name: "s"}, TimeoutSeconds: 3},
	}
	same.Default()
	changed := same
	changed.Certificate.Secret, changed.Certificate.Folder = nil, "given"
	changed.Certificate.DNSNames, changed.Certificate.IPAddresses = []string{"written.example.com", "given.example.com"}, []string{"10.0.0.1"}
	registration := *same.Registration
	registration.Name, registration.URL, registration.Service, registration.Kubeconfig, registration.TimeoutSeconds = "given", "https://10.0.0.2:8443/ask", nil, "karmada", 9
	for name, test := range map[string]struct {
		arguments []string
		want      summary
	}{
		"defaults without flags": {nil, summary{
			configv1alpha1.InterpreterProfiles{Paths: []string{"a"}, Gardener: &yes, Optional: []string{"cluster"}}, "127.0.0.1:1", "127.0.0.1:2",
			same.Certificate, *same.Registration, true, "error", "", []string{"written.example.com", "s.n.svc", "s.n.svc.cluster.local"}, nil,
		}},
		"every flag replaces a default": {[]string{
			"--profiles=b", "--gardener-optional=worker-replicas", "--listen=127.0.0.1:3", "--metrics-address=0", "--certificate-folder=given",
			"--dns-name=given.example.com", "--ip-address=10.0.0.1", "--register=given", "--url=https://10.0.0.2:8443/ask", "--karmada-kubeconfig=karmada",
			"--timeout-seconds=9", "--log-level=debug", "--kubeconfig=home",
		}, summary{
			configv1alpha1.InterpreterProfiles{Paths: []string{"a", "b"}, Gardener: &yes, Optional: []string{"cluster", "worker-replicas"}}, "127.0.0.1:3", "0",
			changed.Certificate, registration, no, "debug", "home", []string{"written.example.com", "given.example.com"}, []string{"10.0.0.1", "10.0.0.2"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			flags, set := &Flags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
			flags.AddTo(set)
			if err := set.Parse(append(test.arguments, "--config="+path)); err != nil {
				t.Fatal(err)
			}
			o, err := flags.Complete(set)
			if err != nil {
				t.Fatal(err)
			}
			c := o.Config
			got := summary{
				Profiles: c.Profiles, Address: c.Server.Address, Metrics: c.Metrics.Address, Certificate: c.Certificate, Registration: *c.Registration,
				Elects: *c.LeaderElection.Enabled, Level: c.Logging.Level, Kubeconfig: c.Kubernetes.Kubeconfig,
			}
			got.DNSNames, got.IPAddreses = o.Names()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
