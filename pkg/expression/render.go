// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
	apiservercel "k8s.io/apiserver/pkg/cel"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
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
// quantities, addresses and URLs as strings; times and durations as in protobuf's JSON. It fails for an empty optional
// value, NaN, infinities, types and values that exceed the size limit.
func JSON(value ref.Val) ([]byte, error) {
	b, err := appendJSON(nil, value)
	if err == nil && len(b) > maximumValue {
		return nil, errTooLarge
	}
	return b, err
}

func appendJSON(b []byte, value ref.Val) ([]byte, error) {
	if len(b) > maximumValue {
		return nil, errTooLarge
	}
	switch v := value.(type) {
	case types.Null:
		return append(b, "null"...), nil
	case types.Bool:
		return strconv.AppendBool(b, bool(v)), nil
	case types.Int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case types.Uint:
		return strconv.AppendUint(b, uint64(v), 10), nil
	case types.Double:
		return appendDouble(b, float64(v))
	case types.String:
		return document.AppendQuoted(b, string(v)), nil
	case types.Bytes:
		return document.AppendQuoted(b, base64.StdEncoding.EncodeToString(v)), nil
	case *types.Optional:
		if v.HasValue() {
			return appendJSON(b, v.GetValue())
		}
		return nil, errors.New("the value is absent; give a default with .orValue(…)")
	case *objectValue:
		return appendRecord(b, v)
	case traits.Mapper:
		return appendMap(b, v)
	case traits.Lister:
		return appendList(b, v)
	}
	text, err := Text(value)
	if err != nil {
		return nil, fmt.Errorf("a value of type %s cannot be written as JSON", value.Type().TypeName())
	}
	return document.AppendQuoted(b, text), nil
}

// Text writes a scalar as text: a string as it is, everything else as JSON would have it, without quotes. Lists, maps,
// objects and null are errors.
func Text(value ref.Val) (string, error) {
	switch v := value.(type) {
	case types.String:
		return string(v), nil
	case types.Bool, types.Int, types.Uint, types.Double:
		b, err := appendJSON(nil, value)
		return string(b), err
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
	case apiservercel.URL:
		return v.URL.String(), nil
	}
	return "", fmt.Errorf("a value of type %s cannot be written as text", value.Type().TypeName())
}

// appendDouble writes doubles as encoding/json does, which has no decimal point where none is needed.
func appendDouble(b []byte, v float64) ([]byte, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, errors.New("the number is not finite")
	}
	raw, err := json.Marshal(v)
	return append(b, raw...), err
}

func appendList(b []byte, list traits.Lister) ([]byte, error) {
	b = append(b, '[')
	first := true
	for it := list.Iterator(); it.HasNext() == types.True; first = false {
		if !first {
			b = append(b, ',')
		}
		var err error
		if b, err = appendJSON(b, it.Next()); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// jsonMember is an entry of an object in JSON.
type jsonMember struct {
	key   string
	value ref.Val
}

func appendMap(b []byte, m traits.Mapper) ([]byte, error) {
	var members []jsonMember
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		text, err := Text(key)
		if err != nil {
			return nil, errors.New("a key of a map cannot be written as text")
		}
		members = append(members, jsonMember{text, m.Get(key)})
	}
	return appendMembers(b, members)
}

func appendRecord(b []byte, r *objectValue) ([]byte, error) {
	var members []jsonMember
	for _, name := range r.object.Fields() {
		if !isSet(r, name) {
			continue
		}
		members = append(members, jsonMember{name, r.Get(types.String(name))})
	}
	return appendMembers(b, members)
}

func appendMembers(b []byte, members []jsonMember) ([]byte, error) {
	slices.SortFunc(members, func(x, y jsonMember) int { return strings.Compare(x.key, y.key) })
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			if members[i-1].key == m.key {
				return nil, errors.New("two keys of a map are the same text")
			}
			b = append(b, ',')
		}
		if types.IsError(m.value) {
			return nil, errors.New("a value cannot be read")
		}
		b = append(document.AppendQuoted(b, m.key), ':')
		var err error
		if b, err = appendJSON(b, m.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func toYAML(argument ref.Val) ref.Val {
	raw, err := JSON(argument)
	if err != nil {
		return types.WrapErr(failure("toYAML: " + err.Error()))
	}
	if sizeParsed(raw)*yamlFactor > maximumTogether {
		return types.WrapErr(errTooLarge)
	}
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		return types.WrapErr(failure("toYAML: the value cannot be written as YAML"))
	}
	return types.String(text)
}
