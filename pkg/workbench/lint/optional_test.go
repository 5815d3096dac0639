// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestOptionalProfiles checks that an unknown optional profile is reported at its position, with a suggestion.
func TestOptionalProfiles(t *testing.T) {
	for text, want := range map[string]string{
		"[other-namespaces]": "",
		"[other-namespace]": `config.yaml:3:23: profiles.optional[0]: there is no optional profile "other-namespace" of Gardener ` +
			`(did you mean "other-namespaces"?); there are cluster, other-namespaces, worker-replicas`,
	} {
		file := source.File{Name: "config.yaml"}
		file.Data = []byte("apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1\n" +
			"kind: ResourceInterpreterConfiguration\nprofiles: {optional: " + text + "}\n")
		findings := Run(Options{}, []Input{{File: file}}).Findings
		got := ""
		if err := findings.Err(); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if want != "" && (len(findings) != 1 || findings[0].Fix == nil || findings[0].Fix.New != "other-namespaces") {
			t.Errorf("%+v", findings)
		}
	}
}
