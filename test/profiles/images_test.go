// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// imageSource is a row of example/profiles/images.sources.yaml: where the tag of an image is from.
type imageSource struct {
	Profiles      []string `json:"profiles"`
	Name          string   `json:"name"`
	TargetVersion string   `json:"targetVersion,omitempty"`
	Tag           string   `json:"tag"`
	Provider      string   `json:"provider"`
	Release       string   `json:"release,omitempty"`
	Commit        string   `json:"commit,omitempty"`
	File          string   `json:"file"`
	Date          string   `json:"date"`
	// Why is the reason for the tag if the release or its commit is unknown.
	Why string `json:"why,omitempty"`
}

var commitHash = regexp.MustCompile(`^[0-9a-f]{40}$`)

// TestImages compares the tags of all images.yaml with the table of their sources: each image has one row, and each row
// an image.
func TestImages(t *testing.T) {
	var table struct {
		Images []imageSource `json:"images"`
	}
	readYAML(t, filepath.Join(root, "images.sources.yaml"), &table)
	var want, got []string
	for _, row := range table.Images {
		row.check(t)
		for _, provider := range row.Profiles {
			want = append(want, fmt.Sprintf("%s: %s %s:%s", provider, row.Name, row.TargetVersion, row.Tag))
		}
	}
	for _, provider := range providers(t) {
		var vector struct {
			Images []struct{ Name, TargetVersion, Tag string }
		}
		readYAML(t, filepath.Join(root, provider, "images.yaml"), &vector)
		for _, image := range vector.Images {
			got = append(got, fmt.Sprintf("%s: %s %s:%s", provider, image.Name, image.TargetVersion, image.Tag))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("images (-images.sources.yaml +images.yaml):\n%s", diff)
	}
}

// check fails unless a row names the source of its tag, or why it is unknown.
func (s imageSource) check(t *testing.T) {
	t.Helper()
	if s.Provider == "" || s.File == "" || s.Commit != "" && !commitHash.MatchString(s.Commit) {
		t.Errorf("%s of %v: provider, file or commit is missing or wrong", s.Name, s.Profiles)
	}
	if _, err := time.Parse(time.DateOnly, s.Date); err != nil {
		t.Errorf("%s of %v: date: %v", s.Name, s.Profiles, err)
	}
	if (s.Release == "" || s.Commit == "") && s.Why == "" {
		t.Errorf("%s of %v: release or commit is missing; why must say where the tag comes from", s.Name, s.Profiles)
	}
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
}
