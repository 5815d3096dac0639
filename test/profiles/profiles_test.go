// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package profiles_test holds what the example profiles make of the control planes that Gardener's own component code writes,
// for every supported version of Kubernetes and kind of shoot, and of those of the older generation.
package profiles_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"znkr.io/diff"
	"znkr.io/diff/textdiff"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

var update = flag.Bool("update", false, "write what the tests got as what they want")

// attributes is the annotation by which a shoot asks for VolumeAttributesClass.
var attributes = map[string]string{"openstack.provider.extensions.gardener.cloud/enable-volume-attributes-class": "true"}

// shoots are the kinds of control planes, by the name of their golden file without the version.
var shoots = map[string]sample.Options{
	"plain":      {},
	"attributes": {Annotations: attributes},
	"ha":         {HighAvailability: true},
	"ipv6":       {IPv6: true},
	"hibernated": {Hibernated: true},
	"workerless": {Workerless: true},
}

// TestOpenStack holds the patches that the profile makes of each control plane, in testdata/openstack, and that a control plane
// that was mutated is left alone.
func TestOpenStack(t *testing.T) {
	program := compile(t, contract.Today, "openstack")
	for _, version := range []string{"1.31.14", "1.32.10", "1.33.6", "1.34.2"} {
		for name, options := range shoots {
			options.Kubernetes = version
			t.Run(name+"-"+version, func(t *testing.T) {
				objects, err := sample.ControlPlane(t.Context(), options)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, fmt.Sprintf("testdata/openstack/%s-%s.txt", name, version), admitAll(t, program, objects, factsOf(t, options)))
			})
		}
	}
}

// TestOpenStackLegacy does the same for the older generation, whose objects the contract describes.
func TestOpenStackLegacy(t *testing.T) {
	program := compile(t, contract.Labelled, "openstack")
	for name, options := range map[string]sample.LegacyOptions{"loadbalancer": {}, "sni": {SNI: true}} {
		t.Run(name, func(t *testing.T) {
			objects, err := sample.Legacy(options)
			if err != nil {
				t.Fatal(err)
			}
			found := factsOf(t, sample.Options{Kubernetes: "1.31.14"})
			shoot := *found.Shoot
			shoot.Kubernetes = "1.20.15"
			older := &facts.Facts{Namespace: found.Namespace, Shoot: &shoot, Seed: found.Seed, CloudProfile: found.CloudProfile}
			compare(t, "testdata/openstack/legacy-"+name+".txt", admitAll(t, program, objects, older))
		})
	}
}

// TestReset holds that the webhook does again what gardenlet's reset by merge patch has undone, with the same bytes.
func TestReset(t *testing.T) {
	program := compile(t, contract.Today, "openstack")
	options := sample.Options{}
	objects, err := sample.ControlPlane(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		source := fixed{factsOf(t, options)}
		first := admit(t, program, target.ControlPlane, "CREATE", object, object.JSON, nil, source)
		if first == nil {
			continue
		}
		mutated := apply(t, object.JSON, first)
		second := admit(t, program, target.ControlPlane, "UPDATE", object, object.JSON, mutated, source)
		if !bytes.Equal(first, second) {
			t.Errorf("%s: after a reset the patch differs (-first +second):\n%s", object.Object.GetName(), cmp.Diff(string(first), string(second)))
		}
	}
}

// admitAll takes the objects through all sets and writes the patches, one operation a line.
func admitAll(t *testing.T, program *mutation.Program, objects []sample.Object, found *facts.Facts) string {
	t.Helper()
	var out strings.Builder
	for _, set := range []target.Set{target.ControlPlane, target.Exposure} {
		for _, object := range objects {
			patch := admit(t, program, set, "CREATE", object, object.JSON, nil, fixed{found})
			if patch == nil {
				continue
			}
			writePatch(t, &out, set, object, patch)
			if again := admit(t, program, set, "UPDATE", object, apply(t, object.JSON, patch), object.JSON, fixed{found}); again != nil && object.Target[:4] != "etcd" {
				t.Errorf("%s is changed again: %s", object.Object.GetName(), again)
			}
			mutated := apply(t, object.JSON, patch)
			if again := admit(t, program, set, "UPDATE", object, mutated, mutated, fixed{found}); again != nil {
				t.Errorf("%s is changed again: %s", object.Object.GetName(), again)
			}
		}
	}
	return out.String()
}

