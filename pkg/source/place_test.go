// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// placed is the text of the places below; the columns of the cases refer to it.
const placed = `name: a
routes:
- gateway: b
  mtu: null
- {}
set: {spec.x: 1, "spec[y]": two}
`

func TestPlace(t *testing.T) {
	tests := []struct {
		name string
		at   func(root source.Place) source.Place
		// finding is that of the place, which names position and path.
		finding string
		missing bool
		absent  bool
		text    string
	}{
		{"finds the document", func(p source.Place) source.Place { return p }, "f.yaml:1:1: x", false, false, ""},
		{"finds a member's value", func(p source.Place) source.Place { return p.At("name") }, "f.yaml:1:7: name: x", false, false, "a"},
		{"finds a member's key", func(p source.Place) source.Place { return p.Key("name") }, "f.yaml:1:1: name: x", false, false, "name"},
		{"finds a field of a list item", func(p source.Place) source.Place { return p.At("routes").Item(0).At("gateway") }, "f.yaml:3:12: routes[0].gateway: x", false, false, "b"},
		{"finds a field that is null", func(p source.Place) source.Place { return p.At("routes").Item(0).At("mtu") }, "f.yaml:4:8: routes[0].mtu: x", false, true, "null"},
		{"a missing member", func(p source.Place) source.Place { return p.At("routes").Item(1).At("mtu") }, "f.yaml:5:3: routes[1].mtu: x", true, true, ""},
		{"a member of a missing one", func(p source.Place) source.Place { return p.At("a").At("b") }, "f.yaml:1:1: a.b: x", true, true, ""},
		{"an item beyond the last", func(p source.Place) source.Place { return p.At("routes").Item(2) }, "f.yaml:3:1: routes[2]: x", true, true, ""},
		{"an item of a text", func(p source.Place) source.Place { return p.At("name").Item(0) }, "f.yaml:1:7: name[0]: x", true, true, ""},
		{"the key of a missing member", func(p source.Place) source.Place { return p.Key("nmae") }, "f.yaml:1:1: nmae: x", true, true, ""},
		{"finds the end of a path", func(p source.Place) source.Place { return p.Walk("routes[0].gateway") }, "f.yaml:3:12: routes[0].gateway: x", false, false, "b"},
		{"finds no end of a path without a value", func(p source.Place) source.Place { return p.Walk("routes[1].a.b[3]") }, "f.yaml:5:3: routes[1].a.b[3]: x", true, true, ""},
		{"finds its own place by an empty path", func(p source.Place) source.Place { return p.At("routes").Walk("") }, "f.yaml:3:1: routes: x", false, false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.at(rootOf(t, placed))
			finding := got.FindingOf(source.WrongValue, "%s", "x")
			if finding.Error() != test.finding || finding.Rule != source.WrongValue {
				t.Errorf("the finding is %q of %s, want %q", finding, finding.Rule, test.finding)
			}
			if got.Missing != test.missing || got.Absent() != test.absent || got.Text().Value != test.text {
				t.Errorf("missing %t, absent %t, text %q; want %t, %t, %q", got.Missing, got.Absent(), got.Text().Value, test.missing, test.absent, test.text)
			}
			if value := got.Value(); (value.Node == nil) != test.missing || value.File != "f.yaml" {
				t.Errorf("the value is %+v", value)
			}
		})
	}
}

// TestPlaceMembers checks that keys of members are escaped, so that no key looks like a path.
func TestPlaceMembers(t *testing.T) {
	var got []string
	rootOf(t, placed).At("set").Members(func(key, value source.Place) {
		got = append(got, key.FindingOf(source.WrongValue, "key %s", key.Text().Value).Error(),
			value.FindingOf(source.WrongValue, "value %s", value.Text().Value).Error())
	})
	want := []string{
		`f.yaml:6:7: set["spec.x"]: key spec.x`, `f.yaml:6:15: set["spec.x"]: value 1`,
		`f.yaml:6:18: set["spec[y]"]: key spec[y]`, `f.yaml:6:29: set["spec[y]"]: value two`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func rootOf(t *testing.T, text string) source.Place {
	t.Helper()
	nodes, findings := source.Parse(source.File{Name: "f.yaml", Data: []byte(text)})
	if len(nodes) != 1 || len(findings) > 0 {
		t.Fatalf("parsing: %d documents, %v", len(nodes), findings)
	}
	return source.Place{Node: nodes[0]}
}
