// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubetesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
)

// resource is the resource of the configurations that Karmada ships.
var resource = configuration.ResourceOf(api.KindContext)

// karmada is an API server that counts writes.
type karmada struct {
	*fake.FakeDynamicClient
	t      *testing.T
	writes int
}

func newKarmada(t *testing.T) *karmada {
	k := &karmada{t: t, FakeDynamicClient: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		resource: "ResourceInterpreterWebhookConfigurationList",
	})}
	k.PrependReactor("*", "*", func(a kubetesting.Action) (bool, runtime.Object, error) {
		if a.GetVerb() == "update" || a.GetVerb() == "create" {
			k.writes++
		}
		return false, nil, nil
	})
	return k
}

// there is the stored registration.
func (k *karmada) there() *unstructured.Unstructured {
	k.t.Helper()
	object, err := k.Resource(resource).Get(k.t.Context(), "graft", metav1.GetOptions{})
	if err != nil {
		k.t.Fatal(err)
	}
	return object
}

// change changes the registration like another client.
func (k *karmada) change(to func(*unstructured.Unstructured)) {
	k.t.Helper()
	object := k.there()
	to(object)
	if _, err := k.Resource(resource).Update(k.t.Context(), object, metav1.UpdateOptions{}); err != nil {
		k.t.Fatal(err)
	}
	k.writes = 0
}

// replica is a Registrar with its desired state.
type replica struct {
	*Registrar
	clock  *clocktesting.FakePassiveClock
	bundle string
	kinds  []interpreter.Known
	leads  bool
	told   string
	owner  string
	// also is added to the desired state after the existing registration was read.
	also string
}

func newReplica(k *karmada, owner string) *replica {
	r := &replica{owner: owner, clock: clocktesting.NewFakePassiveClock(time.Now()), leads: true, bundle: "one", kinds: []interpreter.Known{{
		Kind: interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}, Operations: []interpreter.Operation{interpreter.Health},
	}}}
	r.Registrar = New(Options{
		Client: k, Owner: func(context.Context) (string, error) { return r.owner, nil }, Leads: func() bool { return r.leads },
		Period: time.Minute, Clock: r.clock, Log: logr.Discard(),
		Registered: func(_ context.Context, bundle []byte) { r.told, r.bundle = string(bundle), r.bundle+r.also },
		Dialect:    api.KindContext, Kinds: func() []interpreter.Known { return r.kinds },
		Configuration: func(kinds []interpreter.Known) *configuration.Configuration {
			if r.bundle == "" {
				return nil
			}
			return configuration.Generate(api.KindContext, "graft", kinds, configuration.Endpoint{URL: "https://graft.example.com/interpret", CABundle: []byte(r.bundle)})
		},
	})
	return r
}

// later looks when the period is over.
func (r *replica) later() {
	r.clock.SetTime(r.clock.Now().Add(2 * time.Minute))
	r.Look(context.Background())
}

// TestRegistrationIsCreatedAndKept creates a registration, keeps it current, and writes it only after a change.
func TestRegistrationIsCreatedAndKept(t *testing.T) {
	k := newKarmada(t)
	r, other := newReplica(k, "graft/interpreter"), newReplica(k, "graft/interpreter")
	other.leads = false
	look := func(about string, writes int, told string) {
		t.Helper()
		k.writes = 0
		r.Look(t.Context())
		other.later()
		if k.writes != writes || r.told != told || other.told != told || r.problem+other.problem != "" {
			t.Errorf("%s: %d writes, calls %q and %q, %s%s", about, k.writes, r.told, other.told, r.problem, other.problem)
		}
	}
	r.bundle = ""
	look("there is no certificate", 0, "")
	r.bundle = "one"
	look("it is made", 1, "one")
	look("it is there", 0, "one")
	r.later()
	look("it is looked at again", 0, "one")
	r.bundle = "one two"
	look("another bundle", 1, "one two")
	r.kinds[0].Operations = append(r.kinds[0].Operations, interpreter.Retain)
	look("another operation", 1, "one two")
	rules, _, err := unstructured.NestedSlice(k.there().Object, "webhooks")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"Retain", "InterpretHealth"}, rules[0].(map[string]any)["rules"].([]any)[0].(map[string]any)["operations"]); diff != "" {
		t.Error(diff)
	}
	k.change(func(u *unstructured.Unstructured) {
		u.SetLabels(map[string]string{"theirs": "stays"})
		_ = unstructured.SetNestedSlice(u.Object, nil, "webhooks")
	})
	if r.Look(t.Context()); k.writes != 0 {
		t.Error("the registration was read before the period ended")
	}
	r.later()
	if k.writes != 1 || k.there().GetLabels()["theirs"] != "stays" {
		t.Errorf("want one write that keeps foreign labels, got %d writes, %v", k.writes, k.there().GetLabels())
	}
	if err := k.Resource(resource).Delete(t.Context(), "graft", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	other.later()
	if k.writes != 1 || other.told != "" {
		t.Errorf("want no write of the follower, got the callback %q", other.told)
	}
	r.leads, other.leads = false, true
	other.Look(t.Context())
	if k.writes != 2 || other.told != "one" {
		t.Errorf("after a change of the leader: want two writes, got %d, callback %q", k.writes, other.told)
	}
}

