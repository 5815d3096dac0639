// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// known are kinds of a group, written as Kind.version=operation,operation.
func known(texts ...string) []interpreter.Known {
	all := make([]interpreter.Known, len(texts))
	for i, text := range texts {
		name, operations, _ := strings.Cut(text, "=")
		kind, version, _ := strings.Cut(name, ".")
		all[i].Kind = interpreter.Kind{Group: "acme.com", Version: version, Kind: kind}
		for _, o := range strings.Split(operations, ",") {
			all[i].Operations = append(all[i].Operations, interpreter.Operation(o))
		}
	}
	return all
}

func TestCommonOperationsOfReplicas(t *testing.T) {
	for _, c := range []struct{ kinds, others, want []interpreter.Known }{
		{known("Queue.v1=health,status"), known("Queue.v1=status,retain"), known("Queue.v1=status")},
		{known("Queue.v1=health"), known("Queue.*=health"), known("Queue.v1=health")},
		{known("Queue.*=health"), known("Queue.v1=health"), nil},
		{known("Queue.v1=health"), known("Queue.*=health", "Queue.v1=status"), nil},
		{known("Queue.v1=health", "Topic.v1=health"), known("Topic.v1=health"), known("Topic.v1=health")},
		{known("Queue.v1=health"), nil, nil},
	} {
		t.Run(fmt.Sprint(c.kinds, c.others), func(t *testing.T) {
			common := interpreter.Filter(c.kinds, func(k interpreter.Kind, o interpreter.Operation) bool { return interpreter.Answers(c.others, k, o) })
			if diff := cmp.Diff(c.want, common); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReplicas simulates three replicas: an operation that one of them lacks is not registered until it ends or its
// announcement expires.
func TestReplicas(t *testing.T) {
	leases := fake.NewClientset().CoordinationV1().Leases("graft")
	clock := clocktesting.NewFakePassiveClock(time.Now())
	replica := func(id string, kinds ...string) *Replicas {
		answered := known(kinds...)
		return &Replicas{
			Leases: leases, Name: "replicas", ID: id, Clock: clock, Log: logr.Discard(),
			Kinds: func() []interpreter.Known { return answered }, Leads: func() bool { return true },
		}
	}
	update := func(all ...*Replicas) {
		t.Helper()
		clock.SetTime(clock.Now().Add(2 * time.Second))
		for _, r := range all {
			if err := r.Update(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	holds := func(r *Replicas, about string, want ...string) {
		t.Helper()
		kinds, ok := r.Common(r.Kinds())
		if diff := cmp.Diff(known(want...), kinds); diff != "" || !ok {
			t.Errorf("%s (-want +got):\n%s", about, diff)
		}
	}
	one, two, three := replica("1", "Queue.v1=health,status"), replica("2", "Queue.v1=health,status"), replica("3", "Queue.v1=health")
	if _, ok := one.Common(one.Kinds()); ok {
		t.Error("Common reports kinds before any replica is known")
	}
	update(one, two)
	update(one, two)
	holds(one, "two replicas", "Queue.v1=health,status")
	update(three)
	update(one)
	holds(one, "a replica that answers less", "Queue.v1=health")
	two.Kinds = func() []interpreter.Known { return known("Topic.v1=health", "Queue.v1=health") }
	update(two)
	update(one, two)
	holds(two, "of the other two, none answers Topic", "Queue.v1=health")
	for range 20 { // the other two do not repeat their announcements
		update(one)
	}
	holds(one, "the other two have ended", "Queue.v1=health,status")
	lease, err := leases.Get(t.Context(), "replicas", metav1.GetOptions{})
	if err != nil || len(lease.Annotations) != 1 {
		t.Errorf("the announcements are %v: %v", lease.Annotations, err)
	}
}
