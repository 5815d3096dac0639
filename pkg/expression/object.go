// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Object is a type with named, typed fields. A field that it does not declare is an error when an expression is compiled.
type Object struct {
	name   string
	cel    *cel.Type
	fields map[string]*types.FieldType
	nested []*Object
}

// NewObject declares an object type. The name is qualified, such as graft.Shoot, so that it cannot be taken for a variable;
// nested are the object types that occur in the types of the fields.
func NewObject(name string, fields map[string]*cel.Type, nested ...*Object) *Object {
	o := &Object{name: name, cel: cel.ObjectType(name), fields: map[string]*types.FieldType{}, nested: nested}
	for field, fieldType := range fields {
		o.fields[field] = &types.FieldType{
			Type:    fieldType,
			IsSet:   func(target any) bool { return isSet(target, field) },
			GetFrom: func(target any) (any, error) { return get(target, field) },
		}
	}
	return o
}

// Type is the CEL type of the object's values.
func (o *Object) Type() *cel.Type { return o.cel }

// Fields are the names of the declared fields, sorted.
func (o *Object) Fields() []string { return slices.Sorted(maps.Keys(o.fields)) }

// Fields is what stands behind a value of an Object. Field returns a CEL value, or a Go value that CEL can read as it is
// (strings, numbers, bool, map[string]any, []any), or an error when the value cannot be had. False means that the field is not set:
// has() is false then, and reading the field gives the value as its default, or fails when the value is nil.
type Fields interface {
	Field(name string) (any, bool)
}

// Values are fields that are known beforehand. An Unset or a Lazy among them stands for what it holds or returns.
type Values map[string]any

// Unset is a field that is not set but has a default.
type Unset struct{ Default any }

// Lazy is a field that is made when an expression names it; it is called each time and safe for concurrent use. What it returns is a value,
// an Unset, or nil for a field that is not set.
type Lazy func() any

// Field implements Fields.
func (v Values) Field(name string) (any, bool) {
	value := v[name]
	if lazy, ok := value.(Lazy); ok {
		value = lazy()
	}
	if unset, ok := value.(Unset); ok {
		return unset.Default, false
	}
	return value, value != nil
}

// Value is a value of this type. It keeps the fields and asks for each only when an expression names it.
func (o *Object) Value(fields Fields) ref.Val {
	return &record{object: o, fields: fields}
}

// record is a value of an Object.
type record struct {
	object *Object
	fields Fields
}

func isSet(target any, field string) bool {
	r, ok := target.(*record)
	if !ok {
		return false
	}
	_, ok = r.fields.Field(field)
	return ok
}

func get(target any, field string) (any, error) {
	r, ok := target.(*record)
	if !ok {
		return nil, failure("not an object with fields")
	}
	value, _ := r.fields.Field(field)
	if known := r.object.fields[field]; value == nil && known != nil && known.Type.Kind() == types.DynKind {
		return nil, fmt.Errorf("no such key: %s", field) // as CEL says it of a map
	}
	if value == nil {
		return nil, failure(absentField + field)
	}
	if err, ok := value.(error); ok {
		return nil, err
	}
	return value, nil
}

// ConvertToNative implements ref.Val; objects have no other form in Go.
func (r *record) ConvertToNative(t reflect.Type) (any, error) {
	if t.AssignableTo(reflect.TypeOf(r)) {
		return r, nil
	}
	return nil, fmt.Errorf("%s cannot become a %s", r.object.name, t)
}

// ConvertToType implements ref.Val.
func (r *record) ConvertToType(t ref.Type) ref.Val {
	switch t.TypeName() {
	case r.object.name:
		return r
	case types.TypeType.TypeName():
		return r.object.cel
	}
	return types.WrapErr(failure(r.object.name + " cannot become a " + t.TypeName()))
}

// Equal implements ref.Val: an object equals itself only.
func (r *record) Equal(other ref.Val) ref.Val { return types.Bool(r == other) }

// Type implements ref.Val.
func (r *record) Type() ref.Type { return r.object.cel }

// Value implements ref.Val. Field access expects the record itself.
func (r *record) Value() any { return r }

// IsSet implements traits.FieldTester.
func (r *record) IsSet(field ref.Val) ref.Val {
	name, ok := field.(types.String)
	return types.Bool(ok && isSet(r, string(name)))
}

// Get implements traits.Indexer.
func (r *record) Get(index ref.Val) ref.Val {
	name, ok := index.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	value, err := get(r, string(name))
	if err != nil {
		return types.WrapErr(err)
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// typeProvider resolves the fields of Objects.
type typeProvider struct {
	types.Provider
	objects map[string]*Object
}

func (p *typeProvider) declare(o *Object) error {
	if o == nil {
		return nil
	}
	if known, ok := p.objects[o.name]; ok {
		if known != o {
			return fmt.Errorf("object type %s is declared twice", o.name)
		}
		return nil
	}
	p.objects[o.name] = o
	for _, nested := range o.nested {
		if err := p.declare(nested); err != nil {
			return err
		}
	}
	for name, field := range o.fields {
		if unknown := p.unknownObject(field.Type); unknown != "" {
			return fmt.Errorf("field %s of %s: object type %s is not declared", name, o.name, unknown)
		}
	}
	return nil
}

// unknownObject is the name of an object type in t that is not declared, or "".
func (p *typeProvider) unknownObject(t *cel.Type) string {
	if t == nil {
		return "<nil>"
	}
	if t.Kind() == types.StructKind && p.objects[t.TypeName()] == nil && !isKubernetesType(t.TypeName()) {
		return t.TypeName()
	}
	for _, parameter := range t.Parameters() {
		if unknown := p.unknownObject(parameter); unknown != "" {
			return unknown
		}
	}
	return ""
}

// isKubernetesType tells the value types of k8s.io/apiserver/pkg/cel, such as kubernetes.Semver. They have no fields.
func isKubernetesType(name string) bool {
	return strings.HasPrefix(name, "kubernetes.") || strings.HasPrefix(name, "net.")
}

// FindStructType implements types.Provider.
func (p *typeProvider) FindStructType(name string) (*types.Type, bool) {
	if o, ok := p.objects[name]; ok {
		return types.NewTypeTypeWithParam(o.cel), true
	}
	if isKubernetesType(name) {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p *typeProvider) FindStructFieldNames(name string) ([]string, bool) {
	if o, ok := p.objects[name]; ok {
		return o.Fields(), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (p *typeProvider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if o, ok := p.objects[name]; ok {
		fieldType, ok := o.fields[field]
		return fieldType, ok
	}
	return p.Provider.FindStructFieldType(name, field)
}

// NewValue implements types.Provider: expressions cannot make objects.
func (p *typeProvider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := p.objects[name]; ok {
		return types.WrapErr(failure("objects of type " + name + " cannot be made"))
	}
	return p.Provider.NewValue(name, fields)
}
