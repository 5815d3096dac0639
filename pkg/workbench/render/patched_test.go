// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// TestPatched checks that the status is included, and that there is no output without a difference.
func TestPatched(t *testing.T) {
	const before = `{"kind":"Queue","metadata":{"name":"q","generation":1},"spec":{"replicas":1,"size":2},"status":{"ready":1}}`
	for _, c := range []struct{ about, after, want string }{
		{"the same", before, ""},
		{"a field, and the status", `{"kind":"Queue","metadata":{"name":"q","generation":2},"spec":{"replicas":3,"size":2},"status":{"ready":1,"phase":"Up"}}`,
			"> metadata\n>   - generation: 1\n>   + generation: 2\n>     name: q\n> spec\n>   - replicas: 1\n>   + replicas: 3\n>     size: 2\n> status\n>   + phase: Up\n>     ready: 1\n"},
	} {
		t.Run(c.about, func(t *testing.T) {
			var out strings.Builder
			if err := (render.Style{}).Patched(&out, []byte(before), []byte(c.after), "> "); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if err := (render.Style{}).Patched(&strings.Builder{}, []byte(before), []byte(`{`), ""); err == nil {
		t.Error("no error for invalid JSON, want one")
	}
}
