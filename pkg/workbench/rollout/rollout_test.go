// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/rollout"
)

// table is a file of cases that begin with the same object.
type table struct {
	Object json.RawMessage `json:"object"`
	Cases  []struct {
		Name string `json:"name"`
		// Object is merged into that of the table first, Patch then; both are RFC 7386.
		Object json.RawMessage `json:"object"`
		Patch  json.RawMessage `json:"patch"`
		// Want are the effects: impact, what, and the places in brackets.
		Want []string `json:"want"`
	} `json:"cases"`
}

func TestOf(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no tables", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tests table
		if err := yaml.UnmarshalStrict(raw, &tests); err != nil {
			t.Fatal(err)
		}
		for _, c := range tests.Cases {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml")+"/"+c.Name, func(t *testing.T) {
				before := merge(t, tests.Object, c.Object)
				effects, err := rollout.Of(before, merge(t, before, c.Patch))
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, effect := range effects {
					text := string(effect.Impact) + ": " + effect.What
					if len(effect.Places) > 0 {
						text += " [" + strings.Join(effect.Places, ", ") + "]"
					}
					got = append(got, text)
				}
				if diff := cmp.Diff(c.Want, got); diff != "" {
					t.Errorf("effects (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func merge(t *testing.T, object, patch json.RawMessage) json.RawMessage {
	t.Helper()
	if patch == nil {
		return object
	}
	merged, err := jsonpatch.MergePatch(object, patch)
	if err != nil {
		t.Fatal(err)
	}
	return merged
}

func TestOfUnreadable(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"}}`
	for _, sides := range [][2]string{{`[]`, object}, {object, `null`}, {object, `{`}} {
		if _, err := rollout.Of([]byte(sides[0]), []byte(sides[1])); !errors.Is(err, rollout.ErrUnreadable) {
			t.Errorf("%v: got error %v", sides, err)
		}
	}
}

func TestImpacts(t *testing.T) {
	for i, impact := range rollout.Impacts() {
		for j, other := range rollout.Impacts() {
			if got := rollout.Graver(impact, other); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("Graver(%s, %s) is %d", impact, other, got)
			}
		}
	}
}
