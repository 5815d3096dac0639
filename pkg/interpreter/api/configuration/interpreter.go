// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ResourceInterpreterWebhookConfiguration says which webhooks Karmada asks about which kinds, as it is shipped.
type ResourceInterpreterWebhookConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Webhooks []ResourceInterpreterWebhook `json:"webhooks"`
}

// ResourceInterpreterWebhook is a webhook, and what it is asked. What it does not answer fails: there is no policy for that.
type ResourceInterpreterWebhook struct {
	// Name is a fully qualified name of DNS, and no other webhook has it. Of several that fit, Karmada asks the first by name only.
	Name         string                          `json:"name"`
	ClientConfig admissionv1.WebhookClientConfig `json:"clientConfig"`
	Rules        []InterpreterRule               `json:"rules,omitempty"`
	// TimeoutSeconds is 1 to 30, and 10 by default; Karmada itself does not default it, and waits for 30 then.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// InterpreterContextVersions are the versions of messages that it understands, the best first.
	InterpreterContextVersions []string `json:"interpreterContextVersions"`
}

// InterpreterRule is a set of operations on a set of kinds.
type InterpreterRule struct {
	Operations  []string `json:"operations"`
	APIGroups   []string `json:"apiGroups"`
	APIVersions []string `json:"apiVersions"`
	Kinds       []string `json:"kinds"`
}

// interpreterOperations are those that Karmada lets be registered: Prune is none of them, and nothing ever asks for it.
var interpreterOperations = []string{
	All, "InterpretReplica", "InterpretComponent", "ReviseReplica", "Retain", "AggregateStatus", "InterpretStatus", "InterpretHealth", "InterpretDependency",
}

// Default writes down what is meant where nothing is said.
func (c *ResourceInterpreterWebhookConfiguration) Default() {
	for i := range c.Webhooks {
		defaultClient(&c.Webhooks[i].ClientConfig)
		orDefault(&c.Webhooks[i].TimeoutSeconds, DefaultTimeoutSeconds)
	}
}

// Validate gives all that is wrong.
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
