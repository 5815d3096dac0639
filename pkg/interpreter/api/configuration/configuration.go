// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package configuration contains the objects that register webhooks with Karmada, with their
// defaults: the ResourceInterpreterWebhookConfiguration that Karmada ships, and the
// ResourceExploringWebhookConfiguration of the earlier proposal.
//
// It does no input or output and calls no webhook. Start reading at Configuration, or at Generate, which generates
// it for the kinds that have rules.
package configuration

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
)

const (
	// APIVersion is the apiVersion of the objects of both dialects.
	APIVersion = "config.karmada.io/v1alpha1"
	// KindInterpreter is the kind that Karmada ships.
	KindInterpreter = "ResourceInterpreterWebhookConfiguration"
	// KindExploring is the kind of the proposal.
	KindExploring = "ResourceExploringWebhookConfiguration"

	// All matches all operations, groups, versions, kinds or resources. It must be the only entry.
	All = "*"

	// DefaultTimeoutSeconds is the timeout of a webhook that sets none.
	DefaultTimeoutSeconds = 10
	// LeastTimeoutSeconds is the shortest timeout that a webhook can set (Karmada validates 1 to 30 seconds).
	LeastTimeoutSeconds = 1
	// MostTimeoutSeconds is the longest timeout that a webhook can set.
	MostTimeoutSeconds = 30

	// DefaultServicePort is the port of a service that sets none.
	DefaultServicePort = 443
)

//go:embed definition.yaml
var definition []byte

// Definition returns the CustomResourceDefinition of ResourceExploringWebhookConfiguration in YAML. It sets the
// same defaults as Default.
func Definition() []byte { return slices.Clone(definition) }

// Call is an operation on a kind. The proposal has the resource in the field Kind.
type Call struct{ Operation, Group, Version, Kind string }

// Covered reports whether each call is in by, directly or for all versions.
func Covered(calls, by []Call) bool {
	return !slices.ContainsFunc(calls, func(c Call) bool {
		all := c
		all.Version = All
		return !slices.Contains(by, c) && !slices.Contains(by, all)
	})
}

// ResourceOf returns the resource of the dialect's configurations.
func ResourceOf(dialect string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: api.Group, Version: api.Version, Resource: strings.ToLower(New(dialect).Kind) + "s"}
}

// Configuration registers webhooks: for kinds in the dialect that Karmada ships, for resources in that of the
// proposal. TypeMeta has the kind of its dialect.
type Configuration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Webhooks []Webhook `json:"webhooks"`
}

// Webhook is a webhook and the rules that select its calls.
type Webhook struct {
	// Name is a fully qualified DNS name, unique among the webhooks. If several webhooks match, Karmada calls
	// only the first by name.
	Name         string                          `json:"name"`
	ClientConfig admissionv1.WebhookClientConfig `json:"clientConfig"`
	Rules        []OperationRule                 `json:"rules,omitempty"`
	// FailurePolicy is the reaction to a webhook that does not answer: Fail (default) or Ignore. Only the
	// proposal has it. As Karmada ships it, a call without an answer fails.
	FailurePolicy *admissionv1.FailurePolicyType `json:"failurePolicy,omitempty"`
	// TimeoutSeconds is 1 to 30. The default is 10; without a value, Karmada waits for 30.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// InterpreterContextVersions lists the supported versions of messages, in order of preference. The proposal
	// has ExploreReviewVersions instead.
	InterpreterContextVersions []string `json:"interpreterContextVersions,omitempty"`
	ExploreReviewVersions      []string `json:"exploreReviewVersions,omitempty"`
}

// OperationRule selects operations on kinds, or on resources in the proposal.
type OperationRule struct {
	Operations  []string               `json:"operations"`
	APIGroups   []string               `json:"apiGroups"`
	APIVersions []string               `json:"apiVersions"`
	Kinds       []string               `json:"kinds,omitempty"`
	Resources   []string               `json:"resources,omitempty"`
	Scope       *admissionv1.ScopeType `json:"scope,omitempty"`
}

// New returns an empty configuration of a dialect.
func New(dialect string) *Configuration {
	kind := KindInterpreter
	if dialect == api.KindReview {
		kind = KindExploring
	}
	return &Configuration{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: kind}}
}

// Default sets the defaults.
func (c *Configuration) Default() {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		if s := w.ClientConfig.Service; s != nil {
			s.Port = cmp.Or(s.Port, ptr.To[int32](DefaultServicePort))
		}
		w.TimeoutSeconds = cmp.Or(w.TimeoutSeconds, ptr.To[int32](DefaultTimeoutSeconds))
		if c.Kind != KindExploring {
			continue
		}
		w.FailurePolicy = cmp.Or(w.FailurePolicy, ptr.To(admissionv1.Fail))
		for j := range w.Rules {
			w.Rules[j].Scope = cmp.Or(w.Rules[j].Scope, ptr.To(admissionv1.AllScopes))
		}
	}
}

