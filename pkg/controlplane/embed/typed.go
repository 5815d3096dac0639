// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
)

// ErrFieldUnknown means that a rule writes a field that the object's Go type lacks, so that it would be lost.
var ErrFieldUnknown = errors.New("field unknown to this program")

// ErrFieldType means that a rule writes a value that the Go type of a field cannot hold. The error omits the value: it
// may come from a Secret.
var ErrFieldType = errors.New("value of another type than the field has")

// encode returns the object as JSON with apiVersion and kind, which typed objects often lack. It returns nil for nil.
func encode(o client.Object, gvk schema.GroupVersionKind) ([]byte, error) {
	if absent(o) {
		return nil, nil
	}
	kind := o.GetObjectKind()
	before := kind.GroupVersionKind()
	kind.SetGroupVersionKind(gvk)
	raw, err := json.Marshal(o)
	kind.SetGroupVersionKind(before)
	if err != nil {
		return nil, fmt.Errorf("encoding %s %s: %w", gvk.Kind, o.GetName(), err)
	}
	return raw, nil
}

// absent reports whether the object is nil, or an interface with a nil pointer.
func absent(o client.Object) bool {
	return o == nil || reflect.ValueOf(o).Kind() == reflect.Pointer && reflect.ValueOf(o).IsNil()
}

// decode sets the object to the JSON, except apiVersion and kind. It changes nothing if it fails.
func decode(raw []byte, into client.Object) error {
	before := into.GetObjectKind().GroupVersionKind()
	if u, ok := into.(*unstructured.Unstructured); ok {
		fresh := &unstructured.Unstructured{}
		if err := fresh.UnmarshalJSON(raw); err != nil {
			// The error holds the whole object.
			return errors.New("decoding the result: it has no kind")
		}
		u.Object = fresh.Object
		return nil
	}
	fresh := reflect.New(reflect.TypeOf(into).Elem())
	if err := decodeStrictly(raw, fresh.Interface()); err != nil {
		return err
	}
	reflect.ValueOf(into).Elem().Set(fresh.Elem())
	into.GetObjectKind().SetGroupVersionKind(before)
	return nil
}

// decodeStrictly decodes JSON as Kubernetes does. The original object had no unknown fields, so that rules wrote those
// that it finds. Errors name fields but no values.
func decodeStrictly(raw []byte, into any) error {
	unknown, err := kjson.UnmarshalStrict(raw, into)
	if err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return fmt.Errorf("decoding the result: %w: %s", ErrFieldType, wrong.Field)
		}
		return fmt.Errorf("decoding the result: %w", ErrFieldType)
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%w: %w", ErrFieldUnknown, errors.Join(unknown...))
	}
	return nil
}
