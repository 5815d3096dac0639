// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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

var exploringOperations = []string{
	All, "ExploreReplica", "ExploreStatus", "ExplorePacking", "ExploreReplicaRevising", "ExploreRetaining", "ExploreStatusAggregating", "ExploreHealthy",
	"ExploreDependencies",
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

// Validate returns all errors.
func (c *ResourceExploringWebhookConfiguration) Validate() field.ErrorList {
	errs := checkType(c.TypeMeta, KindExploring)
	all := field.NewPath("webhooks")
	if c.Webhooks == nil {
		errs = append(errs, field.Required(all, "is required; it may be an empty list"))
	}
	names := map[string]bool{}
	for i := range c.Webhooks {
		w, at := &c.Webhooks[i], all.Index(i)
		errs = append(errs, checkName(names, w.Name, at.Child("name"))...)
		errs = append(errs, checkClient(&w.ClientConfig, at.Child("clientConfig"))...)
		errs = append(errs, checkTimeout(w.TimeoutSeconds, at.Child("timeoutSeconds"))...)
		errs = append(errs, checkVersions(w.ExploreReviewVersions, at.Child("exploreReviewVersions"))...)
		errs = append(errs, checkOne(w.FailurePolicy, []admissionv1.FailurePolicyType{admissionv1.Fail, admissionv1.Ignore}, at.Child("failurePolicy"))...)
		for j, r := range w.Rules {
			rule := at.Child("rules").Index(j)
			errs = append(errs, checkOperations(r.Operations, exploringOperations, rule.Child("operations"))...)
			errs = append(errs, checkSet(r.APIGroups, true, rule.Child("apiGroups"))...)
			errs = append(errs, checkSet(r.APIVersions, false, rule.Child("apiVersions"))...)
			errs = append(errs, checkResources(r.Resources, rule.Child("resources"))...)
			errs = append(errs, checkOne(r.Scope, []admissionv1.ScopeType{admissionv1.AllScopes, admissionv1.ClusterScope, admissionv1.NamespacedScope},
				rule.Child("scope"))...)
		}
	}
	return errs
}
