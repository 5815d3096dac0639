// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// TestSummaries checks that summaries describes exactly the existing variables and fields.
func TestSummaries(t *testing.T) {
	var declared []string
	var add func(o *expression.ObjectType)
	add = func(o *expression.ObjectType) {
		for _, field := range o.Fields() {
			declared = append(declared, o.Name()+"."+field)
		}
		for _, nested := range o.Nested() {
			add(nested)
		}
	}
	for _, variable := range Variables() {
		declared = append(declared, variable.Name)
		if variable.Object != nil {
			add(variable.Object)
		}
	}
	slices.Sort(declared)
	if diff := cmp.Diff(slices.Compact(declared), slices.Sorted(maps.Keys(summaries))); diff != "" {
		t.Errorf("declared, and in summaries (-want +got):\n%s", diff)
	}
}

// TestWorkerFields checks that expressions can read every field of Gardener's worker pools.
func TestWorkerFields(t *testing.T) {
	for _, test := range []struct {
		object  *expression.ObjectType
		of      reflect.Type
		renamed map[string][]string
	}{
		{workerType.object, reflect.TypeFor[gardencorev1beta1.Worker](), map[string][]string{
			"kubernetes":            {"kubernetes", "kubelet"},
			"machine":               {"machineType", "machineImage", "machineImageVersion", "architecture"},
			"cri":                   {"cri", "containerRuntimes"},
			"kubeletDataVolumeName": {"kubeletDataVolume"},
		}},
		{volumeType.object, reflect.TypeFor[gardencorev1beta1.Volume](), nil},
		{volumeType.object, reflect.TypeFor[gardencorev1beta1.DataVolume](), nil},
	} {
		for i := range test.of.NumField() {
			name, _, _ := strings.Cut(test.of.Field(i).Tag.Get("json"), ",")
			fields, ok := test.renamed[name]
			if !ok {
				fields = []string{name}
			}
			for _, field := range fields {
				if !slices.Contains(test.object.Fields(), field) {
					t.Errorf("%s has no field %s for %s of Gardener's %s", test.object.Name(), field, name, test.of.Name())
				}
			}
		}
	}
}
