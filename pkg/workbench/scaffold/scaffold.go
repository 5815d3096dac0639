// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package scaffold creates the files of a new profile. The result is compiled before it is returned. Start reading at
// New and Files.Write.
package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"regexp"
	"text/template"

	"github.com/Masterminds/semver/v3"
)

// Answers are the inputs for a new profile.
type Answers struct {
	// Name is the name of the profile, and Provider the type of the provider that it serves.
	Name, Provider string
	// Kubernetes is the constraint on versions; empty: all.
	Kubernetes string
}

var nameOfProvider = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// Check returns an error for an invalid answer.
func (a Answers) Check() error {
	for _, field := range []struct{ what, value string }{{"name of a profile", a.Name}, {"type of a provider", a.Provider}} {
		if !nameOfProvider.MatchString(field.value) {
			return fmt.Errorf("%q is not a valid %s: use lowercase letters, digits and -, and begin and end with a letter or digit", field.value, field.what)
		}
	}
	if a.Kubernetes != "" {
		if _, err := semver.NewConstraint(a.Kubernetes); err != nil {
			return fmt.Errorf("%q is not a constraint on versions, such as \">= 1.31\"", a.Kubernetes)
		}
	}
	return nil
}

//go:embed assets
var assets embed.FS

// New returns the files of a profile for these answers. The error names an invalid answer.
func New(a Answers) (Files, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	templates, err := template.ParseFS(assets, "assets/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("reading the templates: %w", err)
	}
	files := Files{}
	for name, asset := range map[string]string{ProfileFile: "profile.yaml.tmpl", ReadmeFile: "README.md.tmpl", TestsFile: "tests.yaml.tmpl"} {
		var out bytes.Buffer
		if err := templates.ExecuteTemplate(&out, asset, a); err != nil {
			return nil, fmt.Errorf("filling the template of %s: %w", name, err)
		}
		files[name] = out.Bytes()
	}
	files.schemas()
	return files, files.check()
}
