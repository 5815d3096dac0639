// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Decoder is a type that reads itself from a Node; path is the field for its findings.
type Decoder interface {
	DecodeNode(n Node, path string) Findings
}

// Hinter is a struct that knows the place of a field that users look for in it; empty if unknown.
type Hinter interface {
	Hint(field string) string
}

// Decode reads the node into the struct, map, slice or scalar that into points to. Fields are named by their json tags.
// It is strict: unknown fields, wrong types and values beyond a field's Limits are findings, and it goes on after each so that
// all are reported.
func Decode(n Node, path string, into any) Findings {
	return decode(n, path, reflect.ValueOf(into).Elem())
}

var (
	decoderType = reflect.TypeFor[Decoder]()
	nodeType    = reflect.TypeFor[Node]()
)

func decode(n Node, path string, into reflect.Value) Findings {
	if into.Type() == nodeType {
		into.Set(reflect.ValueOf(n))
		return nil
	}
	if into.CanAddr() && into.Addr().Type().Implements(decoderType) {
		return into.Addr().Interface().(Decoder).DecodeNode(n, path)
	}
	if n.Absent() {
		return nil
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return decode(n, path, into.Elem())
	case reflect.Struct:
		return decodeStruct(n, path, into)
	case reflect.Map:
		return decodeMap(n, path, into)
	case reflect.Slice:
		return decodeSlice(n, path, into)
	default:
		return decodeScalar(n, path, into)
	}
}

func decodeStruct(n Node, path string, into reflect.Value) Findings {
	if n.Kind != yaml.MappingNode {
		return Findings{n.Finding(path, "must be a mapping, is %s", describe(n)).Of(WrongType)}
	}
	fields := StructFields(into.Type())
	var findings Findings
	for _, field := range n.Fields() {
		inner := join(path, field.Key.Value)
		if field.Key.Kind != yaml.ScalarNode {
			continue // already reported
		}
		known, ok := fields[field.Key.Value]
		if !ok {
			names := slices.Collect(maps.Keys(fields))
			findings = append(findings, withHint(UnknownKey(field.Key, path, n, names), field.Key.Value, into))
			continue
		}
		findings = append(findings, decodeField(field.Value, inner, into, known)...)
	}
	return findings
}

// UnknownKey returns the finding that a key of a mapping is not a known field.
func UnknownKey(key Node, path string, mapping Node, known []string) Finding {
	finding := key.Finding(path, "unknown field %q%s", key.Value, Suggest(key.Value, known)).Of(UnknownField).InPart()
	if word := near(key.Value, known); !mapping.Has(word) {
		finding.Meant = word
	}
	if word, ok := Nearest(key.Value, known); ok && !mapping.Has(word) {
		return finding.Write(key, word)
	}
	return finding
}

// withHint returns the finding of an unknown field with the hint of the struct, instead of a similar field.
func withHint(f Finding, field string, into reflect.Value) Finding {
	if h, ok := into.Interface().(Hinter); ok {
		if hint := h.Hint(field); hint != "" {
			f.Message, f.Meant, f.Fix = fmt.Sprintf("unknown field %q; it is %s", field, hint), "", nil
		}
	}
	return f
}

func decodeField(n Node, path string, into reflect.Value, field reflect.StructField) Findings {
	value := into.FieldByIndex(field.Index)
	if findings := decode(n, path, value); len(findings) > 0 || n.Absent() {
		return findings
	}
	limits, err := LimitsOf(field.Tag)
	if err != nil {
		return Findings{n.Finding(path, "%s", err).Of(WrongValue)}
	}
	return limits.check(n, path, value)
}

func decodeMap(n Node, path string, into reflect.Value) Findings {
	if n.Kind != yaml.MappingNode {
		return Findings{n.Finding(path, "must be a mapping, is %s", describe(n)).Of(WrongType)}
	}
	var findings Findings
	result := reflect.MakeMap(into.Type())
	for _, field := range n.Fields() {
		if field.Key.Kind != yaml.ScalarNode {
			continue
		}
		value := reflect.New(into.Type().Elem()).Elem()
		findings = append(findings, decode(field.Value, join(path, field.Key.Value), value)...)
		result.SetMapIndex(reflect.ValueOf(field.Key.Value).Convert(into.Type().Key()), value)
	}
	into.Set(result)
	return findings
}

