// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Endpoint is the address of a webhook.
type Endpoint struct {
	// URL or Service is the webhook's address. Karmada's agents in member clusters call it too; they cannot
	// resolve Services of the control plane.
	URL     string
	Service *admissionv1.ServiceReference
	// CABundle contains the CA certificates of the webhook, in PEM.
	CABundle []byte
	// TimeoutSeconds is the webhook's timeout. The default, DefaultTimeoutSeconds, is written explicitly.
	TimeoutSeconds int32
}

func (e Endpoint) client() admissionv1.WebhookClientConfig {
	c := admissionv1.WebhookClientConfig{Service: e.Service.DeepCopy(), CABundle: slices.Clone(e.CABundle)}
	if e.URL != "" {
		c.URL = &e.URL
	}
	return c
}

func (e Endpoint) timeout() int32 { return cmp.Or(e.TimeoutSeconds, DefaultTimeoutSeconds) }

// Validate returns the errors in the location and the timeout, with the paths that they have in a webhook.
func (e Endpoint) Validate() field.ErrorList {
	client := e.client()
	errs := ValidateClient(&client, field.NewPath("clientConfig"))
	if seconds := e.timeout(); seconds < LeastTimeoutSeconds || seconds > MostTimeoutSeconds {
		why := fmt.Sprintf("must be %d to %d seconds", LeastTimeoutSeconds, MostTimeoutSeconds)
		errs = append(errs, field.Invalid(field.NewPath("timeoutSeconds"), seconds, why))
	}
	return errs
}

// ValidateClient returns the errors in the location of a webhook.
func ValidateClient(c *admissionv1.WebhookClientConfig, at *field.Path) field.ErrorList {
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

// servicePath matches paths in which each segment is a DNS name. Kubernetes requires this of the paths of webhooks.
var servicePath = regexp.MustCompile(`^/?$|^(/[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)+/?$`)

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
	if s.Path != nil && !servicePath.MatchString(*s.Path) {
		errs = append(errs, field.Invalid(at.Child("path"), *s.Path, "must begin with /, and its segments must consist of lowercase letters, digits, dots and -"))
	}
	return errs
}
