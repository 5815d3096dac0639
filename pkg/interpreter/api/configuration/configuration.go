// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package configuration contains the objects that register webhooks with Karmada, with their
// defaults: the ResourceInterpreterWebhookConfiguration that Karmada ships, and the
// ResourceExploringWebhookConfiguration of the earlier proposal.
//
// It does no input or output and calls no webhook. Start reading at the two types, or at Interpreter and
// Exploring, which generate them for the kinds that have rules.
package configuration

import (
	_ "embed"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	// LeastTimeoutSeconds is the shortest timeout that a webhook can set.
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

// Object is a webhook configuration of either dialect.
type Object interface {
	metav1.Object
	Default()
	// Content returns the webhooks, for comparison.
	Content() any
	// Clients returns the client configuration of each webhook, by its name.
	Clients() map[string]admissionv1.WebhookClientConfig
	// Calls returns all operations and kinds that the rules select.
	Calls() []Call
}

var _, _ Object = &ResourceInterpreterWebhookConfiguration{}, &ResourceExploringWebhookConfiguration{}

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
	name := "resourceinterpreterwebhookconfigurations"
	if dialect == api.KindReview {
		name = "resourceexploringwebhookconfigurations"
	}
	return schema.GroupVersionResource{Group: api.Group, Version: api.Version, Resource: name}
}

// New returns an empty configuration of a dialect.
func New(dialect string) Object {
	if dialect == api.KindReview {
		return &ResourceExploringWebhookConfiguration{}
	}
	return &ResourceInterpreterWebhookConfiguration{}
}

// ResourceInterpreterWebhookConfiguration registers webhooks for kinds, as Karmada ships it.
type ResourceInterpreterWebhookConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Webhooks []ResourceInterpreterWebhook `json:"webhooks"`
}

// ResourceInterpreterWebhook is a webhook and the rules that select its calls. A call without an answer fails;
// there is no failurePolicy.
type ResourceInterpreterWebhook struct {
	// Name is a fully qualified DNS name, unique among the webhooks. If several webhooks match, Karmada calls
	// only the first by name.
	Name         string                          `json:"name"`
	ClientConfig admissionv1.WebhookClientConfig `json:"clientConfig"`
	Rules        []InterpreterRule               `json:"rules,omitempty"`
	// TimeoutSeconds is 1 to 30. The default is 10; without a value, Karmada waits for 30.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// InterpreterContextVersions lists the supported versions of messages, in order of preference.
	InterpreterContextVersions []string `json:"interpreterContextVersions"`
}

// InterpreterRule selects operations on kinds.
type InterpreterRule struct {
	Operations  []string `json:"operations"`
	APIGroups   []string `json:"apiGroups"`
	APIVersions []string `json:"apiVersions"`
	Kinds       []string `json:"kinds"`
}

// Default sets the defaults.
func (c *ResourceInterpreterWebhookConfiguration) Default() {
	for i := range c.Webhooks {
		defaultClient(&c.Webhooks[i].ClientConfig)
		orDefault(&c.Webhooks[i].TimeoutSeconds, DefaultTimeoutSeconds)
	}
}

// ResourceExploringWebhookConfiguration registers webhooks for resources, as in the proposal.
type ResourceExploringWebhookConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Webhooks []ResourceExploringWebhook `json:"webhooks"`
}

// ResourceExploringWebhook is a webhook and the rules that select its calls.
type ResourceExploringWebhook struct {
	// Name is a fully qualified DNS name, unique among the webhooks.
	Name         string                          `json:"name"`
	ClientConfig admissionv1.WebhookClientConfig `json:"clientConfig"`
	Rules        []ExploringRule                 `json:"rules,omitempty"`
	// FailurePolicy is the reaction to a webhook that does not answer: Fail (default) or Ignore.
	FailurePolicy *admissionv1.FailurePolicyType `json:"failurePolicy,omitempty"`
	// TimeoutSeconds is 1 to 30. The default is 10.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// ExploreReviewVersions lists the supported versions of messages, in order of preference.
	ExploreReviewVersions []string `json:"exploreReviewVersions"`
}

// ExploringRule selects operations on resources.
type ExploringRule struct {
	Operations []string `json:"operations"`
	// Rule has apiGroups, apiVersions, resources and scope.
	admissionv1.Rule `json:",inline"`
}

// Default sets the defaults.
func (c *ResourceExploringWebhookConfiguration) Default() {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		defaultClient(&w.ClientConfig)
		orDefault(&w.TimeoutSeconds, DefaultTimeoutSeconds)
		orDefault(&w.FailurePolicy, admissionv1.Fail)
		for j := range w.Rules {
			orDefault(&w.Rules[j].Scope, admissionv1.AllScopes)
		}
	}
}

// Content implements Object.
func (c *ResourceInterpreterWebhookConfiguration) Content() any { return c.Webhooks }

// Content implements Object.
func (c *ResourceExploringWebhookConfiguration) Content() any { return c.Webhooks }

// Clients implements Object.
func (c *ResourceInterpreterWebhookConfiguration) Clients() map[string]admissionv1.WebhookClientConfig {
	all := map[string]admissionv1.WebhookClientConfig{}
	for _, w := range c.Webhooks {
		all[w.Name] = w.ClientConfig
	}
	return all
}

// Clients implements Object.
func (c *ResourceExploringWebhookConfiguration) Clients() map[string]admissionv1.WebhookClientConfig {
	all := map[string]admissionv1.WebhookClientConfig{}
	for _, w := range c.Webhooks {
		all[w.Name] = w.ClientConfig
	}
	return all
}

// Calls implements Object.
func (c *ResourceInterpreterWebhookConfiguration) Calls() (all []Call) {
	for _, w := range c.Webhooks {
		for _, r := range w.Rules {
			all = appendCalls(all, r.Operations, r.APIGroups, r.APIVersions, r.Kinds)
		}
	}
	return all
}

// Calls implements Object.
func (c *ResourceExploringWebhookConfiguration) Calls() (all []Call) {
	for _, w := range c.Webhooks {
		for _, r := range w.Rules {
			all = appendCalls(all, r.Operations, r.APIGroups, r.APIVersions, r.Resources)
		}
	}
	return all
}

func appendCalls(to []Call, operations, groups, versions, kinds []string) []Call {
	for _, group := range groups {
		for _, version := range versions {
			for _, kind := range kinds {
				for _, operation := range operations {
					to = append(to, Call{operation, group, version, kind})
				}
			}
		}
	}
	return to
}

// defaultClient sets the defaults of a client configuration.
func defaultClient(c *admissionv1.WebhookClientConfig) {
	if c.Service != nil {
		orDefault(&c.Service.Port, DefaultServicePort)
	}
}

func orDefault[T any](value **T, otherwise T) {
	if *value == nil {
		*value = &otherwise
	}
}
