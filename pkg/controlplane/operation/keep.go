// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// old is the object as it stands in the cluster.
func old(o *target.Object) *target.Object {
	return &target.Object{Target: o.Target, Form: o.Form, Document: o.Old}
}

// keepFlag makes a flag what it is in the old object. Where that does not have the container, there is nothing to keep.
func keepFlag(container, name string) func(*target.Object) error {
	return func(o *target.Object) error {
		now, err := o.CommandLine(container)
		if err != nil {
			return err
		}
		then, err := old(o).CommandLine(container)
		if errors.Is(err, target.ErrContainerMissing) || errors.Is(err, target.ErrNodePartMissing) {
			return nil
		}
		if err != nil {
			return err
		}
		values := then.Values(name)
		switch {
		case !then.Has(name):
			err = now.Remove(name)
		case slices.Equal(values, now.Values(name)) && then.Bare(name) == now.Bare(name):
		case then.Bare(name):
			err = now.SetBare(name)
		default:
			err = now.Set(name, values...)
		}
		return nested(err, "--%s of container %q", name, container)
	}
}

// keepEnv makes an environment variable what it is in the old object, with the same exception.
func keepEnv(container, name string) func(*target.Object) error {
	path := fieldPath{{Key: "env"}, {Key: name, By: "name", Quoted: true}}
	return func(o *target.Object) error {
		now, err := o.Container(container)
		if err != nil {
			return err
		}
		then, err := old(o).Container(container)
		if err != nil {
			return nil //nolint:nilerr // the old object does not have the container
		}
		return path.keepBelow(now, then)
	}
}
