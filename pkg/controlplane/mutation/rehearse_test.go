// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// BenchmarkCompile measures the cost of loading profiles, each for its own provider. The dry runs on sample control
// planes are most of it.
func BenchmarkCompile(b *testing.B) {
	path := filepath.Join("..", "..", "..", "example", "profiles", "openstack", "profile.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	for _, count := range []int{1, 50} {
		b.Run(fmt.Sprintf("profiles=%d", count), func(b *testing.B) {
			var files []source.File
			for i := range count {
				text := strings.NewReplacer("name: openstack", fmt.Sprintf("name: openstack-%d", i),
					"providers: [openstack]", fmt.Sprintf("providers: [openstack-%d]", i)).Replace(string(data))
				files = append(files, profile.Attach(source.File{Name: path, Data: []byte(text)}, func(attached string) ([]byte, error) {
					return os.ReadFile(filepath.Join(filepath.Dir(path), attached))
				}))
			}
			documents, findings := profile.Load(files...)
			if len(findings) > 0 {
				b.Fatal(findings)
			}
			for b.Loop() {
				if _, err := compiler.Compile(documents, compiler.Options{Generation: contract.Today}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
