// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
	apiservercel "k8s.io/apiserver/pkg/cel"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// ParseJSON decodes JSON into values that CEL can read: whole numbers become int64, other numbers float64. It fails if
// raw is not JSON.
func ParseJSON(raw []byte) (any, error) {
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &value); err != nil {
		return nil, errors.New("not JSON")
	}
	return value, nil
}

// ParseComputed works like ParseJSON for a value computed for a request, see Limit. It also fails if the value exceeds
// the limit.
func ParseComputed(ctx context.Context, raw []byte) (any, error) {
	if err := Charge(ctx, sizeParsed(raw)); err != nil {
		return nil, err
	}
	return ParseJSON(raw)
}

// sizeParsed returns a size that the value of a JSON does not exceed.
func sizeParsed(raw []byte) int {
	size, quoted := itemSize+len(raw), false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == ':' || c == '[' || c == '{'):
			size += itemSize
		}
	}
	return size
}

// Value returns the CEL value of a decoded one, such as ParseJSON returns.
func Value(native any) ref.Val { return types.DefaultTypeAdapter.NativeToValue(native) }

// JSON writes a value as JSON: keys sorted, no spaces; integral doubles as integers; bytes as base64; versions,
// quantities and addresses as strings; times and durations as in protobuf's JSON. It fails for an empty optional
// value, NaN, infinities, types and values that exceed the size limit.
func JSON(value ref.Val) ([]byte, error) {
	size := 0
	native, err := nativeOf(value, &size)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(native); err != nil {
		return nil, errors.New("the number is not finite") // nothing else can fail
	}
	if out.Len() > maximumValue {
		return nil, errTooLarge
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// nativeOf returns a value as encoding/json writes it, and adds its size without the sizes of numbers.
func nativeOf(value ref.Val, size *int) (any, error) {
	if *size++; *size > maximumValue {
		return nil, errTooLarge
	}
	switch v := value.(type) {
	case types.Null:
		return nil, nil
	case types.Bool, types.Int, types.Uint, types.Double:
		return v.Value(), nil
	case *types.Optional:
		if v.HasValue() {
			return nativeOf(v.GetValue(), size)
		}
		return nil, errors.New("the value is absent; give a default with .orValue(…)")
	case *objectValue:
		members := map[string]any{}
		for _, name := range v.object.Fields() {
			if !isSet(v, name) {
				continue
			}
			if err := addMember(members, name, v.Get(types.String(name)), size); err != nil {
				return nil, err
			}
		}
		return members, nil
	case traits.Mapper:
		members := map[string]any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			text, err := Text(key)
			if err != nil {
				return nil, errors.New("a key of a map cannot be written as text")
			}
			if err := addMember(members, text, v.Get(key), size); err != nil {
				return nil, err
			}
		}
		return members, nil
	case traits.Lister:
		items := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			item, err := nativeOf(it.Next(), size)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, nil
	}
	text, err := Text(value)
	if err != nil {
		return nil, fmt.Errorf("a value of type %s cannot be written as JSON", value.Type().TypeName())
	}
	*size += len(text)
	return text, nil
}

func addMember(members map[string]any, key string, value ref.Val, size *int) error {
	if _, double := members[key]; double {
		return errors.New("two keys of a map are the same text")
	}
	if types.IsError(value) {
		return errors.New("a value cannot be read")
	}
	*size += len(key)
	var err error
	members[key], err = nativeOf(value, size)
	return err
}

// Text writes a scalar as text: a string as it is, everything else as JSON would have it, without quotes. Lists, maps,
// objects and null are errors.
func Text(value ref.Val) (string, error) {
	switch v := value.(type) {
	case types.String:
		return string(v), nil
	case types.Bool, types.Int, types.Uint, types.Double:
		raw, err := JSON(value)
		return string(raw), err
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(v), nil
	case types.Timestamp, types.Duration:
		native, err := value.ConvertToNative(reflect.TypeFor[*structpb.Value]())
		if err != nil {
			return "", errors.New("the time cannot be written")
		}
		return native.(*structpb.Value).GetStringValue(), nil
	case apiservercel.Semver:
		return v.Version.String(), nil
	case apiservercel.Quantity:
		return v.Quantity.String(), nil
	case *apiservercel.Quantity: // results of add and sub in Kubernetes' library
		return v.Quantity.String(), nil
	case apiservercel.IP:
		return v.Addr.String(), nil
	case apiservercel.CIDR:
		return v.Prefix.String(), nil
	}
	return "", fmt.Errorf("a value of type %s cannot be written as text", value.Type().TypeName())
}

// Describe returns a value as text for users: strings in quotes; versions, quantities and times without quotes; lists
// and mappings as JSON; and the name of its type for an object.
func Describe(value ref.Val) string {
	switch v := value.(type) {
	case *types.Optional:
		if !v.HasValue() {
			return "absent"
		}
		return Describe(v.GetValue())
	case types.String:
		return strconv.Quote(string(v))
	case types.Null:
		return "null"
	case *objectValue:
		return "a " + v.object.name
	case traits.Mapper, traits.Lister:
		if raw, err := JSON(value); err == nil {
			return string(raw)
		}
	}
	if text, err := Text(value); err == nil {
		return text
	}
	return "a " + value.Type().TypeName()
}

func toYAML(argument ref.Val) ref.Val {
	raw, err := JSON(argument)
	if err != nil {
		return types.WrapErr(safeError("toYAML: " + err.Error()))
	}
	if sizeParsed(raw)*yamlFactor > maximumTogether {
		return types.WrapErr(errTooLarge)
	}
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		return types.WrapErr(safeError("toYAML: the value cannot be written as YAML"))
	}
	return types.String(text)
}
