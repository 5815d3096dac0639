// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gardener_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// TestStatus checks for each kind that a status with all fields of Gardener's types is reflected, except for deliberate
// omissions, and that a single member's status is aggregated unchanged.
func TestStatus(t *testing.T) {
	program := load(t)
	for _, kind := range kinds() {
		t.Run(kind.Kind.Kind, func(t *testing.T) {
			o := kind.newObject()
			fill(reflect.ValueOf(o).Elem().FieldByName("Status"))
			status := statusOf(t, o)
			raw := marshal(t, object{
				"apiVersion": kind.Group + "/" + kind.Version, "kind": kind.Kind.Kind, "status": status,
				"metadata": object{"generation": 1, "annotations": object{"resourcetemplate.karmada.io/generation": "7"}},
			})
			reflected, err := program.Interpret(context.Background(), interpreter.Request{Operation: interpreter.Status, Kind: kind.Kind, Object: raw})
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range kind.dropped {
				drop(status, strings.Split(path, "."))
			}
			want := maps.Clone(status)
			want["generation"], want["resourceTemplateGeneration"] = json.Number("1"), json.Number("7")
			if diff := cmp.Diff(want, decode(t, reflected.Status)); diff != "" {
				t.Errorf("reflected is (-want +got):\n%s", diff)
			}
			template := marshal(t, object{"apiVersion": kind.Group + "/" + kind.Version, "kind": kind.Kind.Kind, "metadata": object{"generation": 7}})
			aggregated, err := program.Interpret(context.Background(), interpreter.Request{
				Operation: interpreter.Aggregate, Kind: kind.Kind, Object: template, Members: []interpreter.Member{{Cluster: "a", Status: reflected.Status}},
			})
			if err != nil {
				t.Fatal(err)
			}
			status["observedGeneration"] = json.Number("7")
			if diff := cmp.Diff(status, decode(t, patched(t, template, aggregated.Patch))["status"]); diff != "" {
				t.Errorf("aggregated is (-want +got):\n%s", diff)
			}
		})
	}
}

// fill sets all fields, each to something else than nothing.
func fill(v reflect.Value) {
	switch set := v.Addr().Interface().(type) {
	case *metav1.Time:
		*set = metav1.NewTime(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
		return
	case *runtime.RawExtension:
		set.Raw = []byte(`{"apiVersion":"acme.com/v1","kind":"Anything","x":1.50}`)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), value)
	case reflect.String:
		v.SetString("True")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(1)
	default:
		panic("nothing is known of " + v.Type().String())
	}
}

// statusOf is the status of an object as JSON.
func statusOf(t *testing.T, o any) object {
	t.Helper()
	status, ok := decode(t, marshal(t, o))["status"].(object)
	if !ok || len(status) == 0 {
		t.Fatal("want a status, got none")
	}
	return status
}

// drop takes a field away, of all items of lists on the way.
func drop(value any, path []string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			drop(item, path)
		}
	case object:
		if len(path) == 1 {
			delete(value, path[0])
			return
		}
		drop(value[path[0]], path[1:])
	}
}

func patched(t *testing.T, raw, patch []byte) []byte {
	t.Helper()
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := operations.Apply(slices.Clone(raw))
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// decode keeps numbers as they are written.
func decode(t *testing.T, raw []byte) object {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var decoded object
	if err := decoder.Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}
