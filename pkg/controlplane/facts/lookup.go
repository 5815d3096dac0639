// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// The kinds that lookups may read.
const (
	KindSecret    = "Secret"
	KindConfigMap = "ConfigMap"
)

// LookupRequest names the keys of one Secret or ConfigMap in the control plane's namespace.
type LookupRequest struct {
	// Name is that of the lookup in expressions: lookups.<name>.
	Name string
	// Kind is Secret or ConfigMap.
	Kind string
	// ObjectName is the name of the Secret or ConfigMap.
	ObjectName string
	// Keys are the keys that are read; nothing else is kept.
	Keys []string
	// Optional says that the object and each of its keys may be missing.
	Optional bool
}

// Select keeps the keys that the request names. A key that is missing is ErrNotFound unless the request is optional.
func (l LookupRequest) Select(get func(key string) (string, bool)) (map[string]string, error) {
	values := make(map[string]string, len(l.Keys))
	for _, key := range l.Keys {
		value, ok := get(key)
		if !ok && !l.Optional {
			return nil, fmt.Errorf("looking up %s: the %s %s has no key %s: %w", l.Name, l.Kind, l.ObjectName, key, ErrNotFound)
		}
		if ok {
			values[key] = value
		}
	}
	return values, nil
}

// Lookups is the variable that holds what lookups have read. It has a field for each lookup, with a string for each key:
// lookups.cloudprovider.region, or lookups.tls.`ca.crt` for a key that is no identifier. An optional lookup whose object is missing, and a key
// that is missing, are not set: lookups.?cloudprovider.?region.orValue("").
type Lookups struct {
	object  *expression.Object
	lookups map[string]*expression.Object
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// NewLookups declares the variable for these requests.
func NewLookups(requests []LookupRequest) (*Lookups, error) {
	l := &Lookups{lookups: map[string]*expression.Object{}}
	fields := map[string]*cel.Type{}
	var nested []*expression.Object
	for _, r := range requests {
		if _, double := fields[r.Name]; double || !identifier.MatchString(r.Name) {
			return nil, fmt.Errorf("declaring lookup %q: its name is not an identifier or is taken", r.Name)
		}
		if r.Kind != KindSecret && r.Kind != KindConfigMap {
			return nil, fmt.Errorf("declaring lookup %q: the kind must be %s or %s", r.Name, KindSecret, KindConfigMap)
		}
		keys := map[string]*cel.Type{}
		for _, key := range r.Keys {
			keys[key] = cel.StringType
		}
		o := expression.NewObject("graft.Lookups."+r.Name, keys)
		l.lookups[r.Name], fields[r.Name] = o, o.Type()
		nested = append(nested, o)
	}
	l.object = expression.NewObject("graft.Lookups", fields, nested...)
	return l, nil
}

// Variable declares the variable "lookups".
func (l *Lookups) Variable() expression.Variable {
	return expression.Variable{Name: "lookups", Object: l.object}
}

// Value is the variable's value for what the lookups returned, by name; nil for an object that is missing.
func (l *Lookups) Value(results map[string]map[string]string) ref.Val {
	fields := expression.Values{}
	for name, result := range results {
		object, ok := l.lookups[name]
		if !ok || result == nil {
			continue
		}
		keys := expression.Values{}
		for key, value := range result {
			keys[key] = types.String(value)
		}
		fields[name] = object.Value(keys)
	}
	return l.object.Value(fields)
}
