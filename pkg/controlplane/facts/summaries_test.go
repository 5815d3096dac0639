// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// TestSummaries checks that summaries.go describes exactly the existing variables and fields.
func TestSummaries(t *testing.T) {
	var declared []string
	var add func(o *expression.Object)
	add = func(o *expression.Object) {
		for _, field := range o.Fields() {
			declared = append(declared, o.Name()+"."+field)
		}
		for _, nested := range o.Nested() {
			add(nested)
		}
	}
	for _, variable := range Variables() {
		declared = append(declared, variable.Name)
		if variable.Object != nil {
			add(variable.Object)
		}
	}
	slices.Sort(declared)
	if diff := cmp.Diff(slices.Compact(declared), slices.Sorted(maps.Keys(summaries))); diff != "" {
		t.Errorf("declared, and in summaries.go (-want +got):\n%s", diff)
	}
}
