// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
)

// unsaid is how long Karmada waits for a webhook whose configuration does not say it: what its field calls a default is never set.
const unsaid = 30 * time.Second

// Subject is what configurations choose by.
type Subject struct {
	interpreter.Kind
	// Resource is that of the kind, and Namespaced says whether the object has a namespace: the proposal asks for both, and what is shipped for neither.
	Resource   string
	Namespaced bool
}

// Hook is a webhook that can be asked.
type Hook struct {
	// Name is <configuration>/<webhook>, and Dialect the kind of its messages.
	Name, Dialect string

	client  webhookutil.ClientConfig
	timeout time.Duration
	// version says why it cannot be asked at all: no version of its messages is spoken here.
	version error
	ignore  bool
	cares   func(operation string, s Subject) bool
}

// Hooks are webhooks in the order in which they are asked.
type Hooks []*Hook

// Interpreters are the webhooks of configurations as they are shipped: ordered by their names, and only the first that fits is ever asked.
func Interpreters(all ...*configuration.ResourceInterpreterWebhookConfiguration) Hooks {
	var hooks Hooks
	for _, c := range all {
		for _, w := range c.Webhooks {
			h := newHook(c.Name, w.Name, api.KindContext, w.ClientConfig, w.TimeoutSeconds, unsaid)
			_, h.version = configuration.Version(w.InterpreterContextVersions)
			h.cares = func(operation string, s Subject) bool {
				return slices.ContainsFunc(w.Rules, func(r configuration.InterpreterRule) bool {
					return has(r.Operations, operation) && has(r.APIGroups, s.Group) && has(r.APIVersions, s.Version) && has(r.Kinds, s.Kind.Kind)
				})
			}
			hooks = append(hooks, h)
		}
	}
	slices.SortStableFunc(hooks, func(a, b *Hook) int { return cmp.Compare(a.Name, b.Name) })
	return hooks
}

// Explorers are the webhooks of configurations as the proposal has them. It says of the order no more than that it is inspired by webhooks for admission:
// configurations are ordered by their names, and the webhooks of each stand as they are written. The first that answers is believed, and one that does not,
// and whose failurePolicy is Ignore, is passed over.
func Explorers(all ...*configuration.ResourceExploringWebhookConfiguration) Hooks {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *configuration.ResourceExploringWebhookConfiguration) int {
		return cmp.Compare(a.Name, b.Name)
	})
	var hooks Hooks
	for _, c := range all {
		for _, w := range c.Webhooks {
			h := newHook(c.Name, w.Name, api.KindReview, w.ClientConfig, w.TimeoutSeconds, configuration.DefaultTimeoutSeconds*time.Second)
			_, h.version = configuration.Version(w.ExploreReviewVersions)
			h.ignore = w.FailurePolicy != nil && *w.FailurePolicy == admissionv1.Ignore
			h.cares = func(operation string, s Subject) bool {
				return slices.ContainsFunc(w.Rules, func(r configuration.ExploringRule) bool { return has(r.Operations, operation) && covers(&r.Rule, s) })
			}
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// Any is a webhook that is asked everything, in a dialect.
func Any(dialect string, e configuration.Endpoint) Hooks {
	at := configuration.Interpreter("any", nil, e).Webhooks[0]
	h := newHook("any", at.Name, dialect, at.ClientConfig, at.TimeoutSeconds, unsaid)
	h.cares = func(string, Subject) bool { return true }
	return Hooks{h}
}

func newHook(of, name, dialect string, c admissionv1.WebhookClientConfig, seconds *int32, otherwise time.Duration) *Hook {
	h := &Hook{Name: of + "/" + name, Dialect: dialect, timeout: otherwise}
	if seconds != nil {
		h.timeout = time.Duration(*seconds) * time.Second
	}
	h.client = webhookutil.ClientConfig{Name: h.Name, CABundle: c.CABundle}
	if c.URL != nil {
		h.client.URL = *c.URL
	}
	if s := c.Service; s != nil {
		h.client.Service = &webhookutil.ClientConfigService{Name: s.Name, Namespace: s.Namespace, Port: configuration.DefaultServicePort}
		if s.Port != nil {
			h.client.Service.Port = *s.Port
		}
		if s.Path != nil {
			h.client.Service.Path = *s.Path
		}
	}
	return h
}

// For are the webhooks that are asked about an operation of a subject, the first of them first. Of those as they are shipped, there is one at most.
func (h Hooks) For(s Subject, o interpreter.Operation) Hooks {
	var all Hooks
	for _, hook := range h {
		operation := operationName(hook.Dialect, o)
		if operation == "" || !hook.cares(operation, s) {
			continue
		}
		all = append(all, hook)
		if hook.Dialect == api.KindContext {
			break
		}
	}
	return all
}

// operationName is what a dialect calls an operation; empty: it has none such.
func operationName(dialect string, o interpreter.Operation) string {
	for name, of := range api.Operations(dialect) {
		if of == o {
			return name
		}
	}
	return ""
}

func has(entries []string, entry string) bool {
	return slices.Contains(entries, entry) || slices.Contains(entries, configuration.All)
}

// covers says whether a rule is for a subject, as for webhooks of Kubernetes. A subject is never a subresource.
func covers(r *admissionv1.Rule, s Subject) bool {
	if !has(r.APIGroups, s.Group) || !has(r.APIVersions, s.Version) {
		return false
	}
	switch {
	case r.Scope == nil || *r.Scope == admissionv1.AllScopes:
	case (*r.Scope == admissionv1.NamespacedScope) != s.Namespaced:
		return false
	}
	return slices.ContainsFunc(r.Resources, func(entry string) bool {
		resource, sub, divided := strings.Cut(entry, "/")
		return (resource == configuration.All || resource == s.Resource) && (!divided || sub == configuration.All)
	})
}
