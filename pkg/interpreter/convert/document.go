// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package convert converts scripts of Karmada's ResourceInterpreterCustomizations to rules of an InterpreterProfile:
// replicas and requirements of a Pod template, revised replicas, health by comparisons and conditions, and copied
// statuses and retained fields. For other scripts, it reports line and reason. Start at Profile.
package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
)

// bufferSize is the size in which documents are read, in bytes.
const bufferSize = 4096

// ErrCustomization is a document that is not a ResourceInterpreterCustomization.
var ErrCustomization = errors.New("not a ResourceInterpreterCustomization")

// rules are the rules of a kind, in the form of a profile.
type rules struct {
	APIVersion string         `yaml:"apiVersion"`
	Kind       string         `yaml:"kind"`
	Replicas   []documentRule `yaml:"replicas,omitempty"`
	Revise     []documentRule `yaml:"revise,omitempty"`
	Retain     []documentRule `yaml:"retain,omitempty"`
	Health     []documentRule `yaml:"health,omitempty"`
	Status     []documentRule `yaml:"status,omitempty"`
}

// documentRule has the fields of all operations.
type documentRule struct {
	When         string            `yaml:"when,omitempty"`
	Count        string            `yaml:"count,omitempty"`
	Requirements *requirements     `yaml:"requirements,omitempty"`
	Fields       []string          `yaml:"fields,omitempty,flow"`
	Set          map[string]string `yaml:"set,omitempty"`
	Healthy      string            `yaml:"healthy,omitempty"`
	Keep         []string          `yaml:"keep,omitempty,flow"`
}

type requirements struct {
	ResourceRequest   string            `yaml:"resourceRequest"`
	PriorityClassName string            `yaml:"priorityClassName"`
	NodeClaim         map[string]string `yaml:"nodeClaim"`
}

// Profile converts the customizations in some YAML documents to a profile with a name. problems lists the
// scripts, or parts of them, that were not converted. It fails if a document cannot be read.
func Profile(name string, documents []byte) (profile []byte, problems []string, err error) {
	type metadata struct {
		Name string `yaml:"name"`
	}
	out := struct {
		APIVersion string   `yaml:"apiVersion"`
		Kind       string   `yaml:"kind"`
		Metadata   metadata `yaml:"metadata,flow"`
		Kinds      []rules  `yaml:"kinds"`
	}{v1alpha1.GroupVersion.String(), v1alpha1.KindInterpreterProfile, metadata{name}, nil}
	decoder := yamlutil.NewYAMLOrJSONDecoder(bytes.NewReader(documents), bufferSize)
	for {
		var c lua.Customization
		if err := decoder.Decode(&c); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, fmt.Errorf("reading a customization: %w", err)
		}
		if c.Kind != lua.Kind {
			return nil, nil, fmt.Errorf("reading kind %q: %w", c.Kind, ErrCustomization)
		}
		kind, found := rulesOf(&c)
		out.Kinds, problems = append(out.Kinds, kind), append(problems, found...)
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(out); err != nil {
		return nil, nil, fmt.Errorf("writing the profile: %w", err)
	}
	return text.Bytes(), problems, nil
}

// operations lists the convertible scripts with the parameters of their functions, in the order of their problems.
var operations = []struct {
	field      string
	parameters []string
	convert    func(*script, *rules) error
}{
	{"replicaResource", []string{"object"}, (*script).replicas},
	{"replicaRevision", []string{"object", "replicas"}, (*script).revise},
	{"retention", []string{"object", "observed"}, (*script).retain},
	{"healthInterpretation", []string{"object"}, (*script).health},
	{"statusReflection", []string{"object"}, (*script).status},
}

// rulesOf converts the scripts of a customization.
func rulesOf(c *lua.Customization) (rules, []string) {
	var problems []string
	out := rules{APIVersion: c.Spec.Target.APIVersion, Kind: c.Spec.Target.Kind}
	for _, o := range operations {
		written := c.Spec.Customizations[o.field]
		if written == nil {
			continue
		}
		converted := out
		s, err := parse(written.LuaScript, o.parameters)
		if err == nil {
			err = o.convert(s, &converted)
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %s: %s", out.Kind, o.field, err))
			continue
		}
		out = converted
	}
	for _, field := range []string{"statusAggregation", "dependencyInterpretation", "componentResource"} {
		if c.Spec.Customizations[field] != nil {
			problems = append(problems, fmt.Sprintf("%s: %s: not converted; write its rules by hand", out.Kind, field))
		}
	}
	return out, problems
}
