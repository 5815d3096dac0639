// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// readFacts reads the facts of a namespace. In an upgrade of Kubernetes, a Cluster in a cache can be older than the object, as
// the object's image says; then it is read afresh, once, before anything is decided by the version. An object that is older
// than the Cluster is none: the components of a control plane are upgraded one after the other.
func readFacts(ctx context.Context, namespace string, o *target.Object, source facts.Source) (*facts.Facts, error) {
	found, err := source.Read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if refresher, ok := source.(facts.Refresher); ok && newer(o.ImageVersion(), found.Kubernetes()) {
		return refresher.Refresh(ctx, namespace)
	}
	return found, nil
}

// newer says whether one version of Kubernetes is newer than another. What follows major, minor and patch is the business of
// those who build images, and what is no version is not newer than any.
func newer(version, than string) bool {
	if version == than {
		return false
	}
	a, errA := semver.NewVersion(version)
	b, errB := semver.NewVersion(than)
	if errA != nil || errB != nil {
		return false
	}
	core := func(v *semver.Version) *semver.Version { return semver.New(v.Major(), v.Minor(), v.Patch(), "", "") }
	return core(a).GreaterThan(core(b))
}
