// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"slices"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
)

// TestOwnerWithoutLease checks the owner of an installation without a Lease, or with a configured owner.
func TestOwnerWithoutLease(t *testing.T) {
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
		o := &Installation{Config: &v1alpha1.ResourceInterpreterConfiguration{Registration: &test.registration}}
		o.Config.LeaderElection.Enabled = test.election
		owner, err := o.Owner()
		if err != nil {
			t.Fatal(err)
		}
		if name, err := owner(t.Context()); err != nil || name != want {
			t.Errorf("%s: %s, %v", want, name, err)
		}
	}
}

// TestOmittedOperations checks that operations can be left out of the registration, except for the one that Karmada
// never calls.
func TestOmittedOperations(t *testing.T) {
	kinds := []interpreter.Known{
		{Kind: interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Queue"}, Operations: []interpreter.Operation{interpreter.Components, interpreter.Health}},
		{Kind: interpreter.Kind{Group: "acme.com", Version: "v1", Kind: "Stack"}, Operations: []interpreter.Operation{interpreter.Components}},
	}
	o := &Installation{Config: &v1alpha1.ResourceInterpreterConfiguration{Registration: &v1alpha1.Registration{
		URL: "https://a.example.com", Without: []string{"components"},
	}}}
	for dialect, want := range map[string]configuration.Call{
		api.KindContext: {Operation: "InterpretHealth", Group: "acme.com", Version: "v1", Kind: "Queue"},
		api.KindReview:  {Operation: "ExploreHealthy", Group: "acme.com", Version: "v1", Kind: "queues"},
	} {
		if calls := configuration.Generate(dialect, "graft", o.Registrable(kinds), o.endpoint(nil)).Calls(); !slices.Equal(calls, []configuration.Call{want}) {
			t.Errorf("registered: %+v", calls)
		}
	}
	for _, one := range interpreter.Operations() {
		if slices.Contains(v1alpha1.RegisteredOperations(), string(one)) == (one == interpreter.Prune) {
			t.Errorf("whether %s can be registered", one)
		}
	}
}
