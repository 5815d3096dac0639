// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gardener_test

import (
	"context"
	"encoding/json"
	"testing"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	"github.com/gardener/gardener/pkg/utils/kubernetes/health"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/utils/ptr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// statuses are those that conditions have; nil: the condition is not there.
var statuses = []any{nil, "True", "False", "Unknown", "Progressing"}

// compare holds that an object is healthy where Gardener's own check says so, for all combinations. Conditions are fields named after them.
func compare(t *testing.T, kind interpreter.Kind, fields []variants, check func(raw []byte) bool) {
	t.Helper()
	program := load(t)
	seen := map[bool]int{}
	each(fields, object{}, func(o object) {
		raw := listed(t, o)
		want := check(raw)
		response, err := program.Interpret(context.Background(), interpreter.Request{Operation: interpreter.Health, Kind: kind, Object: raw})
		if err != nil || *response.Healthy != want {
			t.Errorf("%s: %v, and must be %t", raw, err, want)
			return
		}
		seen[want]++
	})
	if seen[true] == 0 || seen[false] < 100 {
		t.Errorf("seen are %v", seen)
	}
}

// listed writes an object whose conditions are fields.
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

// read decodes an object.
func read[T any](t *testing.T, raw []byte) *T {
	t.Helper()
	o := new(T)
	if err := json.Unmarshal(raw, o); err != nil {
		t.Fatal(err)
	}
	return o
}

var generations = []variants{
	{[]string{"metadata", "generation"}, []any{nil, 1, 2}},
	{[]string{"status", "observedGeneration"}, []any{nil, 1, 2}},
}

// conditions are the variants of conditions.
func conditions(names ...string) []variants {
	var fields []variants
	for _, name := range names {
		fields = append(fields, variants{[]string{"status", "conditions", name}, statuses})
	}
	return fields
}

// TestManagedResourceHealth compares with CheckManagedResource and CheckManagedResourceProgressing.
func TestManagedResourceHealth(t *testing.T) {
	kind := interpreter.Kind{Group: "resources.gardener.cloud", Version: "v1alpha1", Kind: "ManagedResource"}
	fields := append(conditions("ResourcesApplied", "ResourcesHealthy", "ResourcesProgressing", "Other"), generations...)
	compare(t, kind, fields, func(raw []byte) bool {
		o := read[resourcesv1alpha1.ManagedResource](t, raw)
		return health.CheckManagedResource(o) == nil && health.CheckManagedResourceProgressing(o) == nil
	})
}

// TestMachineDeploymentHealth compares with CheckMachineDeployment.
func TestMachineDeploymentHealth(t *testing.T) {
	kind := interpreter.Kind{Group: "machine.sapcloud.io", Version: "v1alpha1", Kind: "MachineDeployment"}
	fields := append(conditions("Available", "Progressing", "ReplicaFailure", "Frozen"), generations...)
	fields = append(fields,
		variants{[]string{"spec", "strategy", "type"}, []any{nil, "InPlaceUpdate"}},
		variants{[]string{"spec", "strategy", "inPlaceUpdate", "orchestrationType"}, []any{nil, "Manual"}},
		variants{[]string{"status", "updatedReplicas"}, []any{nil, 1}},
	)
	compare(t, kind, fields, func(raw []byte) bool {
		return health.CheckMachineDeployment(read[machinev1alpha1.MachineDeployment](t, raw)) == nil
	})
}

// TestEtcdHealth compares with CheckEtcd, where the generation was observed.
func TestEtcdHealth(t *testing.T) {
	kind := interpreter.Kind{Group: "druid.gardener.cloud", Version: "v1alpha1", Kind: "Etcd"}
	fields := append(conditions("BackupReady", "Ready"), generations...)
	fields = append(fields, variants{[]string{"status", "ready"}, []any{nil, true, false}})
	compare(t, kind, fields, func(raw []byte) bool {
		o := read[druidcorev1alpha1.Etcd](t, raw)
		return health.CheckEtcd(o) == nil && ptr.Deref(o.Status.ObservedGeneration, 0) == o.Generation
	})
}
