// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// TestAudit checks the audit annotations: each rule with an effect once, up to a limit.
func TestAudit(t *testing.T) {
	long := strings.Repeat("x", 500)
	changed := func(profile, rule, item string) mutation.Applied {
		return mutation.Applied{Profile: profile, Rule: rule, Item: item, Outcome: mutation.Changed}
	}
	for name, c := range map[string]struct {
		result mutation.Result
		want   map[string]string
	}{
		"records the rules that changed the object": {
			mutation.Result{Versions: "a@12345678,b@12345678", Applied: []mutation.Applied{
				changed("a", `says "x"`, ""), {Profile: "a", Rule: "same", Outcome: mutation.Unchanged}, changed("b", "each", "1"), changed("b", "each", "2"),
				{Profile: "b", Rule: "no", Outcome: mutation.Skipped}, changed("b", "last", ""),
			}},
			map[string]string{"profiles": "a@12345678,b@12345678", "rules": `a/says "x", b/each, b/last`},
		},
		"only restored values": {mutation.Result{}, map[string]string{"rules": ""}},
		"shortens a list that exceeds the limit": {
			mutation.Result{Applied: []mutation.Applied{changed("a", long+"1", ""), changed("a", long+"2", ""), changed("a", long+"3", ""), changed("a", long+"4", "")}},
			map[string]string{"rules": "a/" + long + "1, a/" + long + "2 and 2 more"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, auditOf(&c.result)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
