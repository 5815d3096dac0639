// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// ErrNoProfile means that a test has no profile.
var ErrNoProfile = errors.New("no profile: name it in profiles, put it as profile.yaml into this folder or one above it, or give it with --profile")

// CheckHead finds a wrong apiVersion of a table, and, where nothing else is wrong, that it has no cases.
func CheckHead(table source.Node, known source.Findings) source.Findings {
	want := v1alpha1.GroupVersion.String()
	if version := table.Get("apiVersion"); version.Node == nil {
		known = append(known, table.Finding("apiVersion", "is missing: must be %s", want))
	} else if version.Value != want {
		known = append(known, version.Finding("apiVersion", "unknown apiVersion %q%s: must be %s", version.Value,
			source.Suggest(version.Value, []string{want}), want))
	}
	if cases := table.Get("cases"); len(cases.Items()) == 0 && len(known) == 0 {
		at := table
		if cases.Node != nil {
			at = cases
		}
		known = append(known, at.Finding("cases", "has no case"))
	}
	return known
}

// Names are those of the cases of a table, with their places.
type Names map[string]source.Position

// Add remembers the name of a case, which must be one that no other has.
func (n Names) Add(of source.Node, name source.Text) source.Findings {
	switch earlier, twice := n[name.Value]; {
	case name.Value == "":
		return source.Findings{of.Finding("cases", "a case has no name")}
	case twice:
		return source.Findings{name.At.Finding("cases", "a case named %q already exists at %s", name.Value, earlier)}
	}
	n[name.Value] = name.At.Position()
	return nil
}

// ProfilesFor returns the profiles of a test in a folder: those that it names, relative to the folder, or else the
// given ones, or the nearest. It returns none if there is none.
func ProfilesFor(folder string, named []source.Text, given []string) []string {
	if len(named) > 0 {
		paths := make([]string, len(named))
		for i, name := range named {
			paths[i] = filepath.Join(folder, filepath.FromSlash(name.Value))
		}
		return paths
	}
	if len(given) > 0 {
		return given
	}
	if nearest, ok := NearestProfile(folder); ok {
		return []string{nearest}
	}
	return nil
}

// TableFolder returns the folder with the golden files of a table.
func TableFolder(table string) string { return strings.TrimSuffix(table, filepath.Ext(table)) }

// Held returns the files with these suffixes in a folder, if it exists.
func Held(folder string, endings ...string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var held []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(entry.Name(), end) }) {
			held = append(held, filepath.Join(folder, entry.Name()))
		}
	}
	return held, nil
}

var unfit = regexp.MustCompile("[^A-Za-z0-9._-]+")

// Slug returns a name in a form usable in file names.
func Slug(name string) string { return strings.Trim(unfit.ReplaceAllString(name, "-"), "-") }