// writePatch writes the operations, of a text with several lines only what changed in it, and the digest of the object's bytes,
// which a later version of Graft must reproduce.
func writePatch(t *testing.T, out *strings.Builder, set target.Set, object sample.Object, patch []byte) {
	t.Helper()
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		t.Fatal(err)
	}
	before, err := document.Parse(object.JSON)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(apply(t, object.JSON, patch))
	fmt.Fprintf(out, "%s %s %s = %x\n", set, object.Object.GetObjectKind().GroupVersionKind().Kind, object.Object.GetName(), sum[:8])
	for _, operation := range operations {
		was, is := textOf(before.Root().At(operation.Path).Raw()), textOf(operation.Value)
		if operation.Op != "replace" || !strings.Contains(was, "\n") {
			fmt.Fprintf(out, "  %-7s %s %s\n", operation.Op, operation.Path, operation.Value)
			continue
		}
		fmt.Fprintf(out, "  %-7s %s\n", operation.Op, operation.Path)
		for _, edit := range textdiff.Edits(was, is) {
			if edit.Op != diff.Match {
				fmt.Fprintf(out, "    %c %s\n", map[diff.Op]rune{diff.Insert: '+', diff.Delete: '-'}[edit.Op], strings.TrimSuffix(edit.Line, "\n"))
			}
		}
	}
}

// textOf is the text of a JSON string, decoded where it is base64 of a text; empty for other values.
func textOf(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && len(decoded) > 0 && utf8.Valid(decoded) {
		return string(decoded)
	}
	return text
}

func admit(t *testing.T, program *mutation.Program, set target.Set, operation string, o sample.Object, object, old []byte, found facts.Source) []byte {
	t.Helper()
	gvk := o.Object.GetObjectKind().GroupVersionKind()
	result, err := program.Admit(t.Context(), mutation.Request{
		Set: set, Provider: "openstack", Operation: operation, Namespace: o.Object.GetNamespace(), Name: o.Object.GetName(),
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Object: object, OldObject: old,
	}, found)
	if err != nil {
		t.Fatalf("%s %s: %v", gvk.Kind, o.Object.GetName(), err)
	}
	return result.Patch
}

func apply(t *testing.T, object, patch []byte) []byte {
	t.Helper()
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := decoded.Apply(object)
	if err != nil {
		t.Fatal(err)
	}
	return patched
}

func compile(t *testing.T, g contract.Generation, names ...string) *mutation.Program {
	t.Helper()
	var files []source.File
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("..", "..", "example", "profiles", name, "profile.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		beside := os.DirFS(filepath.Join("..", "..", "example", "profiles", name))
		files = append(files, profile.Attach(source.File{Name: name + "/profile.yaml", Data: data}, func(path string) ([]byte, error) {
			return fs.ReadFile(beside, path)
		}))
	}
	documents, findings := profile.Load(files...)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	program, err := mutation.Compile(documents, mutation.Options{Generation: g})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func factsOf(t *testing.T, options sample.Options) *facts.Facts {
	t.Helper()
	cluster, err := sample.Cluster(options)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(cluster)
	if err != nil {
		t.Fatal(err)
	}
	found, err := facts.FromCluster(raw)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// fixed is a source that always gives the same facts.
type fixed struct{ found *facts.Facts }

func (f fixed) Read(context.Context, string) (*facts.Facts, error) { return f.found, nil }

func (f fixed) Lookup(context.Context, string, facts.LookupRequest) (map[string]string, error) {
	return nil, facts.ErrNotFound
}

// compare holds that got is what the file says; with -update it writes the file.
func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