// Client returns the client configuration of the webhook WebhookName.
func (c *Configuration) Client() admissionv1.WebhookClientConfig {
	for _, w := range c.Webhooks {
		if w.Name == WebhookName {
			return w.ClientConfig
		}
	}
	return admissionv1.WebhookClientConfig{}
}

// Calls returns all operations and kinds that the rules select.
func (c *Configuration) Calls() (all []Call) {
	for _, w := range c.Webhooks {
		for _, r := range w.Rules {
			for _, group := range r.APIGroups {
				for _, version := range r.APIVersions {
					for _, kind := range slices.Concat(r.Kinds, r.Resources) {
						for _, operation := range r.Operations {
							all = append(all, Call{operation, group, version, kind})
						}
					}
				}
			}
		}
	}
	return all
}

// WebhookName is the name of the one webhook in a generated configuration.
const WebhookName = "interpreter.graft.provider.extensions.gardener.cloud"

// Generate returns a configuration with exactly the operations that have rules. It never uses * for operations or
// kinds, because a webhook cannot tell Karmada that it has no answer. The dialect of the proposal names resources.
// In Karmada's, it omits Prune, which Karmada does not register, and the components of kinds that have Revise (see
// WithoutExcluded).
func Generate(dialect, name string, kinds []interpreter.Known, e Endpoint) *Configuration {
	w := Webhook{Name: WebhookName, ClientConfig: e.client(), TimeoutSeconds: ptr.To(e.timeout())}
	if dialect == api.KindReview {
		w.ExploreReviewVersions = []string{api.Version}
	} else {
		w.InterpreterContextVersions = []string{api.Version}
		kinds = interpreter.WithoutExcluded(interpreter.Without(kinds, []string{string(interpreter.Prune)}))
	}
	w.Rules = rulesOf(kinds, dialect)
	if dialect == api.KindReview {
		for i := range w.Rules {
			w.Rules[i].nameResources()
		}
	}
	c := New(dialect)
	c.Name, c.Webhooks = name, []Webhook{w}
	c.Default()
	return c
}

// nameResources replaces the kinds of a rule by their resources.
func (r *OperationRule) nameResources() {
	for _, kind := range r.Kinds {
		r.Resources = append(r.Resources, Resource(interpreter.Kind{Group: r.APIGroups[0], Version: r.APIVersions[0], Kind: kind}))
	}
	slices.Sort(r.Resources)
	r.Kinds, r.Resources = nil, slices.Compact(r.Resources)
}

// Resource returns the resource name of a kind as Kubernetes guesses it: backupentries for BackupEntry.
func Resource(k interpreter.Kind) string {
	guessed, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind})
	return guessed.Resource
}

// rulesOf returns rules for exactly the given kinds. It unites first the versions of a kind, then the kinds with the same
// operations.
func rulesOf(kinds []interpreter.Known, dialect string) []OperationRule {
	var rules []OperationRule
	names := map[interpreter.Operation]string{}
	for name, o := range api.Operations(dialect) {
		names[o] = name
	}
	for _, k := range kinds {
		r := OperationRule{APIGroups: []string{k.Group}, APIVersions: []string{k.Version}, Kinds: []string{k.Kind.Kind}}
		for _, o := range interpreter.Operations() {
			if name := names[o]; name != "" && slices.Contains(k.Operations, o) &&
				(k.Version == All || !interpreter.Answers(kinds, interpreter.Kind{Group: k.Group, Version: All, Kind: k.Kind.Kind}, o)) {
				r.Operations = append(r.Operations, name)
			}
		}
		if len(r.Operations) > 0 {
			rules = append(rules, r)
		}
	}
	rules = united(rules, func(r *OperationRule) *[]string { return &r.APIVersions })
	rules = united(rules, func(r *OperationRule) *[]string { return &r.Kinds })
	slices.SortFunc(rules, func(a, b OperationRule) int {
		return cmp.Or(slices.Compare(a.APIGroups, b.APIGroups), slices.Compare(a.Kinds, b.Kinds), slices.Compare(a.APIVersions, b.APIVersions),
			slices.Compare(a.Operations, b.Operations))
	})
	return rules
}

// united merges rules that differ in one field only. It sorts the values of the field.
func united(rules []OperationRule, field func(*OperationRule) *[]string) []OperationRule {
	var all []OperationRule
	at := map[string]int{} // indexes by the other fields
	for _, r := range rules {
		others := r
		*field(&others) = nil
		key := fmt.Sprint(others.APIGroups, others.APIVersions, others.Kinds, others.Operations)
		if i, known := at[key]; known {
			*field(&all[i]) = append(*field(&all[i]), *field(&r)...)
			continue
		}
		at[key] = len(all)
		all = append(all, r)
	}
	for i := range all {
		values := field(&all[i])
		slices.Sort(*values)
		*values = slices.Compact(*values)
	}
	return all
}
