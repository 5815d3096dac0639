// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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

// interpreterOperations lists the operations that Karmada registers. It does not register or call Prune.
var interpreterOperations = []string{
	All, "InterpretReplica", "InterpretComponent", "ReviseReplica", "Retain", "AggregateStatus", "InterpretStatus", "InterpretHealth", "InterpretDependency",
}

// Default sets the defaults.
func (c *ResourceInterpreterWebhookConfiguration) Default() {
	for i := range c.Webhooks {
		defaultClient(&c.Webhooks[i].ClientConfig)
		orDefault(&c.Webhooks[i].TimeoutSeconds, DefaultTimeoutSeconds)
	}
}

// Validate returns all errors.
func (c *ResourceInterpreterWebhookConfiguration) Validate() field.ErrorList {
	errs := checkType(c.TypeMeta, KindInterpreter)
	all := field.NewPath("webhooks")
	names := map[string]bool{}
	for i := range c.Webhooks {
		w, at := &c.Webhooks[i], all.Index(i)
		errs = append(errs, checkName(names, w.Name, at.Child("name"))...)
		errs = append(errs, checkClient(&w.ClientConfig, at.Child("clientConfig"))...)
		errs = append(errs, checkTimeout(w.TimeoutSeconds, at.Child("timeoutSeconds"))...)
		errs = append(errs, checkVersions(w.InterpreterContextVersions, at.Child("interpreterContextVersions"))...)
		for j, r := range w.Rules {
			rule := at.Child("rules").Index(j)
			errs = append(errs, checkOperations(r.Operations, interpreterOperations, rule.Child("operations"))...)
			errs = append(errs, checkSet(r.APIGroups, true, rule.Child("apiGroups"))...)
			errs = append(errs, checkSet(r.APIVersions, false, rule.Child("apiVersions"))...)
			errs = append(errs, checkSet(r.Kinds, false, rule.Child("kinds"))...)
		}
	}
	return errs
}
