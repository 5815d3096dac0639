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

const interpreterHead = "apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\nkind: ResourceInterpreterConfiguration\n"

func decodeInterpreter(text string) (*v1alpha1.ResourceInterpreterConfiguration, error) {
	return v1alpha1.DecodeResourceInterpreterConfiguration(source.File{Name: "config.yaml", Data: []byte(text)})
}

func TestInterpreterDefaults(t *testing.T) {
	yes, no := true, false
	want := func() *v1alpha1.ResourceInterpreterConfiguration {
		return &v1alpha1.ResourceInterpreterConfiguration{
			APIVersion: "graft.provider.extensions.config.gardener.cloud/v1alpha1",
			Kind:       "ResourceInterpreterConfiguration",
			Profiles:   v1alpha1.InterpreterProfiles{Gardener: &yes},
			Server:     v1alpha1.InterpreterServer{Address: ":8443"},
			Certificate: v1alpha1.InterpreterCertificate{
				AuthorityValidity: v1alpha1.Duration{Duration: 8760 * time.Hour}, Validity: v1alpha1.Duration{Duration: 720 * time.Hour},
				Overlap: v1alpha1.Duration{Duration: 10 * time.Minute},
			},
			LeaderElection: v1alpha1.InterpreterElection{Enabled: &yes, ResourceName: "graft-resource-interpreter"},
			Metrics:        v1alpha1.InterpreterMetrics{Address: ":9475"},
			Limits:         v1alpha1.InterpreterLimits{Requests: 256, Connections: 1024, Streams: 32, BodyBytes: 20 << 20, BodiesBytes: 128 << 20},
			Logging:        v1alpha1.Logging{Level: "info", Format: "json"},
			Shutdown:       v1alpha1.Shutdown{Delay: v1alpha1.Duration{Duration: 3 * time.Second}, Timeout: v1alpha1.Duration{Duration: 30 * time.Second}},
		}
	}
	for name, test := range map[string]struct {
		text   string
		change func(*v1alpha1.ResourceInterpreterConfiguration)
	}{
		"an empty file":            {"", func(*v1alpha1.ResourceInterpreterConfiguration) {}},
		"only apiVersion and kind": {interpreterHead, func(*v1alpha1.ResourceInterpreterConfiguration) {}},
		"a certificate in a Secret with defaults": {interpreterHead + "certificate: {secret: {}}", func(c *v1alpha1.ResourceInterpreterConfiguration) {
			c.Certificate.Secret = &v1alpha1.SecretName{Name: "graft-resource-interpreter-tls"}
		}},
		"a certificate in a folder with defaults": {interpreterHead + "certificate: {folder: /x}", func(c *v1alpha1.ResourceInterpreterConfiguration) {
			c.Certificate.Folder, c.LeaderElection.Enabled = "/x", &no
		}},
		"a registration with defaults": {interpreterHead + "registration: {service: {namespace: a, name: b}}", func(c *v1alpha1.ResourceInterpreterConfiguration) {
			c.Registration = &v1alpha1.Registration{
				Name: "graft-resource-interpreter", Dialects: []string{"shipped"}, TimeoutSeconds: 10, SyncPeriod: v1alpha1.Duration{Duration: 30 * time.Second},
				Service: &v1alpha1.RegisteredService{Namespace: "a", Name: "b", Port: 443, Path: "/interpret"},
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decodeInterpreter(test.text)
			if err != nil {
				t.Fatal(err)
			}
			wanted := want()
			test.change(wanted)
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeInterpreterEverything(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "resource-interpreter.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeInterpreter(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if got.Registration.Service.Path != "/ask" || got.Registration.Owner != "acme-east" || *got.LeaderElection.Enabled || got.Certificate.Sources() != 1 || got.Limits.BodiesBytes != 64<<20 {
		t.Errorf("got %+v", got)
	}
}

// TestInterpreterWrong checks the message of each mistake in testdata/resource-interpreter-mistakes.yaml.
func TestInterpreterWrong(t *testing.T) {
	mistakes(t, "resource-interpreter-mistakes.yaml", interpreterHead, func(text string) error { _, err := decodeInterpreter(text); return err })
}
