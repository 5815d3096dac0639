// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/embed"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

func newMutator(t *testing.T, rules string, source facts.Source) *embed.Mutator {
	t.Helper()
	m, err := embed.NewMutator(profiles(t, rules), embed.Options{Provider: "acme", Facts: source, Kubernetes: elsewhere})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// scheduler is a kube-scheduler with a field in its container that no Go type has, in this version of the API.
const scheduler = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"kube-scheduler","namespace":"shoot--a--b"},"spec":{"replicas":2,
"template":{"spec":{"containers":[{"name":"kube-scheduler","command":["/kube-scheduler","--v=2"],"ofTomorrow":1.50}]}}}}`

// newScheduler returns the kube-scheduler, with replacements in its JSON.
func newScheduler(t *testing.T, oldnew ...string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(strings.NewReplacer(oldnew...).Replace(scheduler))); err != nil {
		t.Fatal(err)
	}
	return o
}

// text returns an object as JSON.
func text(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	raw, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

const setFlag = "controlplane:\n  kube-scheduler:\n  - flags: {set: {a: \"${ operation }\"}}\n"

// TestMutatorKeepsUnknownFields checks that objects get the edits and keep fields that no Go type has.
func TestMutatorKeepsUnknownFields(t *testing.T) {
	m := newMutator(t, setFlag, &facts.Static{})
	object := newScheduler(t)
	var missing *unstructured.Unstructured // as callers say that there was none
	if err := m.Mutate(t.Context(), object, missing); err != nil {
		t.Fatal(err)
	}
	if got := text(t, object); !strings.Contains(got, `["/kube-scheduler","--v=2","--a=CREATE"]`) || !strings.Contains(got, `"ofTomorrow":1.5`) {
		t.Errorf("the object lacks the flag or the unknown field: %s", got)
	}
	if err := m.Mutate(t.Context(), object, object.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if got := text(t, object); !strings.Contains(got, `"--a=UPDATE"`) {
		t.Errorf("want the flag of an update, got %s", got)
	}
}

// TestMutatorLeavesOtherObjectsUnchanged checks which objects stay unchanged.
func TestMutatorLeavesOtherObjectsUnchanged(t *testing.T) {
	m := newMutator(t, "controlplane:\n  kube-scheduler:\n  - flags: {set: {v: \"2\"}}\n", &facts.Static{})
	deleted := newScheduler(t, "--v=2", "--v=1")
	deleted.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	for name, object := range map[string]*unstructured.Unstructured{
		"an object in deletion": deleted, "an object that is no target": newScheduler(t, "kube-scheduler", "other"),
		"an object with the result": newScheduler(t), "in the garden": newScheduler(t, "shoot--a--b", "garden"),
	} {
		before := object.DeepCopy()
		if err := m.Mutate(t.Context(), object, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, object); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}

// TestMutatorRefusesTypedObjects checks that objects of Go types, which may lose fields, are refused.
func TestMutatorRefusesTypedObjects(t *testing.T) {
	m := newMutator(t, setFlag, &facts.Static{})
	typed := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--a--b", Name: "kube-scheduler"}}
	for name, objects := range map[string][2]client.Object{"the object": {typed, nil}, "the former object": {newScheduler(t), typed}} {
		before := objects[0].DeepCopyObject()
		if err := m.Mutate(t.Context(), objects[0], objects[1]); !errors.Is(err, embed.ErrTyped) {
			t.Errorf("%s: got %v", name, err)
		}
		if diff := cmp.Diff(before, objects[0].DeepCopyObject()); diff != "" {
			t.Errorf("%s changed (-before +after):\n%s", name, diff)
		}
	}
}

// TestMutatorErrorsLeaveObjectUnchanged checks that errors start with their reason and leave the object unchanged.
func TestMutatorErrorsLeaveObjectUnchanged(t *testing.T) {
	m := newMutator(t, "controlplane:\n  kube-scheduler:\n  - flags: {set: {region: \"${ shoot.region }\"}}\n", &facts.Static{})
	object := newScheduler(t)
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
