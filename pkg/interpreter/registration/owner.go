// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/util/retry"
)

// suspendedAnnotation marks the Lease of an installation that was unregistered. Replicas that still run do not
// restore the registration.
const suspendedAnnotation = "interpreter.graft.provider.extensions.gardener.cloud/unregistered"

// errSuspended is the error of a replica that must not restore a deleted registration.
var errSuspended = lasting{errors.New("the registration was deleted with --unregister; restart a replica to register again")}

// LeaseOwner returns a function that names an installation by its Lease and the Lease's UID, which
// distinguishes it from Leases of the same name in other clusters.
func LeaseOwner(leases coordinationv1.LeaseInterface, namespace, name string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		lease, err := leases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("reading the Lease: %w", err)
		}
		owner := fmt.Sprintf("%s/%s (%s)", namespace, name, lease.UID)
		if lease.Annotations[suspendedAnnotation] != "" {
			return owner, errSuspended
		}
		return owner, nil
	}
}

// Suspend sets or removes the mark that keeps replicas from writing the registration. Without a Lease it does
// nothing.
func Suspend(ctx context.Context, leases coordinationv1.LeaseInterface, name string, suspended bool) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		lease, err := leases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if (lease.Annotations[suspendedAnnotation] != "") == suspended {
			return nil
		}
		delete(lease.Annotations, suspendedAnnotation)
		if suspended {
			metav1.SetMetaDataAnnotation(&lease.ObjectMeta, suspendedAnnotation, "true")
		}
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing the Lease: %w", err)
	}
	return nil
}

// Agreement computes the authorities that the callers of all dialects trust.
type Agreement struct {
	mutex   sync.Mutex
	bundles [][]byte
	known   []bool
	tell    func(ctx context.Context, bundle []byte)
}

// NewAgreement returns an agreement of count registrations, numbered from 0. tell receives each result.
func NewAgreement(count int, tell func(ctx context.Context, bundle []byte)) *Agreement {
	return &Agreement{bundles: make([][]byte, count), known: make([]bool, count), tell: tell}
}

// Tell stores the authorities of a registration. Once all registrations are known, it passes on their
// intersection.
func (a *Agreement) Tell(ctx context.Context, of int, bundle []byte) {
	a.mutex.Lock()
	a.bundles[of], a.known[of] = bundle, true
	common, complete := a.bundles[0], true
	for i, other := range a.bundles {
		complete = complete && a.known[i]
		if i > 0 {
			common = intersect(common, other)
		}
	}
	a.mutex.Unlock()
	if complete {
		a.tell(ctx, common)
	}
}

// intersect returns the certificates that both bundles contain.
func intersect(bundle, other []byte) []byte {
	blocks := map[string]bool{}
	for block, rest := pem.Decode(other); block != nil; block, rest = pem.Decode(rest) {
		blocks[string(block.Bytes)] = true
	}
	var both bytes.Buffer
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if blocks[string(block.Bytes)] {
			_ = pem.Encode(&both, block)
		}
	}
	return both.Bytes()
}
