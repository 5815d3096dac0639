// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Set holds the rules of one set of webhooks by target, in the order in which they are written.
type Set []TargetRules

// TargetRules are the rules for one target of the contract, or for other objects.
type TargetRules struct {
	// Target is the name of the target, such as kube-apiserver or etcd-main; empty for other objects.
	Target string
	// Objects are the other objects that the rules are for; nil for a target.
	Objects *Objects
	// At is the place of the name, or of the entry of objects.
	At source.Node
	// Rules are applied in their order.
	Rules []Rule
}

// ObjectsField is the field of a set with the rules for objects that are not targets.
const ObjectsField = "objects"

// Objects are objects in the namespaces of a set that are not targets of the contract.
type Objects struct {
	// APIVersion is the apiVersion of the objects, such as v1 or apps/v1.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the objects.
	Kind string `json:"kind"`
	// Name is the name of the object, or a prefix followed by *; any by default.
	Name string `json:"name,omitempty"`
	// Resource is the plural of the kind; by default the kind in lower case with an s.
	Resource string `json:"resource,omitempty"`
}

// Rule is one operation and the condition under which it is applied.
type Rule struct {
	// Name is the name of the rule in messages and metrics; by default the operation and its index.
	Name string
	// When is the condition, a boolean ${ CEL } expression; always by default.
	When source.Node
	// ForEach repeats the rule for each item of a list or mapping, or of an expression.
	ForEach source.Node
	// Override is the reason for writing a part that the contract reserves.
	Override string
	// Purposes are the purposes of OperatingSystemConfigs: reconcile (the default), provision, or both.
	Purposes source.Node
	// OnUpdate is keep or set: the handling of updates of the object; the default depends on the operation.
	OnUpdate string
	// Mode is enforce, or observe for a rule that is computed but not applied; by default the mode of the set or profile.
	Mode string
	// Operations are the entries that are none of the above; a valid rule has exactly one, named by its operation.
	Operations []source.Field
	// At is the rule itself.
	At source.Node
	// Path is the rule's field in the document, such as controlplane.kube-apiserver[0].
	Path string
}

// RuleFields are the fields that every rule may have in addition to its operation.
var RuleFields = []string{"name", "when", "override", "purposes", "onUpdate", "forEach", "mode"}

// The values of onUpdate.
const (
	// OnUpdateKeep keeps the value of the old object.
	OnUpdateKeep = "keep"
	// OnUpdateSet writes the place on every update.
	OnUpdateSet = "set"
)

// The values of mode.
const (
	// ModeEnforce applies rules.
	ModeEnforce = "enforce"
	// ModeObserve evaluates, counts and explains rules but does not apply them.
	ModeObserve = "observe"
)

// DecodeNode decodes the targets and other objects, in order.
func (s *Set) DecodeNode(n source.Node, path string) source.Findings {
	if n.Absent() {
		return nil
	}
	var fields map[string]source.Node
	findings := source.Decode(n, path, &fields)
	for _, field := range n.Fields() {
		inner := path + "." + field.Key.Value
		if field.Key.Kind != yaml.ScalarNode {
			continue // already reported
		}
		if field.Key.Value == ObjectsField {
			findings = append(findings, s.decodeObjects(field.Value, inner)...)
			continue
		}
		var rules []Rule
		findings = append(findings, source.Decode(field.Value, inner, &rules)...)
		*s = append(*s, TargetRules{Target: field.Key.Value, At: field.Key, Rules: rules})
	}
	return findings
}

// decodeObjects decodes the rules for other objects.
func (s *Set) decodeObjects(n source.Node, path string) source.Findings {
	var entries []struct {
		Objects

		Rules []Rule `json:"rules"`
	}
	findings := source.Decode(n, path, &entries)
	for i, item := range n.Items() {
		*s = append(*s, TargetRules{Objects: &entries[i].Objects, At: item, Rules: entries[i].Rules})
	}
	return findings
}

// DecodeNode decodes a rule. Operations stay undecoded, because this package does not know them.
func (r *Rule) DecodeNode(n source.Node, path string) source.Findings {
	r.At, r.Path = n, path
	if n.Node == nil || len(n.Fields()) == 0 {
		return source.Findings{n.Finding(path, "a rule must be a mapping with one operation").Of(source.WrongType)}
	}
	var findings source.Findings
	for _, field := range n.Fields() {
		inner := path + "." + field.Key.Value
		switch field.Key.Value {
		case "name":
			findings = append(findings, source.Decode(field.Value, inner, &r.Name)...)
		case "when":
			r.When = field.Value
		case "forEach":
			if r.ForEach = field.Value; r.ForEach.Absent() {
				findings = append(findings, field.Value.Finding(inner, "must be a list or a mapping, such as ${ parameters.gates }").Of(source.WrongType))
			}
		case "purposes":
			r.Purposes = field.Value
		case "onUpdate":
			findings = append(findings, choose(field.Value, inner, &r.OnUpdate, OnUpdateKeep, OnUpdateSet)...)
		case "mode":
			findings = append(findings, choose(field.Value, inner, &r.Mode, ModeEnforce, ModeObserve)...)
		case "override":
			findings = append(findings, source.Decode(field.Value, inner, &r.Override)...)
			if r.Override == "" && len(findings) == 0 {
				r.Override = "?" // the finding is then about the missing reason, not about the field
				findings = append(findings, field.Value.Finding(inner, "must give the reason").Of(source.MissingField))
			}
		default:
			if field.Key.Kind == yaml.ScalarNode {
				r.Operations = append(r.Operations, field)
			}
		}
	}
	return findings
}

// choose decodes a string that must be one of two.
func choose(n source.Node, path string, into *string, one, other string) source.Findings {
	findings := source.Decode(n, path, into)
	if *into != one && *into != other && len(findings) == 0 {
		findings = append(findings, n.Finding(path, "must be %s or %s, is %q", one, other, *into).Of(source.WrongValue).Instead(n, []string{one, other}))
	}
	return findings
}
