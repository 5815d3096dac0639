// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/controlplane"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden/kinds"
)

// matrix is a table for all versions of Kubernetes that a control plane can be generated for.
const matrix = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: ProviderProfileTest
profiles: [%s]
defaults:
  kubernetes: [1.31.14, 1.32.10, 1.33.6, 1.34.2]
  present:
  - {apiVersion: v1, kind: Secret, metadata: {name: cloudprovider}, stringData: {key: sample}}
  - {apiVersion: extensions.gardener.cloud/v1alpha1, kind: BackupBucket, metadata: {name: backups}}
cases:
- {name: all, expect: {kube-apiserver: {}, kubelet: {}}}
`

// BenchmarkMatrix runs the nine example profiles for four versions, each with all the objects of a control plane: as
// graft test does, from the files to the results.
func BenchmarkMatrix(b *testing.B) {
	folder := tables(b)
	b.ReportAllocs()
	for b.Loop() {
		found := kinds.Find(b, controlplane.New(gardener.Generator{}), folder)
		if err := golden.Prepare(b.Context(), found.Cases); err != nil {
			b.Fatal(err)
		}
		pass(b, found.Cases)
	}
}

// BenchmarkAdmissions measures only the admissions of the objects, three for each.
func BenchmarkAdmissions(b *testing.B) {
	found := kinds.Find(b, controlplane.New(gardener.Generator{}), tables(b))
	if err := golden.Prepare(b.Context(), found.Cases); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		pass(b, found.Cases)
	}
}

func pass(b *testing.B, cases []*golden.Case) {
	b.Helper()
	results, err := golden.Run(b.Context(), cases, func(int, int) {})
	if err != nil {
		b.Fatal(err)
	}
	for i := range results {
		if !results[i].OK() {
			b.Fatalf("%s fails: %v", results[i].Case.ID(), results[i].AllFailures())
		}
	}
}

// tables are files with a table for each example profile.
func tables(b *testing.B) string {
	b.Helper()
	folder := b.TempDir()
	profiles, err := filepath.Glob(filepath.Join(origin, "..", "..", "..", "..", "example", "profiles", "*", "profile.yaml"))
	if err != nil || len(profiles) != 9 {
		b.Fatalf("%d profiles: %v", len(profiles), err)
	}
	for i, profile := range profiles {
		relative, err := filepath.Rel(folder, profile)
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.yaml", i)), fmt.Appendf(nil, matrix, relative), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return folder
}
