// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/embed"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

func newMutator(t *testing.T, rules string, source facts.Source) *embed.Mutator {
	t.Helper()
	m, err := embed.NewMutator(scheme.Scheme, profiles(t, rules), embed.Options{Provider: "acme", Facts: source, Kubernetes: elsewhere})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// scheduler is a kube-scheduler with a field in its container that no Go type has, in this version of the API.
const scheduler = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kube-scheduler","namespace":"shoot--a--b"},"spec":{"replicas":2,
"template":{"spec":{"containers":[{"name":"kube-scheduler","command":["/kube-scheduler","--v=2"],"ofTomorrow":1.50}]}}}}`

// into decodes JSON into an object.
func into[T any](t *testing.T, text string) *T {
	t.Helper()
	o := new(T)
	if err := json.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	return o
}

const setFlag = "controlplane:\n  kube-scheduler:\n  - flags: {set: {a: \"${ operation }\"}}\n"

// TestMutatorEditsTypedAndUnstructuredObjects checks that typed and unstructured objects get the edits, and that unstructured ones keep
// unknown fields.
func TestMutatorEditsTypedAndUnstructuredObjects(t *testing.T) {
	m := newMutator(t, setFlag, &facts.Static{})
	for name, object := range map[string]client.Object{
		"an object of a Go type": into[appsv1.Deployment](t, scheduler), "an unstructured object": into[unstructured.Unstructured](t, scheduler),
	} {
		t.Run(name, func(t *testing.T) {
			var missing *appsv1.Deployment // as callers say that there was none
			if err := m.Mutate(t.Context(), object, missing); err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(raw), `["/kube-scheduler","--v=2","--a=CREATE"]`) {
				t.Errorf("the object lacks the flag: %s", raw)
			}
			if got := strings.Contains(string(raw), `"ofTomorrow":1.5`); got != (name == "an unstructured object") {
				t.Errorf("the unknown field is there: %t", got)
			}
			old := object.DeepCopyObject().(client.Object)
			if err := m.Mutate(t.Context(), object, old); err != nil {
				t.Fatal(err)
			}
			if raw, _ := json.Marshal(object); !strings.Contains(string(raw), `"--a=UPDATE"`) {
				t.Errorf("want the flag of an update, got %s", raw)
			}
		})
	}
}

// TestMutatorLeavesOtherObjectsUnchanged checks which objects stay unchanged.
func TestMutatorLeavesOtherObjectsUnchanged(t *testing.T) {
	m := newMutator(t, "controlplane:\n  kube-scheduler:\n  - flags: {set: {v: \"2\"}}\n", &facts.Static{})
	deleted := into[appsv1.Deployment](t, strings.Replace(scheduler, "--v=2", "--v=1", 1))
	deleted.DeletionTimestamp = &metav1.Time{}
	other := into[appsv1.Deployment](t, strings.ReplaceAll(scheduler, "kube-scheduler", "other"))
	bare := into[appsv1.Deployment](t, scheduler)
	bare.TypeMeta = metav1.TypeMeta{} // as the decoder of the library leaves it
	garden := into[appsv1.Deployment](t, scheduler)
	garden.Namespace = "garden"
	for name, object := range map[string]*appsv1.Deployment{"an object in deletion": deleted, "an object that is no target": other, "an object with the result": bare, "in the garden": garden} {
		before := object.DeepCopy()
		if err := m.Mutate(t.Context(), object, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, object); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}

// TestMutatorDeniesFieldsThatTheTypeLacks checks that a write of a field that the Go type lacks is denied, and made on unstructured
// objects.
func TestMutatorDeniesFieldsThatTheTypeLacks(t *testing.T) {
	m := newMutator(t, "controlplane:\n  kube-scheduler:\n  - fields: {set: {spec.ofTomorrow: yes}}\n", &facts.Static{})
	typed := into[appsv1.Deployment](t, scheduler)
	before := typed.DeepCopy()
	err := m.Mutate(t.Context(), typed, nil)
	if !errors.Is(err, embed.ErrFieldUnknown) || !strings.Contains(err.Error(), "spec.ofTomorrow") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, typed); diff != "" {
		t.Errorf("the object changed (-before +after):\n%s", diff)
	}
	loose := into[unstructured.Unstructured](t, scheduler)
	if err := m.Mutate(t.Context(), loose, nil); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedString(loose.Object, "spec", "ofTomorrow"); got != "yes" {
		t.Errorf("got %q", got)
	}
}

// TestMutatorErrorHidesValues checks that the error for a value that does not fit the Go type does not contain the value.
func TestMutatorErrorHidesValues(t *testing.T) {
	source := &facts.Static{Facts: shootOf(t, `{"region":"hunter2","kubernetes":{"version":"1.34.2"}}`)}
	m := newMutator(t, "controlplane:\n  kube-scheduler:\n  - fields: {set: {spec.minReadySeconds: '${ shoot.region }'}}\n", source)
	err := m.Mutate(t.Context(), into[appsv1.Deployment](t, scheduler), nil)
	if !errors.Is(err, embed.ErrFieldType) || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "spec.minReadySeconds") {
		t.Errorf("got %v", err)
	}
}

// TestMutatorErrorsLeaveObjectUnchanged checks that errors start with their reason and leave the object unchanged.
func TestMutatorErrorsLeaveObjectUnchanged(t *testing.T) {
	m := newMutator(t, "controlplane:\n  kube-scheduler:\n  - flags: {set: {region: \"${ shoot.region }\"}}\n", &facts.Static{})
	object := into[appsv1.Deployment](t, scheduler)
	before := object.DeepCopy()
	err := m.Mutate(t.Context(), object, nil)
	var failure *mutation.Failure
	if !errors.As(err, &failure) || failure.Reason != mutation.ClusterMissing || !strings.HasPrefix(err.Error(), "ClusterMissing: ") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, object); diff != "" {
		t.Errorf("the object changed (-before +after):\n%s", diff)
	}
}

// TestTypes checks the kinds that a webhook must be registered for.
func TestTypes(t *testing.T) {
	m := newMutator(t, `controlplane:
  kube-scheduler:
  - flags: {set: {a: b}}
  kube-apiserver:
  - flags: {set: {a: b}}
  kube-apiserver-service:
  - annotations: {set: {a: b}}
  node:
  - file: {path: /a, content: a}
  virtual-garden-etcd-main:
  - annotations: {set: {a: b}}
controlplanebackup:
  etcd-main:
  - annotations: {set: {a: b}}
`, &facts.Static{})
	var got []string
	for _, listed := range m.Types() {
		if _, ok := listed.Obj.(*unstructured.Unstructured); !ok {
			t.Errorf("%T is not unstructured", listed.Obj)
		}
		got = append(got, listed.Obj.GetObjectKind().GroupVersionKind().String())
	}
	want := []string{
		"druid.gardener.cloud/v1alpha1, Kind=Etcd", "apps/v1, Kind=Deployment", "extensions.gardener.cloud/v1alpha1, Kind=OperatingSystemConfig",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}
