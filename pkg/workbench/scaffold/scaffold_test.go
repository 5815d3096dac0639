// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scaffold_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scaffold"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestNew checks the files of a profile with all options.
func TestNew(t *testing.T) {
	files, err := scaffold.New(scaffold.Answers{Name: "acme-eu", Provider: "acme", Kubernetes: ">= 1.31, < 1.35"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files.Names() {
		if !strings.HasPrefix(name, scaffold.SchemaFolder) {
			golden.Compare(t, filepath.Join("testdata", "everything", name), string(files[name]))
		}
	}
}

// TestDefaults checks that the required answers make a profile that can be loaded, and tests with expectations.
func TestDefaults(t *testing.T) {
	files, err := scaffold.New(scaffold.Answers{Name: "acme", Provider: "acme"})
	if err != nil {
		t.Fatalf("%v\n%s", err, files[scaffold.ProfileFile])
	}
	holdTests(t, files)
}

// holdTests checks that each case of the tests expects something.
func holdTests(t *testing.T, files scaffold.Files) {
	t.Helper()
	var tests struct {
		Cases []struct {
			Name   string         `json:"name"`
			Expect map[string]any `json:"expect"`
		} `json:"cases"`
	}
	if err := yaml.Unmarshal(files[scaffold.TestsFile], &tests); err != nil {
		t.Fatalf("%v\n%s", err, files[scaffold.TestsFile])
	}
	if len(tests.Cases) == 0 {
		t.Error("want at least one case, got none")
	}
	for _, c := range tests.Cases {
		if c.Name == "" || len(c.Expect) == 0 {
			t.Errorf("a case expects nothing: %+v", c)
		}
	}
}

// TestRefused checks the errors of invalid options.
func TestRefused(t *testing.T) {
	for want, a := range map[string]scaffold.Answers{
		`"Acme" is not a valid name of a profile`: {Name: "Acme", Provider: "acme"},
		`"" is not a valid type of a provider`:    {Name: "acme"},
		`"1.x.y" is not a constraint`:             {Name: "acme", Provider: "acme", Kubernetes: "1.x.y"},
	} {
		if _, err := scaffold.New(a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", a, err, want)
		}
	}
}

// TestWrite checks that a folder is written whole or not at all.
func TestWrite(t *testing.T) {
	files := scaffold.Files{"profile.yaml": []byte("a\n"), "files/b": []byte("b\n")}
	ended, end := context.WithCancel(t.Context())
	end()
	for name, test := range map[string]struct {
		context context.Context
		there   map[string]string
		force   bool
		want    map[string]string
		failure error
	}{
		"creates a new folder":        {t.Context(), nil, false, map[string]string{"profile.yaml": "a\n", "files/b": "b\n"}, nil},
		"writes into an empty folder": {t.Context(), map[string]string{}, false, map[string]string{"profile.yaml": "a\n", "files/b": "b\n"}, nil},
		"refuses to overwrite a file": {t.Context(), map[string]string{"profile.yaml": "mine\n"}, false, map[string]string{"profile.yaml": "mine\n"}, scaffold.ErrExists},
		"overwrites a file with force": {
			t.Context(), map[string]string{"profile.yaml": "mine\n", "c": "c\n"}, true,
			map[string]string{"profile.yaml": "a\n", "files/b": "b\n", "c": "c\n"}, nil,
		},
		"writes nothing after the context has ended": {ended, nil, false, nil, context.Canceled},
		"interrupted while writing":                  {ended, map[string]string{"profile.yaml": "mine\n"}, true, map[string]string{"profile.yaml": "mine\n"}, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			folder := filepath.Join(parent, "new")
			if test.there != nil {
				if err := os.MkdirAll(folder, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for path, text := range test.there {
				if err := os.WriteFile(filepath.Join(folder, path), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := files.Write(test.context, folder, test.force); !errors.Is(err, test.failure) {
				t.Errorf("got %v, want %v", err, test.failure)
			}
			if diff := cmp.Diff(test.want, contents(t, folder)); diff != "" {
				t.Error(diff)
			}
			entries, err := os.ReadDir(parent)
			if err != nil || len(entries) > 1 {
				t.Errorf("other files remain: %v (%v)", entries, err)
			}
		})
	}
}

// contents are the files of a folder; nil where there is none.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	var all map[string]string
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(folder, path)
		if all == nil {
			all = map[string]string{}
		}
		all[filepath.ToSlash(name)] = string(data)
		return err
	})
	return all
}
