// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation"
)

// What a caller names is kept, shown to people and passed on to clouds: nothing is taken in that is no name of Kubernetes. What is empty is not said.

// CheckName is the error of what is no name of an object: a subdomain of DNS (RFC 1123), of at most 253 characters. Nodes, Pods and claims have one.
func CheckName(name string) error {
	if name == "" || len(name) <= validation.DNS1123SubdomainMaxLength && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return nil
	}
	return errors.New("must be a name of Kubernetes: at most 253 characters, small letters, digits, dots and -")
}

// CheckNamespace is the error of what is no namespace: a label of DNS (RFC 1123), of at most 63 characters.
func CheckNamespace(name string) error {
	if name == "" || len(name) <= validation.DNS1123LabelMaxLength && len(validation.IsDNS1123Label(name)) == 0 {
		return nil
	}
	return errors.New("must be a namespace: at most 63 characters, small letters, digits and -")
}

// uid is what UIDs of Kubernetes are made of, also those of Pods of a kubelet's own, which are no UUIDs.
var uid = regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z._-]{0,126}[0-9A-Za-z])?$`)

// CheckUID is the error of what is no UID.
func CheckUID(text string) error {
	if text == "" || uid.MatchString(text) {
		return nil
	}
	return errors.New("must be a UID: at most 128 characters, letters, digits, -, . and _")
}
