// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Own takes the network namespace for this process until Close, or its end: two that keep different books would take each other's links for stale. The
// error wraps network.ErrTaken when another process has it. It is a lock on the namespace itself (flock(2) on nsfs), which holds across containers.
func (k *Kernel) Own() error {
	switch err := unix.Flock(int(k.place.handle), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return fmt.Errorf("%w: another process makes Docker's links in this network namespace", network.ErrTaken)
	case err != nil:
		return fmt.Errorf("locking the network namespace: %w", err)
	}
	return nil
}
