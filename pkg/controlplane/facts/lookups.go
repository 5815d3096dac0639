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

// Lookups is the variable that holds what lookups have read. It has a field for each lookup, which has a string for each key
// and a value of any type for each path: lookups.cloudprovider.region, or lookups.tls.`ca.crt` for a key that is no identifier.
// Labels and annotations are maps, lookups.x.labels[?"a"], and the checksum is a string. An optional lookup whose object is
// missing, and a key or path that is missing, are not set: lookups.?cloudprovider.?region.orValue("").
type Lookups struct {
	object  *expression.Object
	lookups map[string]*expression.Object
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// NewLookups declares the variable for these requests, and fields of any type for other lookups of which nothing is known.
func NewLookups(requests []LookupRequest, unknown ...string) (*Lookups, error) {
	l := &Lookups{lookups: map[string]*expression.Object{}}
	fields := map[string]*cel.Type{}
	var nested []*expression.Object
	for _, r := range requests {
		if _, double := fields[r.Name]; double || !identifier.MatchString(r.Name) {
			return nil, fmt.Errorf("declaring lookup %q: its name is not an identifier or is taken", r.Name)
		}
		o := expression.NewObject("graft.Lookups."+r.Name, r.members())
		l.lookups[r.Name], fields[r.Name] = o, o.Type()
		nested = append(nested, o)
	}
	for _, name := range unknown {
		fields[name] = cel.DynType
	}
	l.object = expression.NewObject("graft.Lookups", fields, nested...)
	return l, nil
}

// members are the types of what expressions see of a lookup.
func (l LookupRequest) members() map[string]*cel.Type {
	members := map[string]*cel.Type{}
	for _, key := range l.Keys {
		members[key] = cel.StringType
	}
	for name := range l.Fields {
		members[name] = cel.DynType
	}
	if len(l.Labels) > 0 {
		members["labels"] = stringMap
	}
	if len(l.Annotations) > 0 {
		members["annotations"] = stringMap
	}
	if l.Checksum {
		members["checksum"] = cel.StringType
	}
	return members
}

// Variable declares the variable "lookups".
func (l *Lookups) Variable() expression.Variable {
	return expression.Variable{Name: "lookups", Object: l.object}
}

// Value is the variable's value for what the lookups returned, by name; nil for an object that is missing.
func (l *Lookups) Value(results map[string]*Found) ref.Val {
	fields := expression.Values{}
	for name, result := range results {
		if object, ok := l.lookups[name]; ok && result != nil {
			fields[name] = object.Value(result.values())
		}
	}
	return l.object.Value(fields)
}

func (f *Found) values() expression.Values {
	values := expression.Values{
		"labels":      types.NewStringStringMap(types.DefaultTypeAdapter, f.Labels),
		"annotations": types.NewStringStringMap(types.DefaultTypeAdapter, f.Annotations),
	}
	if f.Checksum != "" {
		values["checksum"] = types.String(f.Checksum)
	}
	for name, value := range f.Fields {
		values[name] = value
	}
	for key, value := range f.Keys {
		values[key] = types.String(value)
	}
	return values
}
