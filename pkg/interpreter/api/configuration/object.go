// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
)

// Object is a webhook configuration of either dialect.
type Object interface {
	metav1.Object
	Default()
	Validate() field.ErrorList
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

// Generate returns the configuration of a dialect for kinds. See Interpreter and Exploring.
func Generate(dialect, name string, kinds []interpreter.Known, e Endpoint) Object {
	if dialect == api.KindReview {
		return Exploring(name, kinds, nil, e)
	}
	return Interpreter(name, kinds, e)
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
