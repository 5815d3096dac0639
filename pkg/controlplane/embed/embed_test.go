// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/Masterminds/semver/v3"
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/embed"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

var _ extensionswebhook.Mutator = (*embed.Mutator)(nil)

// elsewhere are versions without known flags, so that rules may write any flags.
var elsewhere, _ = semver.NewConstraint("< 1.31")

const head = "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\nmetadata: {name: p}\nproviders: [acme]\n"

// profiles loads a profile of the provider acme with these rules.
func profiles(t *testing.T, rules string) []*profile.Document {
	t.Helper()
	documents, findings := profile.Load(source.File{Name: "p", Data: []byte(head + rules)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return documents
}

// TestMutatorWithoutFacts checks that a mutator needs a source of facts.
func TestMutatorWithoutFacts(t *testing.T) {
	rules := profiles(t, "controlplane:\n  node:\n  - file: {path: /a, content: a}\n")
	if _, err := embed.NewMutator(rules, embed.Options{Provider: "acme"}); err == nil {
		t.Error("no error without a source of facts, want one")
	}
	if _, err := embed.NewMutator(rules, embed.Options{Provider: "acme", Facts: &facts.Static{}}); err != nil {
		t.Error(err)
	}
}

// TestLoad checks which files of a folder are read.
func TestLoad(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	good := head + "controlplane:\n  node:\n  - file: {path: /a, contentFrom: files/a.sh}\n  - file: {path: /b, contentFrom: b.yaml}\n"
	folder := fstest.MapFS{"a.yaml": file(good), "b.yaml": file("b"), "files/a.sh": file("a"), "more/b.yaml": file("not: read"), "README.md": file("# x")}
	documents, err := embed.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) != 1 {
		t.Fatalf("got %d profiles", len(documents))
	}
	if diff := cmp.Diff(map[string][]byte{"b.yaml": []byte("b"), "files/a.sh": []byte("a")}, documents[0].Attachments); diff != "" {
		t.Errorf("attachments (-want +got):\n%s", diff)
	}
	if _, err := embed.NewMutator(documents, embed.Options{Provider: "acme", Facts: &facts.Static{}}); err != nil {
		t.Error(err)
	}
	if _, err := embed.Load(fstest.MapFS{"files/a.sh": file("a")}); !errors.Is(err, embed.ErrNoProfiles) {
		t.Errorf("without profiles: got %v", err)
	}
	var findings source.Findings
	if _, err := embed.Load(fstest.MapFS{"a.yaml": file(head + "contrlplane: {}\n")}); !errors.As(err, &findings) {
		t.Errorf("with a typo: got %v", err)
	}
}

// TestImages checks that images come from the file next to the profile, and from the landscape's override.
func TestImages(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	documents, err := embed.Load(fstest.MapFS{
		"a.yaml": file(head + "imageVector: images.yaml\ncontrolplane:\n  kube-scheduler:\n  - flags: {set: {image: '${ images[\"agent\"] }'}}\n" +
			"  node:\n  - file: {path: /a, imageRef: {image: '${ images[\"agent\"] }', filePathInImage: /a}}\n"),
		"images.yaml": file("images:\n- {name: agent, repository: registry.example.com/agent, tag: v1}\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	overwrite, err := image.Parse([]byte("images:\n- {name: agent, repository: mirror.example.com/agent, tag: v1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	source := &facts.Static{Facts: shootOf(t, `{"kubernetes":{"version":"1.34.2"}}`)}
	for want, options := range map[string]embed.Options{
		"--image=registry.example.com/agent:v1": {Provider: "acme", Facts: source, Kubernetes: elsewhere},
		"--image=mirror.example.com/agent:v1":   {Provider: "acme", Facts: source, Images: overwrite, Kubernetes: elsewhere},
	} {
		m, err := embed.NewMutator(documents, options)
		if err != nil {
			t.Fatal(err)
		}
		object := newScheduler(t)
		if err := m.Mutate(t.Context(), object, nil); err != nil || !strings.Contains(text(t, object), `"`+want+`"`) {
			t.Errorf("%s: got %s, %v", want, text(t, object), err)
		}
	}
}

// shootOf returns the facts of a shoot with this spec.
func shootOf(t *testing.T, spec string) *facts.Facts {
	t.Helper()
	f, err := facts.FromParts("shoot--a--b", nil, nil, []byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","spec":`+spec+`}`))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
