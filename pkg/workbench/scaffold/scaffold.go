// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package scaffold creates the files of a new profile from a description of its cloud. The result is compiled before it
// is returned. Start reading at New and Files.Write.
package scaffold

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// Answers are the inputs for a new profile.
type Answers struct {
	// Name is the name of the profile, and Provider the type of the provider that it serves.
	Name, Provider string
	// Kubernetes is the constraint on versions; empty: all.
	Kubernetes string
	// MachineImage is the image of the sidecar of the machine-controller-manager, with a tag; empty: there is none.
	MachineImage string
	// NodeFile is the path of a file on each node; empty: none.
	NodeFile string
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
	if a.MachineImage != "" && a.Tag() == "" {
		return fmt.Errorf("the image %q has no tag, as in registry.example.com/image:v1", a.MachineImage)
	}
	if a.NodeFile != "" && !strings.HasPrefix(a.NodeFile, "/") {
		return fmt.Errorf("the path of a file on nodes is absolute, %q is not", a.NodeFile)
	}
	return nil
}

// Repository returns the image of the sidecar without its tag.
func (a Answers) Repository() string { return strings.TrimSuffix(a.MachineImage, ":"+a.Tag()) }

// Tag returns the tag of the sidecar's image, or an empty string.
func (a Answers) Tag() string {
	_, tag, _ := strings.Cut(a.MachineImage[strings.LastIndexByte(a.MachineImage, '/')+1:], ":")
	return tag
}

// NodeFileName returns the name of the nodes' file in the profile's folder.
func (a Answers) NodeFileName() string { return a.NodeFile[strings.LastIndexByte(a.NodeFile, '/')+1:] }

//go:embed assets/profile.yaml.tmpl
var profileTemplate string

//go:embed assets/images.yaml.tmpl
var imagesTemplate string

//go:embed assets/tests.yaml.tmpl
var testsTemplate string

//go:embed assets/README.md.tmpl
var readmeTemplate string

// New returns the files of a profile for these answers. The error names an invalid answer.
func New(a Answers) (Files, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	files := Files{}
	var err error
	if files[ProfileFile], err = fill("profile", profileTemplate, a); err != nil {
		return nil, err
	}
	if a.MachineImage != "" {
		if files["images.yaml"], err = fill("images", imagesTemplate, a); err != nil {
			return nil, err
		}
	}
	if a.NodeFile != "" {
		files["files/"+a.NodeFileName()] = []byte("# Graft writes this file to each node at " + a.NodeFile + ".\n")
	}
	if files[ReadmeFile], err = fill("README", readmeTemplate, page{Answers: a, Files: files.Names()}); err != nil {
		return nil, err
	}
	if files[TestsFile], err = fill("tests", testsTemplate, a); err != nil {
		return nil, err
	}
	files.schemas()
	return files, files.check()
}

// page holds the data of the README.
type page struct {
	Answers

	Files []string
}

// fill fills a template. In it, quote writes a text as YAML.
func fill(name, text string, data any) ([]byte, error) {
	functions := template.FuncMap{
		"quote": func(value string) string { return string(document.Quote(value)) },
		"schema": func(file, up string) string {
			return "# yaml-language-server: $schema=" + up + SchemaFolder + "/" + file
		},
	}
	parsed, err := template.New(name).Funcs(functions).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading the template of %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("filling the template of %s: %w", name, err)
	}
	return out.Bytes(), nil
}
