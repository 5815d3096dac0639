// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The bounds of attributes (k8s.io/api, resource/v1/types.go).
const (
	longestDomain, longestIdentifier, longestValue = 63, 32, 64
	// MaximumAttributes is the maximum number of attributes of a device, including DRANET's own.
	MaximumAttributes = 32
)

// ValidateAttributes returns all mistakes in the attributes of a device as Problems; their fields are the names. It
// returns nil without mistakes; otherwise the error is a Problems.
func ValidateAttributes(attributes map[string]Attribute) error {
	var p Problems
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if err := ValidateAttributeName(name); err != nil {
			p.add(name, "%v", err)
		}
		if err := attributes[name].Validate(); err != nil {
			p.add(name, "%v", err)
		}
	}
	if len(attributes) > MaximumAttributes {
		p.add("attributes", "%d attributes, but a device can have at most %d", len(attributes), MaximumAttributes)
	}
	return p.err()
}

// ValidateAttributeName validates the name of an attribute: a C identifier, with a domain and a slash before it unless
// it is the driver's.
func ValidateAttributeName(name string) error {
	domain, identifier, qualified := strings.Cut(name, "/")
	if !qualified {
		domain, identifier = "", name
	}
	switch {
	case qualified && (len(domain) > longestDomain || len(validation.IsDNS1123Subdomain(domain)) > 0):
		return fmt.Errorf("%s is not a domain of at most %d bytes", quote(domain), longestDomain)
	case len(identifier) > longestIdentifier || len(validation.IsCIdentifier(identifier)) > 0:
		return fmt.Errorf("%s is not an identifier of at most %d letters, digits and _", quote(identifier), longestIdentifier)
	}
	return nil
}

// Validate checks that the attribute has exactly one value, and that it is allowed. It fails with the reason.
func (a Attribute) Validate() error {
	values := 0
	for _, set := range []bool{a.Int != nil, a.Bool != nil, a.String != nil, a.Version != nil} {
		if set {
			values++
		}
	}
	switch {
	case values != 1:
		return fmt.Errorf("has %d values, but must have exactly one of int, bool, string and version", values)
	case a.String != nil && len(*a.String) > longestValue, a.Version != nil && len(*a.Version) > longestValue:
		return fmt.Errorf("is longer than %d bytes", longestValue)
	case a.Version != nil:
		if _, err := semver.Parse(*a.Version); err != nil {
			return errors.New(quote(*a.Version) + " is not a semantic version such as 1.2.3")
		}
	}
	return nil
}
