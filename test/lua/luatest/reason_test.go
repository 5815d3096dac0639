// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package luatest

import (
	"errors"
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEqualReasons checks which reasons are equal.
func TestEqualReasons(t *testing.T) {
	data, err := os.ReadFile("testdata/reasons.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Rules, Script, Code string
		Alike               bool
	}
	if err := yaml.UnmarshalStrict(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if got := Alike(c.Rules, Named(c.Code, errors.New(c.Script))); got != c.Alike {
			t.Errorf("%q and %q are alike: %t", c.Rules, c.Script, got)
		}
	}
	if len(all) == 0 {
		t.Error("no test cases found")
	}
}
