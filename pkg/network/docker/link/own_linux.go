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

// Own locks the network namespace for this process until Close or its end, because two processes with different
// ledgers would remove each other's links. The error wraps network.ErrTaken if another process has the lock. It
// is an flock(2) on the namespace (nsfs), which works across containers.
func (k *Kernel) Own() error {
	switch err := unix.Flock(int(k.place.handle), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return fmt.Errorf("%w: another process makes Docker's links in this network namespace", network.ErrTaken)
	case err != nil:
		return fmt.Errorf("locking the network namespace: %w", err)
	}
	return nil
}
