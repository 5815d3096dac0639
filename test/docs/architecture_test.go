// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	module            = "github.com/graft-provider/gardener-extension-provider-graft/"
	architectureWords = 900
)

// layers are the packages in the picture of the page: the layer of each, counted from the bottom, and its domain.
type layers map[string]struct{ layer, domain int }

// TestArchitecture compares docs/architecture.md with the tree: the picture has each package once, imports point
// downwards and never from domain to domain, also in the table of package mutation, named files exist, and there is one
// place for each kind of addition.
func TestArchitecture(t *testing.T) {
	page := read(t, "docs/architecture.md")
	if words := len(strings.Fields(page)); words > architectureWords {
		t.Errorf("the page has %d words, at most %d are wanted", words, architectureWords)
	}
	if pictures := strings.Count(page, "\n```\n") / 2; pictures != 1 {
		t.Errorf("the page has %d pictures", pictures)
	}
	all := picture(t, page)
	row := func(name string) int {
		return strings.Index(page, "\n| `"+strings.TrimPrefix(name, "pkg/controlplane/")+"` |")
	}
	for from, imports := range importsOf(t) {
		above, ok := all.of(from)
		if !ok {
			t.Errorf("%s is not in the picture", from)
			continue
		}
		if strings.HasPrefix(from, "pkg/controlplane/mutation") && row(from) < 0 {
			t.Errorf("%s is not in the table", from)
		}
		for _, to := range imports {
			below, ok := all.of(to)
			if ok && (below.layer > above.layer || below.layer == above.layer && below.domain != above.domain) {
				t.Errorf("%s imports %s, which the picture does not allow", from, to)
			}
			if row(to) >= 0 && row(from) > row(to) {
				t.Errorf("%s imports %s, which is above it in the table", from, to)
			}
		}
	}
	place := regexp.MustCompile("`((?:pkg|cmd|hack|test|example)/[a-z0-9/._]+)`")
	for _, name := range place.FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat(filepath.Join(root, name[1])); err != nil {
			t.Errorf("the page names %s: %v", name[1], err)
		}
	}
	for _, added := range []string{"operation", "target", "contract clause", "Kubernetes release", "variable"} {
		if places := regexp.MustCompile("(?m)^\\| "+added+" \\| `[^`|]+` \\|").FindAllString(page, -1); len(places) != 1 {
			t.Errorf("the page names %d places for a new %s", len(places), added)
		}
	}
}

// picture reads the picture: a layer in each line from the top, with domains between bars.
func picture(t *testing.T, page string) layers {
	t.Helper()
	_, drawn, _ := strings.Cut(page, "\n```\n")
	drawn, _, _ = strings.Cut(drawn, "\n```\n")
	lines, all := strings.Split(drawn, "\n"), layers{}
	for i, line := range lines {
		for domain, names := range strings.Split(line, "|") {
			for _, name := range strings.Fields(names) {
				if strings.HasPrefix(name, "pkg/") || name == "cmd" {
					if _, twice := all[name]; twice {
						t.Errorf("%s occurs twice in the picture", name)
					}
					all[name] = struct{ layer, domain int }{len(lines) - i, domain}
				}
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("the page has no picture")
	}
	return all
}

// of returns the place of a package: that of the folder in the picture that contains it.
func (l layers) of(name string) (place struct{ layer, domain int }, ok bool) {
	for ; name != "."; name = filepath.Dir(name) {
		if place, ok = l[name]; ok {
			return place, true
		}
	}
	return place, false
}

// importsOf lists the packages of the programs and the library, with their imports of this module.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./cmd/...", "./pkg/...")
	command.Dir = root
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for decoder := json.NewDecoder(out); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module)
		all[name] = nil
		for _, imported := range p.Imports {
			if own, ok := strings.CutPrefix(imported, module); ok {
				all[name] = append(all[name], own)
			}
		}
	}
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	return all
}
