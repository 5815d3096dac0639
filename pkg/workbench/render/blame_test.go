// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/samples"
)

// lines makes lines of words; the path of a word is the part before "=".
func lines(words string) []render.Line {
	var lines []render.Line
	for _, word := range strings.Fields(words) {
		path, _, _ := strings.Cut(word, "=")
		lines = append(lines, render.Line{Path: path, Text: word})
	}
	return lines
}

func TestBlame(t *testing.T) {
	for _, c := range []struct {
		name, before string
		// states are the words after each step; the authors are called 1, 2, 3 …
		states []string
		want   string
	}{
		{name: "an unchanged text has no blame", before: "a b", want: "a b"},
		{name: "a step without change", before: "a b", states: []string{"a b"}, want: "a b"},
		{name: "added by different steps", before: "a b", states: []string{"a x b", "a x b y"}, want: "a +x/1 b +y/2"},
		{name: "removed by different steps", before: "a b c", states: []string{"a c", "c"}, want: "-a/2 -b/1 c"},
		{name: "replaced twice is the last step's", before: "a v=0 b", states: []string{"a v=1 b", "a v=2 b"}, want: "a -v=0/1 +v=2/2 b"},
		{name: "changed and changed back", before: "a v=0 b", states: []string{"a v=1 b", "a v=0 b"}, want: "a v=0 b"},
		{name: "added and removed again", before: "a b", states: []string{"a x b", "a b"}, want: "a b"},
		{name: "removed and added again next to another change", before: "a b c", states: []string{"a c", "a b x c"}, want: "a b +x/2 c"},
		{name: "values of the same places are paired", before: "u=0 v=0", states: []string{"u=1 v=0", "u=1 v=1"}, want: "-u=0/1 +u=1/1 -v=0/2 +v=1/2"},
		{name: "other lines are not", before: "u v", states: []string{"x y"}, want: "-u/1 -v/1 +x/1 +y/1"},
		{name: "a text that appears", before: "", states: []string{"a"}, want: "+a/1"},
		{name: "a text that disappears", before: "a", states: []string{""}, want: "-a/1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := render.NewBlame(lines(c.before))
			for i, state := range c.states {
				b.Advance(render.Author{Rule: string(rune('1' + i))}, lines(state))
			}
			var got []string
			for _, edit := range b.Edits() {
				word := edit.Line.Text
				if edit.Op != render.Same {
					word = string(edit.Op) + word + "/" + edit.By.Rule
				} else if edit.By != nil {
					t.Errorf("the unchanged word %s has an author", word)
				}
				got = append(got, word)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("edits (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEditsGiveBothStates separates the lines again: without the added ones they are the first state, without the
// removed ones the last.
func TestEditsGiveBothStates(t *testing.T) {
	objects, err := sample.ControlPlane(t.Context(), sample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	touched := 0
	for i, change := range admit(t, "testdata/everything.yaml", sample.Options{}, contract.Today, objects) {
		var first, last []render.Line
		for _, edit := range change.Edits() {
			if edit.Op != render.Added {
				first = append(first, edit.Line)
			}
			if edit.Op != render.Removed {
				last = append(last, edit.Line)
			}
			if edit.Op != render.Same && edit.By == nil {
				t.Errorf("%s %s: the changed line %q has no author", change.Kind, change.Name, edit.Line.Text)
			}
		}
		if len(first) != len(last) {
			touched++
		}
		for name, c := range map[string]struct {
			object []byte
			got    []render.Line
		}{"before": {objects[i].JSON, first}, "after": {change.Bytes(), last}} {
			want, err := render.Text(c.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, c.got); diff != "" {
				t.Errorf("%s %s %s (-want +got):\n%s", change.Kind, change.Name, name, diff)
			}
		}
	}
	if touched == 0 {
		t.Error("the profile has changed nothing")
	}
}

func TestAdmitRefused(t *testing.T) {
	objects, err := sample.ControlPlane(t.Context(), sample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	object, ok := samples.Find(objects, "Deployment", "kube-apiserver")
	if !ok {
		t.Fatal("the sample has no kube-apiserver")
	}
	change, err := render.NewChange(object.JSON)
	if err != nil {
		t.Fatal(err)
	}
	labelled := factsOf(t, sample.Options{}).Facts.Namespace
	admission := render.Admission{Namespace: labelled.Name, Labels: labelled.Labels, Operation: "CREATE"}
	var failure *mutation.Failure
	err = change.Admit(t.Context(), golden.Compile(t, compiler.Options{}, openstack), admission, &facts.Static{})
	if !errors.As(err, &failure) || failure.Reason != mutation.ClusterMissing {
		t.Fatalf("got error %v, want %s", err, mutation.ClusterMissing)
	}
	if !bytes.Equal(change.Bytes(), object.JSON) || len(change.Applied) > 0 {
		t.Error("a denied object was changed")
	}
}

func TestAdmitSelects(t *testing.T) {
	program, known := golden.Compile(t, compiler.Options{}, "testdata/everything.yaml"), factsOf(t, sample.Options{})
	objects, err := sample.ControlPlane(t.Context(), sample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	object, _ := samples.Find(objects, "Deployment", "kube-apiserver")
	const label = "shoot.gardener.cloud/provider"
	for _, c := range []struct {
		name      string
		namespace string
		labels    map[string]string
		want      bool
	}{
		{"its provider", "shoot--local--sample", map[string]string{label: "openstack"}, true},
		{"another provider", "shoot--local--sample", map[string]string{label: "acme"}, false},
		{"another set", "shoot--local--sample", map[string]string{"seed.gardener.cloud/provider": "openstack"}, false},
		{"no label", "shoot--local--sample", nil, false},
		{"the garden", "garden", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			change, err := render.NewChange(object.JSON)
			if err != nil {
				t.Fatal(err)
			}
			admission := render.Admission{Namespace: c.namespace, Labels: c.labels, Operation: "CREATE"}
			if err := change.Admit(t.Context(), program, admission, known); err != nil {
				t.Fatal(err)
			}
			if got := len(change.Applied) > 0; got != c.want {
				t.Errorf("got rules applied: %v, want %v", got, c.want)
			}
		})
	}
}
