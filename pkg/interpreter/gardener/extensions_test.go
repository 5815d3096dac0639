// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gardener_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/utils/kubernetes/health"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
)

// object is JSON.
type object = map[string]any

// load compiles the profiles.
func load(t *testing.T) *rule.Program {
	t.Helper()
	documents, err := gardener.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	program, findings := rule.Compile(documents)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return program
}

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

// extensionFields are all fields that health.CheckExtensionObject reads.
var extensionFields = []variants{
	{[]string{"metadata", "generation"}, []any{nil, 1, 2}},
	{[]string{"status", "observedGeneration"}, []any{nil, 1, 2}},
	{[]string{"status", "lastError"}, []any{nil, object{"description": ""}, object{"description": "broken", "codes": []string{"ERR_INFRA_QUOTA_EXCEEDED"}}}},
	{[]string{"status", "lastOperation"}, []any{nil, object{}}},
	{[]string{"status", "lastOperation", "state"}, []any{nil, "Succeeded", "Processing", "Failed", "Error", "Pending", "Aborted", ""}},
	{[]string{"status", "lastOperation", "lastUpdateTime"}, []any{nil, "2026-03-01T10:00:00Z", "2026-03-01T12:00:00+02:00", "2026-03-01T09:59:59Z"}},
	{[]string{"metadata", "annotations", "gardener.cloud/operation"}, []any{nil, "", "reconcile"}},
	{[]string{"metadata", "annotations", "gardener.cloud/timestamp"}, []any{
		nil, "2026-03-01T10:00:00Z", "2026-03-01T10:00:00.999999999Z", "2026-03-01T10:00:01Z", "2026-03-01T09:00:00+01:00", "2026-03-01T11:00:01+01:00",
		"2026-02-30T10:00:00Z", "2026-03-01", "", "soon", "2026-03-01T25:00:00Z", "2026-03-01T10:00:60Z", "2026-03-01 10:00:00Z",
	}},
}

// TestExtensionHealth holds that a Worker is healthy where Gardener's own check says so, for all combinations of what the check reads.
func TestExtensionHealth(t *testing.T) {
	program := load(t)
	kind := interpreter.Kind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "Worker"}
	seen := map[bool]int{}
	each(extensionFields, object{"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Worker"}, func(o object) {
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var worker extensionsv1alpha1.Worker
		if err := json.Unmarshal(raw, &worker); err != nil {
			t.Fatal(err)
		}
		want := health.CheckExtensionObject(&worker) == nil
		response, err := program.Interpret(context.Background(), interpreter.Request{Operation: interpreter.Health, Kind: kind, Object: raw})
		if err != nil || *response.Healthy != want {
			t.Errorf("%s: %v, and must be %t", raw, err, want)
			return
		}
		seen[want]++
	})
	if seen[true] < 20 || seen[false] < 10000 {
		t.Errorf("seen are %v", seen)
	}
}

// TestExtensionKinds holds that all kinds of extensions are known, and that they are objects for Gardener.
func TestExtensionKinds(t *testing.T) {
	program := load(t)
	for name, kind := range map[string]client.Object{
		"BackupBucket": &extensionsv1alpha1.BackupBucket{}, "BackupEntry": &extensionsv1alpha1.BackupEntry{}, "Bastion": &extensionsv1alpha1.Bastion{},
		"ContainerRuntime": &extensionsv1alpha1.ContainerRuntime{}, "ControlPlane": &extensionsv1alpha1.ControlPlane{},
		"DNSRecord": &extensionsv1alpha1.DNSRecord{}, "Extension": &extensionsv1alpha1.Extension{},
		"Infrastructure": &extensionsv1alpha1.Infrastructure{}, "Network": &extensionsv1alpha1.Network{},
		"OperatingSystemConfig": &extensionsv1alpha1.OperatingSystemConfig{}, "Worker": &extensionsv1alpha1.Worker{},
	} {
		if _, ok := kind.(extensionsv1alpha1.Object); !ok {
			t.Errorf("%s is no object of an extension", name)
		}
		known := slices.ContainsFunc(program.Kinds(), func(k interpreter.Known) bool { return k.Group == "extensions.gardener.cloud" && k.Kind.Kind == name })
		if !known {
			t.Errorf("%s is not known", name)
		}
	}
}
