// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// TestWhatSecretsHoldIsHidden checks that no format shows the data of a Secret in the manifests, also if a rule changes
// it.
func TestWhatSecretsHoldIsHidden(t *testing.T) {
	const (
		before = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"cloudprovider","namespace":"ns","annotations":{"last-applied":"{\"pin\":\"hunter2\"}"}},
			"data":{"ca":"aHVudGVyMg==","t":"YQ=="},"stringData":{"user":"hunter3","config":"a: hunter4\nb: hunter5\n","t":"hm"},"type":"Opaque"}`
		after = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"cloudprovider","namespace":"ns","labels":{"open":"yes"},"annotations":{"last-applied":"hunter6"}},
			"data":{"ca":"aHVudGVyNg==","more":"aHVudGVyNw=="},"stringData":{"user":"hunter8","config":"a: hunter4\nb: hunter9\n","t":"hm"},"type":"Opaque"}`
	)
	telltales := []string{"hunter", "aHVudGVy", "YQ==", "hm"}
	for _, format := range slices.Concat(render.Objects(), render.Differences()) {
		t.Run(format.Name, func(t *testing.T) {
			change, err := render.NewChange([]byte(before))
			if err != nil {
				t.Fatal(err)
			}
			if err := change.Become(render.Author{Rule: "r"}, []byte(after)); err != nil {
				t.Fatal(err)
			}
			write := func() string {
				var out strings.Builder
				if err := format.Write(render.Style{Context: 100}, &out, change); err != nil {
					t.Fatal(err)
				}
				return out.String()
			}
			out := write()
			for _, telltale := range telltales {
				if strings.Contains(out, telltale) {
					t.Errorf("%s is shown:\n%s", telltale, out)
				}
			}
			for _, open := range []string{"(from Secret cloudprovider)", "more", "open"} {
				if !strings.Contains(out, open) {
					t.Errorf("%s is not shown:\n%s", open, out)
				}
			}
			if change.Reveal(); !strings.Contains(write(), "aHVudGVyNg==") {
				t.Errorf("the revealed value is not shown:\n%s", write())
			}
		})
	}
}
