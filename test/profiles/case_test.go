// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

// supported are the newest patch versions of the minor versions of Kubernetes that Gardener supports.
var supported = []string{"1.31.14", "1.32.10", "1.33.6", "1.34.2"}

// suite is a cases.yaml: the kinds of shoots for a profile's patches.
type suite struct {
	// Kubernetes are the versions of each case; the supported ones by default.
	Kubernetes []string `json:"kubernetes,omitempty"`
	// Whole writes each patch in every golden file, even if it is equal to the first case's.
	Whole bool `json:"whole,omitempty"`
	// Defaults are the fields of all cases that do not have them themselves.
	Defaults json.RawMessage `json:"defaults,omitempty"`
	Cases    []testCase      `json:"-"`
}

// testCase is one kind of shoot with its special objects. README.md has the fields.
type testCase struct {
	Name string `json:"name"`
	// Profile is the file of the profile; profile.yaml when empty.
	Profile    string         `json:"profile,omitempty"`
	Kubernetes []string       `json:"kubernetes,omitempty"`
	Parameters map[string]any `json:"parameters,omitempty"`

	HighAvailability bool              `json:"highAvailability,omitempty"`
	IPv6             bool              `json:"ipv6,omitempty"`
	Hibernated       bool              `json:"hibernated,omitempty"`
	Workerless       bool              `json:"workerless,omitempty"`
	Annotations      map[string]string `json:"annotations,omitempty"`

	InfrastructureConfig json.RawMessage `json:"infrastructureConfig,omitempty"`
	ControlPlaneConfig   json.RawMessage `json:"controlPlaneConfig,omitempty"`
	WorkerConfig         json.RawMessage `json:"workerConfig,omitempty"`
	CloudProfileConfig   json.RawMessage `json:"cloudProfileConfig,omitempty"`
	SeedConfig           json.RawMessage `json:"seedConfig,omitempty"`
	// Shoot is merged into the Shoot that the profile sees (RFC 7386).
	Shoot json.RawMessage `json:"shoot,omitempty"`
	// CloudProfile is merged into the CloudProfile in the same way.
	CloudProfile json.RawMessage `json:"cloudProfile,omitempty"`

	// Legacy takes the objects of the older generation instead of today's.
	Legacy *legacy `json:"legacy,omitempty"`
	// Present are the objects that lookups find.
	Present []map[string]any `json:"present,omitempty"`
	// Objects are further objects that pass the webhooks.
	Objects []json.RawMessage `json:"objects,omitempty"`
	// Edits change objects before they are admitted.
	Edits []edit `json:"edits,omitempty"`
	// Old changes the old objects; these are then updated instead of created.
	Old []edit `json:"old,omitempty"`
	// Denied reports that some object is denied.
	Denied bool `json:"denied,omitempty"`
}

// legacy are the options of the older generation.
type legacy struct {
	Kubernetes string `json:"kubernetes,omitempty"`
	SNI        bool   `json:"sni,omitempty"`
}

// providers are the folders of profiles.
func providers(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "*", "profile.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no profiles: %v", err)
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(filepath.Dir(path))
	}
	return names
}

// readSuite reads the cases of a provider; those of the first minor version come first.
func readSuite(t *testing.T, provider string) suite {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", provider, "cases.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	written := struct {
		suite
		Cases []json.RawMessage `json:"cases"`
	}{suite: suite{Kubernetes: supported}}
	if err := yaml.UnmarshalStrict(data, &written); err != nil {
		t.Fatalf("reading the cases of %s: %v", provider, err)
	}
	s := written.suite
	s.Cases = make([]testCase, len(written.Cases))
	seen := map[string]bool{}
	for i, raw := range written.Cases {
		c := &s.Cases[i]
		for _, fields := range []json.RawMessage{s.Defaults, raw} {
			if err := yaml.UnmarshalStrict(fields, c); err != nil {
				t.Fatalf("reading case %d of %s: %v", i, provider, err)
			}
		}
		if c.Name == "" || seen[c.Name] {
			t.Fatalf("%s: a case has no name, or that of another: %q", provider, c.Name)
		}
		seen[c.Name] = true
		c.Profile = cmp.Or(c.Profile, "profile.yaml")
		switch {
		case c.Legacy != nil && c.Legacy.Kubernetes == "":
			c.Legacy.Kubernetes = "1.20.15"
			fallthrough
		case c.Legacy != nil:
			c.Kubernetes = []string{c.Legacy.Kubernetes}
		case len(c.Kubernetes) == 0:
			c.Kubernetes = s.Kubernetes
		}
	}
	return s
}

// golden is the file of the case for a version.
func (c *testCase) golden(version string) string {
	if c.Legacy != nil {
		return c.Name
	}
	return fmt.Sprintf("%s-%s", c.Name, version)
}

func (c *testCase) generation() contract.Generation {
	if c.Legacy != nil {
		return contract.Labelled
	}
	return contract.Today
}

// options returns the options of the sample for a version and a provider.
func (c *testCase) options(provider, version string) sample.Options {
	o := sample.Options{
		Kubernetes: version, Provider: provider, Annotations: c.Annotations,
		HighAvailability: c.HighAvailability, IPv6: c.IPv6, Hibernated: c.Hibernated, Workerless: c.Workerless,
		InfrastructureConfig: config(c.InfrastructureConfig), ControlPlaneConfig: config(c.ControlPlaneConfig),
		WorkerConfig: config(c.WorkerConfig), CloudProfileConfig: config(c.CloudProfileConfig),
		SeedConfig: config(c.SeedConfig),
	}
	if c.Legacy != nil {
		// The Cluster has a version with samples; facts replaces it by an older one.
		o.Kubernetes = supported[0]
	}
	return o
}

// config is a configuration, or nothing where a case says null.
func config(raw json.RawMessage) []byte {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
