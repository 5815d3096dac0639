// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// TestSteps checks the value at a step of a path, what is left without it, and the item that is made for it.
func TestSteps(t *testing.T) {
	const object = `{"a":1,"l":[{"n":"1"},{"n":1},{"n":"x"},2,{"n":"x"}]}`
	for _, c := range []struct{ path, value, without, item string }{
		{"a", `1`, `{"l":[{"n":"1"},{"n":1},{"n":"x"},2,{"n":"x"}]}`, ""},
		{"b", "", object, ""},
		{"a.b", "", object, ""},
		{"l[0]", `{"n":"1"}`, `{"a":1,"l":[{"n":1},{"n":"x"},2,{"n":"x"}]}`, ""},
		{"l[5]", "", object, ""},
		{"l[n=1]", `{"n":"1"}`, `{"a":1,"l":[{"n":"x"},2,{"n":"x"}]}`, `{"n":1}`},
		{`l[n="1"]`, `{"n":"1"}`, `{"a":1,"l":[{"n":1},{"n":"x"},2,{"n":"x"}]}`, `{"n":"1"}`},
		{"l[n=x]", `{"n":"x"}`, `{"a":1,"l":[{"n":"1"},{"n":1},2]}`, `{"n":"x"}`},
		{"l[n=01]", "", object, `{"n":"01"}`},
		{"l[n=true]", "", object, `{"n":true}`},
	} {
		t.Run(c.path, func(t *testing.T) {
			path, err := fieldpath.Parse(c.path)
			if err != nil {
				t.Fatal(err)
			}
			d, err := document.Parse([]byte(object))
			if err != nil {
				t.Fatal(err)
			}
			parent, last := d.Root(), path[len(path)-1]
			for _, s := range path[:len(path)-1] {
				parent = parent.Step(s)
			}
			if got := string(parent.Step(last).Raw()); got != c.value {
				t.Errorf("the value is %s", got)
			}
			parent.RemoveStep(last)
			if got := string(d.Bytes()); got != c.without {
				t.Errorf("without it: %s", got)
			}
			if c.item == "" {
				return
			}
			if got := string(document.NewItem(last)); got != c.item {
				t.Errorf("made %s", got)
			}
		})
	}
}
