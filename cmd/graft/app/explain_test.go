// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/explain"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

// TestObjectIsFoundInAnyControlPlane checks that an object is found in any of several control planes.
func TestObjectIsFoundInAnyControlPlane(t *testing.T) {
	a, b := manifest.Object{Kind: "Deployment", Name: "a"}, manifest.Object{Kind: "Deployment", Name: "b"}
	begins := manifest.Object{Kind: "Deployment", Name: "ab"}
	for _, test := range []struct {
		word      string
		want      []string
		ambiguous bool
	}{
		{word: "deployment/a", want: []string{"one", "two"}},
		{word: "deployment/b", want: []string{"two"}},
		{word: "deployment/ab", want: []string{"one"}},
		{word: "deployment/c"},
		{word: "deployment/*", ambiguous: true},
	} {
		t.Run(test.word, func(t *testing.T) {
			snapshots := []*snapshot.Snapshot{{Title: "one", Objects: []manifest.Object{a, begins}}, {Title: "two", Objects: []manifest.Object{a, b}}}
			err := only(snapshots, test.word)
			var got []string
			for _, one := range snapshots {
				if len(one.Objects) == 1 {
					got = append(got, one.Title)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if (err != nil) != (test.want == nil) || errors.Is(err, explain.ErrAmbiguous) != test.ambiguous {
				t.Errorf("got error %v", err)
			}
		})
	}
}
