// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gardener_test

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// object is JSON.
type object = map[string]any

// variants are the values of a field in the matrix; nil: the field is not there.
type variants struct {
	path   []string
	values []any
}

// each calls with all combinations.
func each(fields []variants, base object, run func(object)) {
	if len(fields) == 0 {
		run(base)
		return
	}
	for _, value := range fields[0].values {
		each(fields[1:], with(base, fields[0].path, value), run)
	}
}

// with is an object with a value at a path; the objects on the way are made where there is a value.
func with(base object, path []string, value any) object {
	if value == nil {
		return base
	}
	changed := maps.Clone(base)
	if changed == nil {
		changed = object{}
	}
	if len(path) == 1 {
		changed[path[0]] = value
		return changed
	}
	inner, _ := changed[path[0]].(object)
	changed[path[0]] = with(inner, path[1:], value)
	return changed
}

// listed writes an object with conditions as fields by type.
func listed(t *testing.T, o object) []byte {
	t.Helper()
	if status, ok := o["status"].(object); ok {
		if named, ok := status["conditions"].(object); ok {
			var conditions []object
			for name, value := range named {
				conditions = append(conditions, object{"type": name, "status": value})
				if value == "False" { // a second one of the type, which only counts where all do
					conditions = append(conditions, object{"type": name, "status": "True"})
				}
			}
			o = with(o, []string{"status", "conditions"}, conditions)
		}
	}
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestHealth compares the health of each kind with Gardener's own check, for all combinations of the fields that the
// check reads.
func TestHealth(t *testing.T) {
	program := load(t)
	for _, kind := range kinds() {
		t.Run(kind.Kind.Kind, func(t *testing.T) {
			seen := map[bool]int{}
			each(kind.fields, object{"apiVersion": kind.Group + "/" + kind.Version, "kind": kind.Kind.Kind}, func(o object) {
				raw := listed(t, o)
				read := kind.newObject()
				if err := json.Unmarshal(raw, read); err != nil {
					t.Fatal(err)
				}
				want := kind.check(read)
				response, err := program.Interpret(context.Background(), interpreter.Request{Operation: interpreter.Health, Kind: kind.Kind, Object: raw})
				if err != nil || *response.Healthy != want {
					t.Errorf("%s: got %v, want healthy %t as in %s", raw, err, want, kind.checks)
					return
				}
				seen[want]++
			})
			if seen[true] < 5 || seen[false] < 100 {
				t.Errorf("seen are %v", seen)
			}
			t.Logf("%s was run over %d objects, of which %d are healthy", kind.checks, seen[true]+seen[false], seen[true])
		})
	}
}