func decodeSlice(n Node, path string, into reflect.Value) Findings {
	if n.Kind != yaml.SequenceNode {
		return Findings{n.Finding(path, "must be a list, is %s", describe(n)).Of(WrongType)}
	}
	var findings Findings
	result := reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Items() {
		findings = append(findings, decode(item, path+"["+strconv.Itoa(i)+"]", result.Index(i))...)
	}
	into.Set(result)
	return findings
}

func decodeScalar(n Node, path string, into reflect.Value) Findings {
	var tag string
	switch into.Kind() {
	case reflect.String:
		tag = "!!str"
	case reflect.Bool:
		tag = "!!bool"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		tag = "!!int"
	default:
		return Findings{n.Finding(path, "cannot be decoded into %s", into.Type()).Of(WrongType)}
	}
	if n.Kind == yaml.ScalarNode && n.Tag == tag && n.Decode(into.Addr().Interface()) == nil {
		return nil
	}
	want := scalarName(into.Kind())
	if n.Kind == yaml.ScalarNode && into.Kind() == reflect.String {
		want += " (put it in quotes)"
	}
	finding := n.Finding(path, "must be %s, is %s", want, describe(n)).Of(WrongType)
	if text, ok := notation(n, into.Kind()); ok {
		finding = finding.Replace(n, text)
	}
	return Findings{finding}
}

// notation returns the notation of a scalar in the wanted kind, or false if it is ambiguous.
func notation(n Node, kind reflect.Kind) (string, bool) {
	switch {
	case n.Kind != yaml.ScalarNode:
		return "", false
	case kind == reflect.String:
		return `"` + n.Value + `"`, true
	case n.Tag != "!!str":
		return "", false
	case kind == reflect.Bool:
		word, ok := map[string]string{"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}[strings.ToLower(n.Value)]
		return word, ok
	default:
		number, err := strconv.ParseInt(n.Value, 10, 64)
		return n.Value, err == nil && strconv.FormatInt(number, 10) == n.Value
	}
}

func scalarName(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	default:
		return "a whole number"
	}
}

// describe describes the value of a node for messages; it does not quote long scalars in full.
func describe(n Node) string {
	switch {
	case n.Node == nil:
		return "missing"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "null"
	case n.Tag == "!!str":
		return fmt.Sprintf("the string %s", shorten(n.Value))
	default:
		return shorten(n.Value)
	}
}

func shorten(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}

// Duration is a span of time, written as Go does: 500ms, 10s, 5m. Set is false where nothing was written.
type Duration struct {
	time.Duration
	Set bool
}

// wholeNumber is a number without a unit, which must be seconds if anything.
var wholeNumber = regexp.MustCompile(`^[1-9][0-9]*$`)

// DecodeNode reads a duration.
func (d *Duration) DecodeNode(n Node, path string) Findings {
	if n.Absent() {
		return nil
	}
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!int" || n.Tag == "!!str") && wholeNumber.MatchString(n.Value) {
		return Findings{n.Finding(path, "%s has no unit: write it like 500ms, 10s or 5m", n.Value).Of(WrongValue).Write(n, n.Value+"s")}
	}
	var text string
	if findings := Decode(n, path, &text); len(findings) > 0 {
		return findings
	}
	duration, err := time.ParseDuration(text)
	if err != nil || duration < 0 {
		return Findings{n.Finding(path, "%q is not a duration, such as 500ms, 10s or 5m", text).Of(WrongValue)}
	}
	d.Duration, d.Set = duration, true
	return nil
}

// JSONSchema returns the schema of a duration for editors.
func (Duration) JSONSchema() string {
	return `{"type": "string", "pattern": "^(0|([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$"}`
}

// DecodeNode reads a string and nothing else.
func (t *Text) DecodeNode(n Node, path string) Findings {
	t.At = n
	return Decode(n, path, &t.Value)
}
