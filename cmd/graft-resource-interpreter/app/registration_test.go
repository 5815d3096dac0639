// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"slices"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// TestOwner holds that two installations have two names, though all that is configured is the same.
func TestOwner(t *testing.T) {
	names := map[string]bool{}
	for _, uid := range []types.UID{"one", "two", "one"} {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "graft", Name: "interpreter", UID: uid}}
		name, err := ownerOf(fake.NewClientset(lease).CoordinationV1().Leases("graft"), "graft", "interpreter")(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names[name] = true
	}
	if len(names) != 2 || !names["graft/interpreter (one)"] {
		t.Errorf("they are named %v", names)
	}
	if name, err := ownerOf(fake.NewClientset().CoordinationV1().Leases("graft"), "graft", "interpreter")(t.Context()); err == nil {
		t.Errorf("there is no Lease, and it is named %s", name)
	}
}

// TestOwnerAlone holds how an installation is named that has no Lease, or is named by hand.
func TestOwnerAlone(t *testing.T) {
	yes, no := true, false
	service := &v1alpha1.RegisteredService{Namespace: "a", Name: "b"}
	for want, test := range map[string]struct {
		registration v1alpha1.Registration
		election     *bool
	}{
		"https://a.example.com": {v1alpha1.Registration{URL: "https://a.example.com"}, &no},
		"a/b":                   {v1alpha1.Registration{Service: service}, &no},
		"east":                  {v1alpha1.Registration{URL: "https://a.example.com", Owner: "east"}, &no},
		"west":                  {v1alpha1.Registration{Service: service, Owner: "west"}, &yes},
	} {
		o := &Options{Config: &v1alpha1.ResourceInterpreterConfiguration{Registration: &test.registration}}
		o.Config.LeaderElection.Enabled = test.election
		owner, err := o.owner()
		if err != nil {
			t.Fatal(err)
		}
		if name, err := owner(t.Context()); err != nil || name != want {
			t.Errorf("%s: %s, %v", want, name, err)
		}
	}
}

// TestLeadership holds that nobody leads whose leadership has ended, even where its beginning is told after that.
func TestLeadership(t *testing.T) {
	var l leadership
	if l.is() {
		t.Error("it leads without having begun")
	}
	first, end := context.WithCancel(t.Context())
	if !l.begin(first) || !l.is() {
		t.Error("it does not lead")
	}
	if end(); l.is() {
		t.Error("it leads when that has ended")
	}
	if l.begin(first) || l.is() {
		t.Error("it leads, as it was told late")
	}
	if !l.begin(t.Context()) || l.begin(first) || !l.is() {
		t.Error("what is told late ends what goes on")
	}
	if l = (leadership{alone: true}); !l.is() {
		t.Error("there is no election, and it does not lead")
	}
}

// TestRegisteredWithout holds that operations which are left out are not registered, and which ones can be: all but the one that Karmada never registers.
func TestRegisteredWithout(t *testing.T) {
	kinds := []interpreter.Known{
		{Kind: interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}, Operations: []interpreter.Operation{interpreter.Components, interpreter.Health}},
		{Kind: interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Stack"}, Operations: []interpreter.Operation{interpreter.Components}},
	}
	o := &Options{Config: &v1alpha1.ResourceInterpreterConfiguration{Registration: &v1alpha1.Registration{
		URL: "https://a.example.com", Without: []string{"components"},
	}}}
	rules := o.registered(kinds, nil).Webhooks[0].Rules
	if len(rules) != 1 || !slices.Equal(rules[0].Operations, []string{"InterpretHealth"}) || !slices.Equal(rules[0].Kinds, []string{"Queue"}) {
		t.Errorf("registered: %+v", rules)
	}
	for _, one := range interpreter.Operations() {
		if slices.Contains(v1alpha1.RegisteredOperations(), string(one)) == (one == interpreter.Prune) {
			t.Errorf("whether %s can be registered", one)
		}
	}
}
