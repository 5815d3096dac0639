// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package exploring_test

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
)

// validate returns all errors in a configuration. The definition rejects the same ones, except a caBundle without
// certificates.
func validate(c *configuration.Configuration) field.ErrorList {
	errs := checkType(c.TypeMeta, configuration.KindExploring)
	all := field.NewPath("webhooks")
	if c.Webhooks == nil {
		errs = append(errs, field.Required(all, "is required; it may be an empty list"))
	}
	names := map[string]bool{}
	for i := range c.Webhooks {
		w, at := &c.Webhooks[i], all.Index(i)
		errs = append(errs, checkName(names, w.Name, at.Child("name"))...)
		errs = append(errs, configuration.ValidateClient(&w.ClientConfig, at.Child("clientConfig"))...)
		errs = append(errs, checkTimeout(w.TimeoutSeconds, at.Child("timeoutSeconds"))...)
		errs = append(errs, checkVersions(w.ExploreReviewVersions, at.Child("exploreReviewVersions"))...)
		errs = append(errs, checkOne(w.FailurePolicy, []admissionv1.FailurePolicyType{admissionv1.Fail, admissionv1.Ignore},
			at.Child("failurePolicy"))...)
		for j, r := range w.Rules {
			rule := at.Child("rules").Index(j)
			errs = append(errs, checkOperations(r.Operations, exploringOperations, rule.Child("operations"))...)
			errs = append(errs, checkSet(r.APIGroups, true, rule.Child("apiGroups"))...)
			errs = append(errs, checkSet(r.APIVersions, false, rule.Child("apiVersions"))...)
			errs = append(errs, checkResources(r.Resources, rule.Child("resources"))...)
			errs = append(errs, checkOne(r.Scope,
				[]admissionv1.ScopeType{admissionv1.AllScopes, admissionv1.ClusterScope, admissionv1.NamespacedScope},
				rule.Child("scope"))...)
		}
	}
	return errs
}

var exploringOperations = []string{
	configuration.All, "ExploreReplica", "ExploreStatus", "ExplorePacking", "ExploreReplicaRevising", "ExploreRetaining",
	"ExploreStatusAggregating", "ExploreHealthy",
	"ExploreDependencies",
}

func checkType(t metav1.TypeMeta, kind string) (errs field.ErrorList) {
	if t.APIVersion != configuration.APIVersion {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), t.APIVersion, []string{configuration.APIVersion}))
	}
	if t.Kind != kind {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), t.Kind, []string{kind}))
	}
	return errs
}

// checkName validates a name and that it is unique, and adds it to seen.
func checkName(seen map[string]bool, name string, at *field.Path) field.ErrorList {
	errs := validation.IsFullyQualifiedDomainName(at, name)
	if seen[name] {
		errs = append(errs, field.Duplicate(at, name))
	}
	seen[name] = true
	return errs
}

func checkTimeout(seconds *int32, at *field.Path) field.ErrorList {
	if seconds == nil || *seconds >= configuration.LeastTimeoutSeconds && *seconds <= configuration.MostTimeoutSeconds {
		return nil
	}
	return field.ErrorList{field.Invalid(at, *seconds,
		fmt.Sprintf("must be %d to %d seconds", configuration.LeastTimeoutSeconds, configuration.MostTimeoutSeconds))}
}

// checkVersions requires a supported version. Versions for newer clients may follow or precede it.
func checkVersions(preferred []string, at *field.Path) field.ErrorList {
	if len(preferred) == 0 {
		return field.ErrorList{field.Required(at, "must have "+api.Version)}
	}
	var errs field.ErrorList
	for i, version := range preferred {
		if slices.Contains(preferred[:i], version) {
			errs = append(errs, field.Duplicate(at.Index(i), version))
			continue
		}
		for _, why := range validation.IsDNS1035Label(version) {
			errs = append(errs, field.Invalid(at.Index(i), version, why))
		}
	}
	if !slices.Contains(preferred, api.Version) {
		errs = append(errs, field.Invalid(at, preferred, "none of the versions is supported"))
	}
	return errs
}

// checkOne fails if value is set and not among the allowed ones.
func checkOne[T ~string](value *T, allowed []T, at *field.Path) field.ErrorList {
	if value == nil || slices.Contains(allowed, *value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at, *value, allowed)}
}

func checkOperations(operations, known []string, at *field.Path) field.ErrorList {
	errs := checkSet(operations, true, at) // an empty operation is reported once, as unknown
	for i, o := range operations {
		if !slices.Contains(known, o) {
			errs = append(errs, field.NotSupported(at.Index(i), o, known))
		}
	}
	return errs
}

// checkSet requires entries. An empty entry is allowed only if empty is true (the core group); * must be the
// only entry.
func checkSet(entries []string, empty bool, at *field.Path) field.ErrorList {
	if len(entries) == 0 {
		return field.ErrorList{field.Required(at, "must have an entry")}
	}
	var errs field.ErrorList
	if len(entries) > 1 && slices.Contains(entries, configuration.All) {
		errs = append(errs, field.Invalid(at, entries, "* must be the only entry"))
	}
	if i := slices.Index(entries, ""); i >= 0 && !empty {
		errs = append(errs, field.Required(at.Index(i), "must not be empty"))
	}
	return errs
}

// checkResources validates resources as for Kubernetes' webhooks: resource, resource/subresource, or * for
// either part.
func checkResources(resources []string, at *field.Path) field.ErrorList {
	if len(resources) == 0 {
		return field.ErrorList{field.Required(at, "must have an entry")}
	}
	var errs field.ErrorList
	for i, r := range resources {
		name, sub, divided := strings.Cut(r, "/")
		switch {
		case r == "":
			errs = append(errs, field.Required(at.Index(i), "must not be empty"))
		case name == "" || divided && sub == "" || strings.Contains(sub, "/"):
			errs = append(errs, field.Invalid(at.Index(i), r, "must be a resource, or resource/subresource"))
		}
	}
	if slices.Contains(resources, "*/*") && len(resources) > 1 {
		errs = append(errs, field.Invalid(at, resources, "*/* must be the only entry"))
	}
	if slices.Contains(resources, configuration.All) &&
		slices.ContainsFunc(resources, func(r string) bool { return r != configuration.All && !strings.Contains(r, "/") }) {
		errs = append(errs, field.Invalid(at, resources, "with *, only subresources may be listed"))
	}
	return errs
}