// TestRegistrationOfOtherOwnerIsKept checks that the registration of another owner is never overwritten.
func TestRegistrationOfOtherOwnerIsKept(t *testing.T) {
	k := newKarmada(t)
	first, second := newReplica(k, "a/interpreter"), newReplica(k, "b/interpreter")
	first.Look(t.Context())
	second.Look(t.Context())
	if k.writes != 1 || !strings.Contains(second.problem, "belongs to a/interpreter") {
		t.Errorf("%d writes, %s", k.writes, second.problem)
	}
	k.change(func(u *unstructured.Unstructured) { u.SetAnnotations(nil) }) // written by hand, as it is printed
	second.later()
	if k.writes != 1 || second.problem != "" {
		t.Errorf("want the registration adopted with one write, got %d writes, %s", k.writes, second.problem)
	}
	k.change(func(u *unstructured.Unstructured) {
		u.SetAnnotations(nil)
		_ = unstructured.SetNestedSlice(u.Object, []any{map[string]any{"name": "others.example.com"}}, "webhooks")
	})
	second.later()
	if k.writes != 0 || !strings.Contains(second.problem, "was not written by this program") {
		t.Errorf("with another owner: want an error and no write, got %d writes, %s", k.writes, second.problem)
	}
	k.change(func(u *unstructured.Unstructured) { u.Object["webhooks"] = "x" })
	second.later()
	if k.writes != 0 || !strings.Contains(second.problem, "the object does not match its kind") {
		t.Errorf("with another kind: want an error and no write, got %d writes, %s", k.writes, second.problem)
	}
}

// TestRegistrationChangedByServerIsWrittenOnce tests that a registration that the API server changes on write is written once, not repeatedly.
func TestRegistrationChangedByServerIsWrittenOnce(t *testing.T) {
	k, version := newKarmada(t), 0
	k.PrependReactor("update", "*", func(a kubetesting.Action) (bool, runtime.Object, error) {
		version++
		object := a.(kubetesting.UpdateAction).GetObject().(*unstructured.Unstructured)
		object.SetResourceVersion(string(rune('a' + version)))
		_ = unstructured.SetNestedSlice(object.Object, nil, "webhooks")
		k.writes++
		return true, object, k.Tracker().Update(resource, object, "")
	})
	r := newReplica(k, "a")
	r.Look(t.Context())
	r.bundle, k.writes = "two", 0
	for range 5 {
		r.later()
	}
	if k.writes != 1 || !strings.Contains(r.problem, "changes the registration on write") {
		t.Errorf("%d writes, %s", k.writes, r.problem)
	}
	r.bundle = "three"
	if r.Look(t.Context()); k.writes != 2 {
		t.Errorf("after a change of the profiles: want two writes, got %d", k.writes)
	}
}

// TestFailures checks that a failed write is retried, and a conflict at once.
func TestFailures(t *testing.T) {
	k := newKarmada(t)
	var failure error
	k.PrependReactor("*", "*", func(a kubetesting.Action) (bool, runtime.Object, error) {
		return failure != nil && (a.GetVerb() == "create" || !apierrors.IsAlreadyExists(failure)), nil, failure
	})
	r := newReplica(k, "a")
	failure = errors.New("down")
	if r.Look(t.Context()); r.problem != "reading the registration: down" {
		t.Error(r.problem)
	}
	failure = apierrors.NewAlreadyExists(resource.GroupResource(), "graft")
	if r.later(); r.problem != "" {
		t.Error(r.problem)
	}
	failure = nil
	if r.Look(t.Context()); r.told != "one" {
		t.Error("the failed write is not retried at once")
	}
}

// TestRegistrationIsReadBeforeWrite checks that the registration is written only when the existing one is known: a restarted replica learns the
// registered CAs from it.
func TestRegistrationIsReadBeforeWrite(t *testing.T) {
	k := newKarmada(t)
	r := newReplica(k, "a")
	r.Look(t.Context())
	r = newReplica(k, "a")
	r.bundle, r.also = "two", " one"
	if r.Look(t.Context()); k.writes != 2 || r.told != "two one" {
		t.Errorf("unexpected writes %d or callback %q", k.writes, r.told)
	}
}

// TestFailureIsRetriedWithDelay checks that a failure is retried after a second with a growing delay, and that a permanent one is not.
func TestFailureIsRetriedWithDelay(t *testing.T) {
	k, reads := newKarmada(t), 0
	failure := errors.New("down")
	k.PrependReactor("get", "*", func(kubetesting.Action) (bool, runtime.Object, error) { reads++; return failure != nil, nil, failure })
	r := newReplica(k, "a")
	seconds := func(n int) int {
		reads = 0
		for range n {
			r.Look(t.Context())
			r.clock.SetTime(r.clock.Now().Add(time.Second))
		}
		return reads
	}
	if got := seconds(2); got != 2 {
		t.Errorf("%d looks in 2 seconds", got)
	}
	if got := seconds(300); got < 8 || got > 12 {
		t.Errorf("%d looks in 5 minutes", got)
	}
	failure = nil
	if seconds(60); r.told != "one" || r.problem != "" {
		t.Errorf("want the registration repaired, got %s", r.problem)
	}
	r.owner, r.owned, r.bundle = "b", "", "two"
	if got := seconds(60); got != 1 || !strings.Contains(r.problem, "belongs to a") {
		t.Errorf("want one look at another owner's registration, got %d: %s", got, r.problem)
	}
}

// TestOwnerChanges checks that the replica that wrote the registration continues after the Lease is created again.
func TestOwnerChanges(t *testing.T) {
	k := newKarmada(t)
	r := newReplica(k, "a/interpreter (1)")
	r.Look(t.Context())
	r.owner, r.bundle = "a/interpreter (2)", "two"
	if r.Look(t.Context()); k.writes != 2 || r.problem != "" || k.there().GetAnnotations()[OwnerAnnotation] != r.owner {
		t.Errorf("%d writes, %s, %v", k.writes, r.problem, k.there().GetAnnotations())
	}
}
