// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// ProviderProfile says what a cloud changes on the control planes that Gardener creates.
type ProviderProfile struct {
	// APIVersion is graft.provider.extensions.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is ProviderProfile.
	Kind string `json:"kind"`
	// Metadata names the profile.
	Metadata Metadata `json:"metadata"`
	// Providers are the values of the namespace labels {shoot,seed,backup}.gardener.cloud/provider that the profile serves.
	Providers []string `json:"providers"`
	// Parameters are values that expressions read as parameters.<name>. What stands here is the default; the
	// installation may override it with a value of the same type.
	Parameters map[string]source.Node `json:"parameters,omitempty"`
	// Lookups are named reads in the namespace of the shoot, seen by expressions as lookups.<name>.<key>.
	Lookups map[string]Lookup `json:"lookups,omitempty"`
	// Variables are named values, seen by expressions as variables.<name>. They may use each other, without a cycle.
	Variables map[string]source.Node `json:"variables,omitempty"`
	// ControlPlane is applied in namespaces labelled shoot.gardener.cloud/provider.
	ControlPlane Set `json:"controlplane,omitempty"`
	// ControlPlaneExposure is applied in namespaces labelled seed.gardener.cloud/provider; Gardener's documentation calls
	// it seedprovider today.
	ControlPlaneExposure Set `json:"controlplaneexposure,omitempty"`
	// ControlPlaneBackup is applied in namespaces labelled backup.gardener.cloud/provider.
	ControlPlaneBackup Set `json:"controlplanebackup,omitempty"`
}

// Metadata is the part of a Kubernetes object's metadata that a document has.
type Metadata struct {
	// Name is unique among the profiles of an installation.
	Name string `json:"name"`
	// Labels and Annotations are for the people and tools that keep the document; Graft does not read them.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Lookup reads one object in the namespace of the shoot and keeps the named keys of its data, nothing else.
type Lookup struct {
	// Secret is the name of a Secret to read. Either this or ConfigMap is set.
	Secret string `json:"secret,omitempty"`
	// ConfigMap is the name of a ConfigMap to read.
	ConfigMap string `json:"configMap,omitempty"`
	// Keys are the keys of the object's data that expressions may see; at least one.
	Keys []string `json:"keys"`
	// Optional says that the object or a key may be missing; otherwise the admission is denied when it is.
	Optional bool `json:"optional,omitempty"`
}

// Set holds the rules of one set of webhooks by target, in the order in which they are written.
type Set []TargetRules

// TargetRules are the rules for one target of the contract.
type TargetRules struct {
	// Target is the name of the target, such as kube-apiserver or etcd-main.
	Target string
	// At is the place of the name.
	At source.Node
	// Rules are applied in their order.
	Rules []Rule
}

// Rule is one operation and the condition under which it is applied.
type Rule struct {
	// Name is what messages and metrics call the rule; the operation's name and the rule's index when empty.
	Name string
	// When is the condition, a boolean ${ CEL } expression; absent: always.
	When source.Node
	// Override is the reason why the rule writes what the contract reserves for Gardener; empty: it does not.
	Override string
	// Purposes are the purposes of OperatingSystemConfigs to which a rule of the node side applies: reconcile, provision, or
	// both; reconcile when absent.
	Purposes source.Node
	// Operations are the entries that are none of the above; a valid rule has exactly one, named by its operation.
	Operations []source.Field
	// At is the rule itself.
	At source.Node
	// Path is the rule's field in the document, such as controlplane.kube-apiserver[0].
	Path string
}

// RuleFields are the fields that every rule may have beside its operation.
var RuleFields = []string{"name", "when", "override", "purposes"}

// DecodeNode reads the targets in their order.
func (s *Set) DecodeNode(n source.Node, path string) source.Findings {
	if n.Absent() {
		return nil
	}
	var rules map[string][]Rule
	findings := source.Decode(n, path, &rules)
	for _, field := range n.Fields() {
		*s = append(*s, TargetRules{Target: field.Key.Value, At: field.Key, Rules: rules[field.Key.Value]})
	}
	return findings
}

// DecodeNode reads a rule; which operations exist is not known here, so that they stay undecoded.
func (r *Rule) DecodeNode(n source.Node, path string) source.Findings {
	r.At, r.Path = n, path
	if n.Node == nil || len(n.Fields()) == 0 {
		return source.Findings{n.Finding(path, "a rule must be a mapping with one operation")}
	}
	var findings source.Findings
	for _, field := range n.Fields() {
		inner := path + "." + field.Key.Value
		switch field.Key.Value {
		case "name":
			findings = append(findings, source.Decode(field.Value, inner, &r.Name)...)
		case "when":
			r.When = field.Value
		case "purposes":
			r.Purposes = field.Value
		case "override":
			findings = append(findings, source.Decode(field.Value, inner, &r.Override)...)
			if r.Override == "" && len(findings) == 0 {
				findings = append(findings, field.Value.Finding(inner, "must give the reason"))
			}
		default:
			r.Operations = append(r.Operations, field)
		}
	}
	return findings
}
