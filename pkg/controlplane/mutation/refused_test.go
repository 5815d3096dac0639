// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestRefused checks that each profile in testdata/refused is rejected with exactly the findings in its want.txt.
func TestRefused(t *testing.T) {
	folders, err := filepath.Glob("testdata/refused/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			_, err := compile(t, contract.Today, filepath.Join(folder, "profile.yaml"))
			var findings source.Findings
			if !errors.As(err, &findings) {
				t.Fatalf("the profile is accepted, or the error has no findings: %v", err)
			}
			golden.Compare(t, filepath.Join(folder, "want.txt"), findings.Error()+"\n")
		})
	}
}

// TestWarned checks that each profile in testdata/warned is accepted with exactly the warnings in its want.txt.
func TestWarned(t *testing.T) {
	folders, err := filepath.Glob("testdata/warned/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			program, err := compile(t, contract.Today, filepath.Join(folder, "profile.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join(folder, "want.txt"), program.Warnings().Error()+"\n")
		})
	}
}

// elsewhere are versions without known flags, so that cases may write any flags.
var elsewhere, _ = semver.NewConstraint("< 1.31")

// compile loads and compiles profiles, which errors call by their base names.
func compile(t *testing.T, g contract.Generation, paths ...string) (*mutation.Program, error) {
	t.Helper()
	return compileWith(t, compiler.Options{Generation: g, Kubernetes: elsewhere}, paths...)
}

func compileWith(t *testing.T, o compiler.Options, paths ...string) (*mutation.Program, error) {
	t.Helper()
	var files []source.File
	for _, path := range paths {
		file := golden.Read(t, path)
		file.Name = filepath.Base(path)
		files = append(files, file)
	}
	documents, findings := profile.Load(files...)
	program, problems := compiler.Check(documents, o)
	if err := append(findings, problems...).Errors().Err(); err != nil {
		return nil, err
	}
	return program, nil
}
