// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestProblems(t *testing.T) {
	document, err := os.ReadFile("testdata/problems.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name     string            `json:"name"`
		Segment  Segment           `json:"segment"`
		Problems map[string]string `json:"problems"`
	}
	if err := yaml.UnmarshalStrict(document, &cases); err != nil {
		t.Fatal(err)
	}
	for _, test := range cases {
		t.Run(test.Name, func(t *testing.T) {
			got := map[string]string{}
			for field, err := range test.Segment.Problems() {
				got[field] = err.Error()
			}
			if test.Problems == nil {
				test.Problems = map[string]string{}
			}
			if diff := cmp.Diff(test.Problems, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for name, test := range map[string]struct{ got, want string }{
		"the container end of an endpoint":    {InterfaceName(id), "gv0123456789ab"},
		"its host end":                        {PortName(id), "gh0123456789ab"},
		"the bridge of a network":             {bridgeName(id), "gb0123456789ab"},
		"the tunnel of a network":             {tunnelName(id), "gx0123456789ab"},
		"an identifier of Swarm":              {bridgeName("uv9x3k2mq1tz0c8v7b6n5l4k3"), "gbuv9x3k2mq1tz"},
		"an identifier that is short":         {InterfaceName("ab"), "gvfb8e20fc2e4c"},
		"an identifier that is no name":       {InterfaceName("a/b c:d%e f g h"), "gv84dbcc48445c"},
		"the VLAN of an interface":            {subName("eth0", 42), "eth0.42"},
		"a VLAN with the longest name":        {subName("enp129s0f0", 4094), "enp129s0f0.4094"},
		"a VLAN with a name that is too long": {subName("enp129s0f0np", 4094), "gl4094f07602a6"},
		"the name under which a VLAN is made": {subOwnName("eth0", 42), "gl429c32a8c7"},
	} {
		if test.got != test.want {
			t.Errorf("%s is called %s, not %s", name, test.got, test.want)
		}
		if err := NameProblem(test.got); err != nil {
			t.Error(err)
		}
	}
}

func TestMarks(t *testing.T) {
	for text, want := range map[string]Mark{
		"graft/n":              {Network: "n"},
		"graft/n/e":            {Network: "n", Endpoint: "e"},
		"graft/parent/eth0/42": {Parent: "eth0", VLAN: 42},
	} {
		got, ok := parseMark(text)
		if !ok || got != want || got.String() != text {
			t.Errorf("%s is read as %+v (%t) and written as %s", text, got, ok, got)
		}
	}
	for _, text := range []string{"", "graft", "graft/", "uplink", "graft//e", "graft/n/", "graft/parent/eth0/x", "graft/parent//1", "graft/a/b/c/d"} {
		if got, ok := parseMark(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func FuzzParseMark(f *testing.F) {
	f.Add("graft/n/e")
	f.Add("graft/parent/eth0/42")
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := parseMark(text)
		if !ok {
			return
		}
		if again, ok := parseMark(got.String()); !ok || again != got {
			t.Errorf("%q is read as %+v, which is written as %q", text, got, got.String())
		}
	})
}
