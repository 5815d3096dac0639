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

// suspendedAnnotation marks the Lease of an installation whose registration was deleted: replicas that still run do not write it again.
const suspendedAnnotation = "interpreter.graft.provider.extensions.gardener.cloud/unregistered"

// errSuspended is the failure of a replica to write a registration that was deleted on purpose.
var errSuspended = lasting{errors.New("the registration was deleted with --unregister: it is written again when a replica starts")}

// LeaseOwner returns a function that names an installation by its Lease. Other clusters have Leases of the same name, but none with its UID.
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

// Suspend keeps all replicas of an installation from writing the registration, or ends that. Without a Lease there is nothing to suspend.
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

// Agreement finds the authorities that callers of all dialects know.
type Agreement struct {
	mutex   sync.Mutex
	bundles [][]byte
	known   []bool
	tell    func(ctx context.Context, bundle []byte)
}

// NewAgreement returns the agreement of a number of registrations, which are told from 0 on.
func NewAgreement(count int, tell func(ctx context.Context, bundle []byte)) *Agreement {
	return &Agreement{bundles: make([][]byte, count), known: make([]bool, count), tell: tell}
}

// Tell notes the authorities of a registration, and tells those that all registrations have once all are known.
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

// intersect returns those of the certificates of a bundle that another one has, too.
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
