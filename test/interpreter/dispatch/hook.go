// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
)

// unsaid is Karmada's timeout for a webhook that sets none. The API documents a default of 10 seconds, but
// Karmada never applies it.
const unsaid = 30 * time.Second

// Subject has the properties by which configurations select.
type Subject struct {
	interpreter.Kind
	// Resource is the plural name of the kind. Namespaced reports whether the object has a namespace. Only the
	// proposal uses these two.
	Resource   string
	Namespaced bool
}

// Hook is a webhook from a configuration.
type Hook struct {
	// Name has the form <configuration>/<webhook>. Dialect is the kind of its messages.
	Name, Dialect string

	client  webhookutil.ClientConfig
	timeout time.Duration
	// version is the error if no version of its messages is supported.
	version error
	ignore  bool
	cares   func(operation string, s Subject) bool
}

// Hooks are webhooks in the order of calls.
type Hooks []*Hook

// Interpreters returns the webhooks of configurations in Karmada's dialect, ordered by name. Only the first
// match is called.
func Interpreters(all ...*configuration.Configuration) Hooks {
	var hooks Hooks
	for _, c := range all {
		for _, w := range c.Webhooks {
			h := newHook(c.Name, w.Name, api.KindContext, w.ClientConfig, w.TimeoutSeconds, unsaid)
			h.version = supported(w.InterpreterContextVersions)
			h.cares = func(operation string, s Subject) bool {
				return slices.ContainsFunc(w.Rules, func(r configuration.OperationRule) bool {
					return has(r.Operations, operation) && has(r.APIGroups, s.Group) && has(r.APIVersions, s.Version) &&
						has(r.Kinds, s.Kind.Kind)
				})
			}
			hooks = append(hooks, h)
		}
	}
	slices.SortStableFunc(hooks, func(a, b *Hook) int { return cmp.Compare(a.Name, b.Name) })
	return hooks
}

// supported fails if none of the versions of messages is the one that exists.
func supported(versions []string) error {
	if slices.Contains(versions, api.Version) {
		return nil
	}
	return fmt.Errorf("none of the versions [%s] is supported; supported is %s", strings.Join(versions, ", "), api.Version)
}

// Explorers returns the webhooks of configurations in the proposal's dialect. The proposal defines the order
// only by reference to admission webhooks: configurations are sorted by name, and webhooks keep their order
// within one. The first answer counts. Webhooks that fail are skipped if their failurePolicy is Ignore.
func Explorers(all ...*configuration.Configuration) Hooks {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *configuration.Configuration) int {
		return cmp.Compare(a.Name, b.Name)
	})
	var hooks Hooks
	for _, c := range all {
		for _, w := range c.Webhooks {
			h := newHook(c.Name, w.Name, api.KindReview, w.ClientConfig, w.TimeoutSeconds,
				configuration.DefaultTimeoutSeconds*time.Second)
			h.version = supported(w.ExploreReviewVersions)
			h.ignore = w.FailurePolicy != nil && *w.FailurePolicy == admissionv1.Ignore
			h.cares = func(operation string, s Subject) bool {
				return slices.ContainsFunc(w.Rules,
					func(r configuration.OperationRule) bool { return has(r.Operations, operation) && covers(&r, s) })
			}
			hooks = append(hooks, h)
		}
	}
	return hooks
}

// Any returns a webhook that matches everything, in a dialect.
func Any(dialect string, e configuration.Endpoint) Hooks {
	at := configuration.Generate(api.KindContext, "any", nil, e).Webhooks[0]
	h := newHook("any", at.Name, dialect, at.ClientConfig, at.TimeoutSeconds, unsaid)
	h.cares = func(string, Subject) bool { return true }
	return Hooks{h}
}

func newHook(of, name, dialect string, c admissionv1.WebhookClientConfig, seconds *int32,
	otherwise time.Duration) *Hook {
	h := &Hook{Name: of + "/" + name, Dialect: dialect, timeout: otherwise}
	if seconds != nil {
		h.timeout = time.Duration(*seconds) * time.Second
	}
	h.client = webhookutil.ClientConfig{Name: h.Name, CABundle: c.CABundle}
	if c.URL != nil {
		h.client.URL = *c.URL
	}
	if s := c.Service; s != nil {
		h.client.Service = &webhookutil.ClientConfigService{Name: s.Name, Namespace: s.Namespace,
			Port: configuration.DefaultServicePort}
		if s.Port != nil {
			h.client.Service.Port = *s.Port
		}
		if s.Path != nil {
			h.client.Service.Path = *s.Path
		}
	}
	return h
}

// For returns the webhooks that are called for an operation on a subject, in order. In Karmada's dialect there
// is at most one.
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

// operationName returns the dialect's name of an operation, or "" if it has none.
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

// covers reports whether a rule matches a subject, as for Kubernetes' webhooks. A subject is never a
// subresource.
func covers(r *configuration.OperationRule, s Subject) bool {
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
