// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Limits are what the tags of a field say about the values that it may have: oneOf:"Fail,Ignore" or between:"1,30".
type Limits struct {
	// OneOf are all texts that are allowed; nil: any.
	OneOf []string
	// Bounded says that a number must be Least to Most.
	Bounded     bool
	Least, Most int64
}

// LimitsOf reads the tags. The error means that they are wrong, not a document.
func LimitsOf(tag reflect.StructTag) (Limits, error) {
	var limits Limits
	if words, ok := tag.Lookup("oneOf"); ok {
		limits.OneOf = strings.Split(words, ",")
	}
	between, ok := tag.Lookup("between")
	if !ok {
		return limits, nil
	}
	least, most, _ := strings.Cut(between, ",")
	var err error
	if limits.Least, err = strconv.ParseInt(least, 10, 64); err != nil {
		return limits, fmt.Errorf("reading the tag between:%q: %w", between, err)
	}
	if limits.Most, err = strconv.ParseInt(most, 10, 64); err != nil {
		return limits, fmt.Errorf("reading the tag between:%q: %w", between, err)
	}
	limits.Bounded = true
	return limits, nil
}

// check finds a decoded value that is not within the limits.
func (l Limits) check(n Node, path string, value reflect.Value) Findings {
	switch {
	case l.OneOf != nil && !slices.Contains(l.OneOf, value.String()):
		finding := n.Finding(path, "must be one of %s%s", strings.Join(l.OneOf, ", "), Suggest(value.String(), l.OneOf))
		return Findings{finding.Of(WrongValue).Instead(n, l.OneOf)}
	case l.Bounded && (value.Int() < l.Least || value.Int() > l.Most):
		return Findings{n.Finding(path, "must be %d to %d", l.Least, l.Most).Of(WrongValue)}
	default:
		return nil
	}
}
