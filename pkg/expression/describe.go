// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

// Name is the qualified name of the object type.
func (o *Object) Name() string { return o.name }

// Nested are the object types that occur in the types of the fields.
func (o *Object) Nested() []*Object { return o.nested }

// FieldType is the type of a declared field as messages call it; empty for any other.
func (o *Object) FieldType(name string) string {
	field, ok := o.fields[name]
	if !ok {
		return ""
	}
	return describeType(field.Type)
}

// TypeName is the type of the variable as messages call it.
func (v Variable) TypeName() string { return describeType(v.celType()) }
