// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// TestPageJoinsEqualChanges checks that an equal change of several control planes is one section with their names, and
// a different change another section.
func TestPageJoinsEqualChanges(t *testing.T) {
	two, three := strings.Replace(before, `"replicas":1`, `"replicas":2`, 1), strings.Replace(before, `"replicas":1`, `"replicas":3`, 1)
	var changes []*render.Change
	for snapshot, after := range map[string]string{"a": two, "b": three, "c": two} {
		change := become(t, after)
		change.ControlPlane = snapshot
		changes = append(changes, change)
	}
	got := map[string]string{}
	page := render.Style{}.Page(changes...)
	for _, section := range page.Sections {
		rows := section.Blocks[0].Rows
		got[rows[len(rows)-1].Line.Text] = strings.Join(sorted(section.For), " ")
	}
	if diff := cmp.Diff(map[string]string{"replicas: 2": "a c", "replicas: 3": "b"}, got); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
	if page.Figures[0].Value != "3" {
		t.Errorf("the page counts %s objects", page.Figures[0].Value)
	}
	same := render.Style{}.Page(become(t, two), become(t, two))
	if len(same.Sections) != 2 {
		t.Errorf("two objects of one control plane are %d sections", len(same.Sections))
	}
}

func sorted(words []string) []string {
	slices.Sort(words)
	return words
}
