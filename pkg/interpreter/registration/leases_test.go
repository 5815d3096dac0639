// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
)

// TestOwner checks that two installations with equal configurations have different owners.
func TestOwner(t *testing.T) {
	names := map[string]bool{}
	for _, uid := range []types.UID{"one", "two", "one"} {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "graft", Name: "interpreter", UID: uid}}
		name, err := registration.LeaseOwner(fake.NewClientset(lease).CoordinationV1().Leases("graft"), "graft", "interpreter")(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names[name] = true
	}
	if len(names) != 2 || !names["graft/interpreter (one)"] {
		t.Errorf("they are named %v", names)
	}
	if name, err := registration.LeaseOwner(fake.NewClientset().CoordinationV1().Leases("graft"), "graft", "interpreter")(t.Context()); err == nil {
		t.Errorf("without a Lease: want no owner, got %s", name)
	}
}
