// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Names from callers are stored, displayed and passed to clouds, so that only valid names of Kubernetes are accepted.
// An empty name means that the request has no name.

// CheckName returns an error for an invalid name of an object: it must be a DNS subdomain (RFC 1123) of at most 253
// characters, as for nodes, Pods and claims.
func CheckName(name string) error {
	if name == "" || len(validation.IsDNS1123Subdomain(name)) == 0 {
		return nil
	}
	return errors.New("must be a name of Kubernetes: at most 253 characters, lowercase letters, digits, dots and -")
}

// CheckNamespace returns an error for an invalid namespace: it must be a DNS label (RFC 1123) of at most 63 characters.
func CheckNamespace(name string) error {
	if name == "" || len(validation.IsDNS1123Label(name)) == 0 {
		return nil
	}
	return errors.New("must be a namespace: at most 63 characters, lowercase letters, digits and -")
}

// uid matches UIDs of Kubernetes, including those of static Pods, which are not UUIDs.
var uid = regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?$`)

// maximumUID is the greatest length of a UID in characters.
const maximumUID = 128

// CheckUID returns an error for an invalid UID.
func CheckUID(text string) error {
	if text == "" || len(text) <= maximumUID && uid.MatchString(text) {
		return nil
	}
	return errors.New("must be a UID: at most 128 characters, letters, digits, -, . and _")
}

// Faults lists the mistakes of a request, each with its field.
type Faults []string

// Add adds the mistake of a field, unless it is nil.
func (f *Faults) Add(field string, err error) {
	if err != nil {
		*f = append(*f, field+" "+err.Error())
	}
}

// Problem returns the mistakes as one error, or nil.
func (f Faults) Problem() error {
	if len(f) == 0 {
		return nil
	}
	return Problemf(http.StatusBadRequest, "%s", strings.Join(f, "; "))
}
