// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/docs/schema"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/reference"
)

// kind is a kind of document that people write.
type kind struct {
	// word is what paths to its fields begin with, and name is its kind.
	word, name string
	schema     func() *reference.Schema
	// examples are those of fields, by path.
	examples map[string][]string
}

// kinds are all of them. To add one: one entry here.
var kinds = []kind{
	{word: "profile", name: "ProviderProfile", schema: read(schema.ProviderProfile), examples: profileExamples},
	{word: "configuration", name: "ControllerConfiguration", schema: read(schema.ControllerConfiguration)},
	{word: "network", name: "NetworkProfile", schema: read(schema.NetworkProfile)},
	{word: "interpreter", name: "InterpreterProfile", schema: read(schema.InterpreterProfile)},
	{word: "provider", name: "NetworkProviderConfiguration", schema: read(schema.NetworkProviderConfiguration)},
	{word: "interpreting", name: "ResourceInterpreterConfiguration", schema: read(schema.ResourceInterpreterConfiguration)},
	{word: "test", name: "ProviderProfileTest", schema: read(schema.ProviderProfileTest)},
	{word: "case", name: "TestFolder", schema: read(schema.TestFolder)},
	{word: "interpretertest", name: "InterpreterProfileTest", schema: read(schema.InterpreterProfileTest)},
	{word: "interpretercase", name: "InterpreterTestFolder", schema: read(schema.InterpreterTestFolder)},
}

// read reads a schema once, when it is first needed. It is part of the program.
func read(data []byte) func() *reference.Schema {
	return sync.OnceValue(func() *reference.Schema {
		parsed, err := reference.ParseSchema(data)
		if err != nil {
			panic(err)
		}
		return parsed
	})
}

func kindNamed(name string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return strings.EqualFold(k.name, name) || k.word == name })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

func (k kind) topic() topic {
	return topic{name: k.word, summary: k.summary(), page: k.page, below: k.below}
}

func (k kind) summary() string {
	article := "a "
	if strings.HasPrefix(k.name, "I") {
		article = "an "
	}
	return "the fields of " + article + k.name + " by their path"
}

// page is about a field, or about the document for the empty path.
func (k kind) page(path string) (*Page, error) {
	s := k.schema()
	found, err := s.At(path)
	if err != nil {
		return nil, err
	}
	page := &Page{Heads: []Head{{"KIND", k.name}}, Text: found.Description}
	if version := s.Properties["apiVersion"]; version != nil {
		page.Heads = append(page.Heads, Head{"VERSION", version.Const})
	}
	if found.Path != "" {
		page.Heads = append(page.Heads, Head{"FIELD", strings.TrimSuffix(found.Path, "[]") + " <" + typeOf(found) + ">"})
	}
	page.Heads = append(page.Heads, k.versions(found.Path)...)
	var rows []Row
	for _, field := range s.Fields(found) {
		rows = append(rows, Row{Name: last(field.Path), Type: typeOf(field), Required: field.Required, Text: field.Description})
	}
	page.section(Section{Title: "FIELDS", Rows: rows})
	page.section(Section{Title: "EXAMPLE", Lines: k.example(found)})
	return page, nil
}

func typeOf(f *reference.Found) string {
	switch {
	case f.Defined == "set":
		return "rules by target"
	case strings.HasPrefix(f.Defined, "rule."):
		return "list of rules"
	}
	if operation, ok := strings.CutPrefix(f.Defined, "operation."); ok && f.Schema.Items == nil {
		return "operation " + operation
	}
	return f.Schema.Kind(reference.Plain)
}

// last is the last name of a path, without the sign of a list.
func last(path string) string {
	return strings.TrimRight(path[strings.LastIndexByte(path, '.')+1:], "[]")
}

// example is that of a field: the rules of an operation, or what stands by the path.
func (k kind) example(found *reference.Found) []string {
	if name, ok := strings.CutPrefix(found.Defined, "operation."); ok {
		if d, ok := operation.Lookup(name); ok {
			return examplesOf(d)
		}
	}
	return k.examples[strings.TrimSuffix(found.Path, "[]")]
}

// versions say in which versions of Kubernetes a field of the kubelet's configuration is there.
func (k kind) versions(path string) []Head {
	_, field, ok := strings.Cut(path, ".configuration.set.")
	if !ok || k.name != "ProviderProfile" {
		return nil
	}
	history, ok := kubeflags.Field(strings.ReplaceAll(field, ".<name>", "{}"))
	if !ok {
		return nil
	}
	return []Head{{"KUBERNETES", history.Span.String()}}
}

// profileExamples are the examples of the fields of profiles that are no operations. A test loads them.
var profileExamples = map[string][]string{
	"": {
		"apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1",
		"kind: ProviderProfile",
		"metadata: {name: acme}",
		"providers: [acme]",
		"controlplane:",
		"  kube-controller-manager:",
		"  - flags: {set: {cloud-provider: external}}",
	},
	"kubernetes": {`kubernetes: ">= 1.31, < 1.36"`},
	"parameters": {"parameters:", "  etcdClass: fast"},
	"lookups": {
		"lookups:",
		"  cloudprovider: {secret: cloudprovider, keys: [region]}",
		"  extra: {configMap: acme-extra, keys: [flags], optional: true}",
	},
	"lookups.<name>.keys":  {"lookups:", "  cloudprovider: {secret: cloudprovider, keys: [region]}"},
	"lookups.<name>.paths": {"lookups:", "  network: {infrastructure: \"${ shoot.name }\", paths: {nodes: status.nodesCIDR}}"},
	"lookups.<name>.object": {
		"lookups:",
		"  worker:",
		"    object:",
		"      apiVersion: extensions.gardener.cloud/v1alpha1",
		"      kind: Worker",
		"      name: ${ shoot.name }",
		"    paths: {type: spec.type}",
	},
	"lookups.<name>.missing": {"lookups:", "  extra: {configMap: acme-extra, keys: [flags], missing: skip}"},
	"variables":              {"variables:", "  external: ${ shoot.kubernetes.satisfies(\">= 1.33\") && !shoot.hibernated }"},
	"mode":                   {"mode: observe"},
	"observe":                {"observe: [controlplanebackup]"},
	"controlplane": {
		"controlplane:",
		"  kube-controller-manager:",
		"  - flags: {set: {cloud-provider: external}, remove: [cloud-config]}",
		"  kubelet:",
		"  - configuration: {set: {enableControllerAttachDetach: true}}",
	},
	"controlplaneexposure": {"controlplaneexposure:", "  etcd-main:", "  - storage: {class: fast, capacity: 25Gi}"},
	"controlplane.objects": {
		"controlplane:",
		"  objects:",
		"  - apiVersion: v1",
		"    kind: ConfigMap",
		"    name: cloud-*",
		"    rules:",
		"    - annotations: {set: {acme.example.com/region: \"${ shoot.region }\"}}",
	},
}
