// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Words that replace the fields of an expectation.
const (
	// TestChanged is an object that rules change.
	TestChanged = "changed"
	// TestUnchanged is an object that no rule changes.
	TestUnchanged = "unchanged"
	// TestDenied is an object that is not admitted.
	TestDenied = "denied"
	// TestAbsent is an object that the control plane does not have.
	TestAbsent = "absent"
)

// TestStates are the words that can replace an expectation's fields.
var TestStates = []string{TestChanged, TestUnchanged, TestDenied, TestAbsent}

// TestApplied is a rule that applied: the object has its values, changed or not.
const TestApplied = "applied"

// TestOutcomes are the possible expectations about a rule.
var TestOutcomes = []string{TestApplied, "changed", "unchanged", "skipped", "overridden", "observed"}

// TestOutcome is one of TestOutcomes.
type TestOutcome struct{}

// DecodeNode refuses other words.
func (TestOutcome) DecodeNode(n source.Node, path string) source.Findings {
	if slices.Contains(TestOutcomes, n.Value) {
		return nil
	}
	return source.Findings{n.Finding(path, "must be one of %s%s", strings.Join(TestOutcomes, ", "), source.Suggest(n.Value, TestOutcomes))}
}

// JSONSchema returns the schema for editors.
func (TestOutcome) JSONSchema() string {
	return `{"enum": ["` + strings.Join(TestOutcomes, `", "`) + `"]}`
}

// TestScalar is an expected text, number or boolean; null expects that the value is missing.
type TestScalar struct{}

// DecodeNode refuses mappings and lists.
func (TestScalar) DecodeNode(n source.Node, path string) source.Findings {
	if n.Absent() || n.Kind == yaml.ScalarNode {
		return nil
	}
	return source.Findings{n.Finding(path, "must be text, or null for a missing value")}
}

// JSONSchema returns the schema for editors.
func (TestScalar) JSONSchema() string { return `{"type": ["string", "number", "boolean", "null"]}` }

// TestFlag is the expected value of a flag: a TestScalar, or a list of them for a flag that is repeated.
type TestFlag struct{}

// DecodeNode refuses mappings, empty lists, and lists of other values than texts.
func (TestFlag) DecodeNode(n source.Node, path string) source.Findings {
	values := []source.Node{n}
	if !n.Absent() && n.Kind != yaml.ScalarNode {
		values = n.Items()
	}
	if len(values) == 0 || slices.ContainsFunc(values, func(value source.Node) bool { return value.Kind != yaml.ScalarNode }) {
		return source.Findings{n.Finding(path, "must be text, a list of texts for a flag that is repeated, or null for a missing flag")}
	}
	return nil
}

// JSONSchema returns the schema for editors.
func (TestFlag) JSONSchema() string {
	return `{"type": ["string", "number", "boolean", "array", "null"], "items": {"type": ["string", "number", "boolean"]}, "minItems": 1}`
}

// TestOthers is the key in Expect for all objects without an entry.
const TestOthers = "others"

// TestExpectation is an expectation about an object: one word, or fields.
type TestExpectation struct {
	TestExpected

	// At is the whole expectation.
	At source.Node
}

