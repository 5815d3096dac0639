// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// LeaseOwner returns a function that names an installation by its Lease. Other clusters have Leases of the same name, but none with its UID.
func LeaseOwner(leases coordinationv1.LeaseInterface, namespace, name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		lease, err := leases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("reading the Lease: %w", err)
		}
		return fmt.Sprintf("%s/%s (%s)", namespace, name, lease.UID), nil
	}
}
