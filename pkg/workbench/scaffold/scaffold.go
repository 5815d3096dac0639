// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package scaffold creates the files of a new profile: from answers to questions, or from an existing profile with its
// comments and files. The result is compiled before it is returned. Write writes the files to a folder, all or none.
//
// The caller asks the questions. Start reading at New, From and Write.
package scaffold

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
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
			return fmt.Errorf("%q is no %s: it has small letters, digits and -, and begins and ends with a letter or digit", field.value, field.what)
		}
	}
	if a.Kubernetes != "" {
		if _, err := semver.NewConstraint(a.Kubernetes); err != nil {
			return fmt.Errorf("%q is no constraint on versions, such as \">= 1.31\"", a.Kubernetes)
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
		files["files/"+a.NodeFileName()] = []byte("# This file stands on each node at " + a.NodeFile + ".\n")
	}
	if err := files.document(page{Answers: a, Origin: "from answers to questions"}); err != nil {
		return nil, err
	}
	_, err = files.Check()
	return files, err
}

// quote writes a text in double quotes, as JSON and so YAML and TOML read them.
func quote(value string) string { return flowOf(value) }

// flowOf writes a value in one line, as JSON.
func flowOf(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	// Texts, and maps of texts and maps, can always be encoded.
	_ = encoder.Encode(value)
	return strings.TrimSpace(out.String())
}

// page holds the data of templates.
type page struct {
	Answers

	Origin string
	Left   []Left
	// Expected lists the expectations of a first test that the answers do not determine.
	Expected []expectation
	// Present are the objects that lookups find, as JSON.
	Present []string
	Files   []string
}

// document adds README, tests and schemas.
func (f Files) document(p page) error {
	p.Files = f.Names()
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

// sampleText is the value of lookups in a first test.
const sampleText = "sample"

// present returns the objects, as JSON, that the lookups of a program need: one for each constant name, with sample
// values for all parts that are read. It omits optional objects.
func present(p *mutation.Program) []string {
	var (
		order   []string
		objects = map[string]map[string]any{}
	)
	for _, l := range p.Lookups() {
		if l.Optional || l.Computed || l.ObjectName == "" {
			continue
		}
		key := l.GroupVersionKind.String() + "/" + l.ObjectName
		if objects[key] == nil {
			order = append(order, key)
			objects[key] = map[string]any{
				"apiVersion": l.GroupVersion().String(), "kind": l.Kind, "metadata": map[string]any{"name": l.ObjectName},
			}
		}
		fillSample(objects[key], l)
	}
	all := make([]string, len(order))
	for i, key := range order {
		all[i] = flowOf(objects[key])
	}
	return all
}

// fillSample adds the parts that a lookup reads to an object.
func fillSample(object map[string]any, l facts.LookupRequest) {
	data := "data"
	if l.IsSecret() {
		data = "stringData"
	}
	for _, key := range l.Keys {
		setSample(object, data, key)
	}
	for _, key := range l.Labels {
		setSample(object, "metadata", "labels", key)
	}
	for _, key := range l.Annotations {
		setSample(object, "metadata", "annotations", key)
	}
	for _, path := range l.Fields {
		parsed, err := fieldpath.Parse(string(path))
		if err != nil || slices.ContainsFunc(parsed, func(s fieldpath.Step) bool { return s.By != "" || s.Position }) {
			continue
		}
		setSample(object, parsed.Keys()...)
	}
}

func setSample(object map[string]any, path ...string) {
	for _, key := range path[:len(path)-1] {
		below, ok := object[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			object[key] = below
		}
		object = below
	}
	object[path[len(path)-1]] = sampleText
}

// expectation is an expectation of a test for a target, as YAML.
type expectation struct{ Target, Text string }

// tested are the targets that every shoot with workers has.
var tested = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "machine-controller-manager-vpa"}

// expected returns the unconditional constant flags and labels of a profile, and the sidecar.
func expected(d *profile.Document) []expectation {
	var all []expectation
	for _, entry := range d.ControlPlane {
		for _, target := range tested {
			if entry.Target != target {
				continue
			}
			if text := expectedOf(entry); text != "" {
				all = append(all, expectation{target, text})
			}
		}
	}
	return all
}

func expectedOf(entry v1alpha1.TargetRules) string {
	found := map[string][]string{}
	for _, r := range entry.Rules {
		if !r.When.Absent() || !r.ForEach.Absent() || !r.Purposes.Absent() || r.Mode != "" || len(r.Operations) != 1 {
			continue
		}
		operation := r.Operations[0]
		switch name := operation.Key.Value; {
		case name == "machineControllerManagerProvider" && entry.Target == "machine-controller-manager-vpa":
			return "changed"
		case (name == "flags" || name == "podLabels") && child(operation.Value.Node, "container") == nil:
			found[name] = append(found[name], constants(operation.Value)...)
		}
	}
	var parts []string
	for _, name := range []string{"flags", "podLabels"} {
		if len(found[name]) > 0 {
			parts = append(parts, name+": {"+strings.Join(found[name], ", ")+"}")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// constants returns the entries of set with constant texts.
func constants(arguments source.Node) []string {
	set := child(arguments.Node, "set")
	var all []string
	for i := 0; set != nil && i+1 < len(set.Content); i += 2 {
		if value := set.Content[i+1]; value.Kind == yaml.ScalarNode && value.Tag != "!!null" && !strings.Contains(value.Value, "${") {
			all = append(all, fmt.Sprintf("%s: %s", quote(set.Content[i].Value), quote(value.Value)))
		}
	}
	return all
}