// TestExpected has the fields of an expectation. A mapping expects the listed members; additional members are ignored; null
// expects that the value is missing.
type TestExpected struct {
	// State is changed or unchanged, or that the object is denied or absent.
	State string `json:"state,omitempty" oneOf:"changed,unchanged,denied,absent"`
	// Denied is the reason of the denial.
	Denied *TestDenial `json:"denied,omitempty"`
	// Rules are the outcomes of rules, by name: changed, unchanged, skipped, overridden or observed; applied is
	// changed or unchanged.
	Rules map[string]TestOutcome `json:"rules,omitempty"`
	// Purposes select the OperatingSystemConfigs of kubelet and node; reconcile by default.
	Purposes []string `json:"purposes,omitempty"`

	// Container is the container of flags and env; by default the target's own.
	Container string `json:"container,omitempty"`
	// Flags are values of flags by name: a text, a list for a repeated flag, or "" without a value.
	Flags map[string]TestFlag `json:"flags,omitempty"`
	// MapFlags are entries of flags such as --runtime-config, by flag.
	MapFlags map[string]map[string]TestScalar `json:"mapFlags,omitempty"`
	// ListFlags are items of list flags, by flag: true if present, false if absent.
	ListFlags map[string]map[string]TestScalar `json:"listFlags,omitempty"`
	// FeatureGates are gates by name, of the flag --feature-gates or of a kubelet's configuration.
	FeatureGates map[string]TestScalar `json:"featureGates,omitempty"`
	// Env are environment variables of the container by name: the value, or fields of the variable.
	Env map[string]source.Node `json:"env,omitempty"`

	// Labels are the labels of the object.
	Labels map[string]TestScalar `json:"labels,omitempty"`
	// Annotations are the annotations of the object.
	Annotations map[string]TestScalar `json:"annotations,omitempty"`
	// PodLabels are the labels of the pod template.
	PodLabels map[string]TestScalar `json:"podLabels,omitempty"`
	// PodAnnotations are the annotations of the pod template.
	PodAnnotations map[string]TestScalar `json:"podAnnotations,omitempty"`
	// Containers are fields of containers and init containers by name.
	Containers map[string]source.Node `json:"containers,omitempty"`
	// Volumes are fields of volumes by name.
	Volumes map[string]source.Node `json:"volumes,omitempty"`
	// Fields are values by path, such as spec.storageClass.
	Fields map[string]source.Node `json:"fields,omitempty"`

	// Configuration are fields of the kubelet's configuration, by path.
	Configuration map[string]source.Node `json:"configuration,omitempty"`
	// Units are systemd units by name.
	Units map[string]TestText `json:"units,omitempty"`
	// Files are files of the node by path.
	Files map[string]TestText `json:"files,omitempty"`
}

// TestDenial is the expected reason of a denial.
type TestDenial struct {
	// Reason is a reason of docs/failures.md, such as LookupMissing; any by default.
	Reason source.Text `json:"reason,omitempty"`
	// Message is a part of the message; any by default.
	Message source.Text `json:"message,omitempty"`
}

// TestText is an expectation about a unit or a file; null expects that it is missing.
type TestText struct {
	// Contains are parts of the text: one, or a list of them.
	Contains TestTexts `json:"contains,omitempty"`
	// Lacks are texts that it must not contain.
	Lacks TestTexts `json:"lacks,omitempty"`
	// Content is the whole text.
	Content source.Text `json:"content,omitempty"`
	// Sections are the values of a unit's options by section, such as Service: {Restart: always}.
	Sections map[string]map[string]source.Node `json:"sections,omitempty"`
	// Fields are other fields, such as permissions, enable and command.
	Fields map[string]source.Node `json:"fields,omitempty"`

	// At is the whole expectation.
	At source.Node
}

// TestTexts are texts: one, or a list.
type TestTexts []source.Text

// DecodeNode decodes a string or a list of them.
func (t *TestTexts) DecodeNode(n source.Node, path string) source.Findings {
	return (*TestVersions)(t).DecodeNode(n, path)
}

// DecodeNode decodes a word, or the fields.
func (e *TestExpectation) DecodeNode(n source.Node, path string) source.Findings {
	e.At = n
	if n.Node == nil || n.Kind != yaml.ScalarNode {
		return source.Decode(n, path, &e.TestExpected)
	}
	if !slices.Contains(TestStates, n.Value) {
		return source.Findings{n.Finding(path, "must be a mapping, or one of %s%s",
			strings.Join(TestStates, ", "), source.Suggest(n.Value, TestStates))}
	}
	e.State = n.Value
	return nil
}

// DecodeNode decodes the fields and stores the node.
func (t *TestText) DecodeNode(n source.Node, path string) source.Findings {
	type plain TestText
	t.At = n
	if n.Absent() {
		return nil
	}
	return source.Decode(n, path, (*plain)(t))
}
