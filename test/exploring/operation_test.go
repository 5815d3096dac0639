// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package exploring_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
)

const (
	operationAnnotation = "gardener.cloud/operation"
	timestampAnnotation = "gardener.cloud/timestamp"
	managedAnnotation   = "resourcetemplate.karmada.io/managed-annotations"
)

// member is the copy of an object in a member cluster, with the controller that executes requested operations.
type member struct {
	*controlPlane
	object map[string]any
	// executed are the operations that the controller has executed.
	executed []string
}

// sync writes the template as Karmada's execution controller does: it creates the object without calling Retain, and on
// updates keeps annotations of the member that the template never had.
func (m *member) sync(template map[string]any) {
	m.t.Helper()
	desired := unstructured.Unstructured{Object: template}
	desired = *desired.DeepCopy()
	annotations := desired.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[managedAnnotation] = ""
	annotations[managedAnnotation] = strings.Join(slices.Sorted(maps.Keys(annotations)), ",")
	desired.SetAnnotations(annotations)
	if m.object == nil {
		m.object = desired.Object
		return
	}
	observed := unstructured.Unstructured{Object: m.object}
	managed := strings.Split(observed.GetAnnotations()[managedAnnotation], ",")
	for key, value := range observed.GetAnnotations() {
		if _, known := annotations[key]; !known && !slices.Contains(managed, key) {
			annotations[key] = value
		}
	}
	desired.SetAnnotations(annotations)
	response := m.call(desired.Object, interpreter.Request{Operation: interpreter.Retain, Observed: m.encode(m.object)})
	m.object = m.patched(desired.Object, response.Patch)
}

// reconcile executes an operation that is requested and removes the request.
func (m *member) reconcile() {
	object := unstructured.Unstructured{Object: m.object}
	annotations := object.GetAnnotations()
	if operation := annotations[operationAnnotation]; operation != "" {
		m.executed = append(m.executed, operation)
		delete(annotations, operationAnnotation)
		object.SetAnnotations(annotations)
	}
}

// TestOperationOnce writes operations into the template of each kind of Gardener, and checks that the member executes
// each of them once.
func TestOperationOnce(t *testing.T) {
	documents, err := gardener.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	webhook := served(t, documents)
	for _, kind := range []struct{ apiVersion, kind string }{
		{"core.gardener.cloud/v1beta1", "Shoot"},
		{"druid.gardener.cloud/v1alpha1", "Etcd"},
		{"extensions.gardener.cloud/v1alpha1", "BackupBucket"},
		{"extensions.gardener.cloud/v1alpha1", "Worker"},
		{"machine.sapcloud.io/v1alpha1", "MachineDeployment"},
		{"resources.gardener.cloud/v1alpha1", "ManagedResource"},
	} {
		t.Run(kind.kind, func(t *testing.T) {
			m := &member{controlPlane: &controlPlane{t: t, webhook: webhook}}
			template := unstructured.Unstructured{Object: map[string]any{"apiVersion": kind.apiVersion, "kind": kind.kind}}
			template.SetName("a")
			var want []string
			request := func(executes bool, pairs ...string) {
				t.Helper()
				annotations := map[string]string{}
				for i := 0; i < len(pairs); i += 2 {
					annotations[pairs[i]] = pairs[i+1]
				}
				template.SetAnnotations(annotations)
				if executes {
					want = append(want, annotations[operationAnnotation])
				}
				m.sync(template.Object)
				m.sync(template.Object) // while the member has not executed it
				for range 3 {
					m.reconcile()
					m.sync(template.Object)
				}
				if !slices.Equal(m.executed, want) {
					t.Errorf("after %v the member has executed %v, want %v", annotations, m.executed, want)
					m.executed = slices.Clone(want)
				}
			}
			request(true, operationAnnotation, "reconcile") // the object is created with it
			request(true, operationAnnotation, "maintain")
			request(true, operationAnnotation, "reconcile", timestampAnnotation, "2026-03-01T10:00:00Z")
			request(true, operationAnnotation, "reconcile", timestampAnnotation, "2026-03-01T11:00:00Z")
			request(true, operationAnnotation, "reconcile")
			request(false)
			request(true, operationAnnotation, "reconcile")
			// typed in the member
			m.object["metadata"].(map[string]any)["annotations"].(map[string]any)[operationAnnotation] = "rotate"
			want = append(want, "rotate")
			request(false, operationAnnotation, "reconcile")
		})
	}
}
