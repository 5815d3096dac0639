// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func checkType(t metav1.TypeMeta, kind string) (errs field.ErrorList) {
	if t.APIVersion != APIVersion {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), t.APIVersion, []string{APIVersion}))
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
	if seconds == nil || *seconds >= LeastTimeoutSeconds && *seconds <= MostTimeoutSeconds {
		return nil
	}
	return field.ErrorList{field.Invalid(at, *seconds, fmt.Sprintf("must be %d to %d seconds", LeastTimeoutSeconds, MostTimeoutSeconds))}
}

// checkVersions requires a supported version. Versions for newer clients may follow or precede it.
func checkVersions(preferred []string, at *field.Path) field.ErrorList {
	if len(preferred) == 0 {
		return field.ErrorList{field.Required(at, "must have "+strings.Join(versions, ", "))}
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
	if _, err := Version(preferred); err != nil {
		errs = append(errs, field.Invalid(at, preferred, err.Error()))
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
	if len(entries) > 1 && slices.Contains(entries, All) {
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
	if slices.Contains(resources, All) && slices.ContainsFunc(resources, func(r string) bool { return r != All && !strings.Contains(r, "/") }) {
		errs = append(errs, field.Invalid(at, resources, "with *, only subresources may be listed"))
	}
	return errs
}

func checkClient(c *admissionv1.WebhookClientConfig, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case (c.URL == nil) == (c.Service == nil):
		errs = append(errs, field.Required(at, "exactly one of url and service is needed"))
	case c.URL != nil:
		errs = checkURL(*c.URL, at.Child("url"))
	default:
		errs = checkService(c.Service, at.Child("service"))
	}
	if len(c.CABundle) > 0 && !x509.NewCertPool().AppendCertsFromPEM(c.CABundle) {
		errs = append(errs, field.Invalid(at.Child("caBundle"), len(c.CABundle), "must be certificates in PEM"))
	}
	return errs
}

// checkURL validates a URL. Its errors do not contain the URL, which may hold a password.
func checkURL(text string, at *field.Path) field.ErrorList {
	u, err := url.Parse(text)
	if err != nil {
		return field.ErrorList{field.TypeInvalid(at, "", "must be a URL such as https://host/path")}
	}
	var errs field.ErrorList
	if u.Scheme != "https" {
		errs = append(errs, field.NotSupported(at, u.Scheme, []string{"https"}))
	}
	if u.Host == "" {
		errs = append(errs, field.Required(at, "a host is needed, as in https://host/path"))
	}
	for _, part := range []struct {
		name  string
		there bool
	}{{"a user", u.User != nil}, {"a query", u.RawQuery != "" || u.ForceQuery}, {"a fragment", strings.Contains(text, "#")}} {
		if part.there {
			errs = append(errs, field.Forbidden(at, "must not contain "+part.name))
		}
	}
	return errs
}

func checkService(s *admissionv1.ServiceReference, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(at.Child("name"), ""))
	}
	if s.Namespace == "" {
		errs = append(errs, field.Required(at.Child("namespace"), ""))
	}
	if s.Port != nil {
		for _, why := range validation.IsValidPortNum(int(*s.Port)) {
			errs = append(errs, field.Invalid(at.Child("port"), *s.Port, why))
		}
	}
	if s.Path != nil {
		errs = append(errs, checkPath(*s.Path, at.Child("path"))...)
	}
	return errs
}

// checkPath requires path segments to be DNS names, as for Kubernetes' webhooks.
func checkPath(path string, at *field.Path) field.ErrorList {
	if path == "" || path == "/" {
		return nil
	}
	rest, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return field.ErrorList{field.Invalid(at, path, "must begin with /")}
	}
	for step := range strings.SplitSeq(strings.TrimSuffix(rest, "/"), "/") {
		if len(validation.IsDNS1123Subdomain(step)) > 0 {
			return field.ErrorList{field.Invalid(at, path, "its segments must consist of lowercase letters, digits, dots and -")}
		}
	}
	return nil
}
