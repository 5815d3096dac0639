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
	"net/url"
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
	// ExternalCloudProvider says that a cloud-controller-manager of its own serves the cloud.
	ExternalCloudProvider bool
	// VolumeAttributesClass turns the feature on before Kubernetes 1.34, for shoots with an annotation.
	VolumeAttributesClass bool
	// MachineImage is the image of the sidecar of the machine-controller-manager, with a tag; empty: there is none.
	MachineImage string
	// EtcdClass is the StorageClass for the volumes of etcd-main; empty: Gardener's.
	EtcdClass string
	// Registry is a registry of images, such as docker.io, and Mirror the URL from which nodes pull its images; empty
	// means none.
	Registry, Mirror string
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
	if a.MachineImage != "" && a.tag() == "" {
		return fmt.Errorf("the image %q has no tag, as in registry.example.com/image:v1", a.MachineImage)
	}
	if u, err := url.Parse(a.Mirror); a.Mirror != "" && (err != nil || u.Host == "" || a.Registry == "") {
		return fmt.Errorf("a mirror is written docker.io=https://mirror.example.com")
	}
	if a.NodeFile != "" && !strings.HasPrefix(a.NodeFile, "/") {
		return fmt.Errorf("the path of a file on nodes is absolute, %q is not", a.NodeFile)
	}
	return nil
}

// HasRules reports whether the answers require any rule.
func (a Answers) HasRules() bool {
	return a.ExternalCloudProvider || a.VolumeAttributesClass || a.MachineImage != "" || a.EtcdClass != "" || a.Mirror != "" || a.NodeFile != ""
}

// HasNode reports whether they require files on nodes.
func (a Answers) HasNode() bool { return a.Mirror != "" || a.NodeFile != "" }

// HasControlPlane reports whether they require anything other than the storage of etcd.
func (a Answers) HasControlPlane() bool {
	return a.ExternalCloudProvider || a.VolumeAttributesClass || a.MachineImage != "" || a.HasNode()
}

// Repository returns the image of the sidecar without its tag.
func (a Answers) Repository() string { return strings.TrimSuffix(a.MachineImage, ":"+a.tag()) }

// Tag returns the tag of the sidecar's image.
func (a Answers) Tag() string { return a.tag() }

func (a Answers) tag() string {
	_, tag, _ := strings.Cut(a.MachineImage[strings.LastIndexByte(a.MachineImage, '/')+1:], ":")
	return tag
}

// NodeFileName returns the name of the nodes' file in the profile's folder.
func (a Answers) NodeFileName() string { return a.NodeFile[strings.LastIndexByte(a.NodeFile, '/')+1:] }

// Annotation returns the annotation of shoots that want volume attributes classes.
func (a Answers) Annotation() string {
	return a.Provider + ".provider.extensions.gardener.cloud/enable-volume-attributes-class"
}

//go:embed assets/profile.yaml.tmpl
var profileTemplate string

//go:embed assets/images.yaml.tmpl
var imagesTemplate string

//go:embed assets/tests.yaml.tmpl
var testsTemplate string

//go:embed assets/README.md.tmpl
var readmeTemplate string

// New makes the files of a profile from answers. The error says which answer cannot be.
func New(a Answers) (Files, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	if !a.HasRules() {
		return nil, fmt.Errorf("a profile needs at least one rule")
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
	if err := files.document(page{Answers: a, Files: files.Names()}); err != nil {
		return nil, err
	}
	return files, files.check()
}

// quote writes a text in double quotes, as JSON and so YAML and TOML read them.
func quote(value string) string { return string(document.Quote(value)) }

// page holds the data of templates.
type page struct {
	Answers

	Files []string
}

// document adds README, tests and schemas.
func (f Files) document(p page) error {
	var err error
	if f[ReadmeFile], err = fill("README", readmeTemplate, p); err != nil {
		return err
	}
	if f[TestsFile], err = fill("tests", testsTemplate, p); err != nil {
		return err
	}
	f.schemas()
	return nil
}

// fill fills a template. In it, quote writes a text as YAML.
func fill(name, text string, data any) ([]byte, error) {
	functions := template.FuncMap{
		"quote":  quote,
		"schema": func(file, up string) string { return strings.TrimSpace(schemaComment(file, up)) },
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
