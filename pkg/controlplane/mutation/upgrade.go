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
// the object's image says, or not know the worker pool that the object is for; then it is read afresh, once, before anything is
// decided by it. An object that is older than the Cluster is none: a control plane and its nodes are upgraded one after the other.
func readFacts(ctx context.Context, namespace string, o *target.Object, source facts.Source) (*facts.Facts, error) {
	found, err := source.Read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if refresher, ok := source.(facts.Refresher); ok && behind(found, o) {
		return refresher.Refresh(ctx, namespace)
	}
	return found, nil
}

// behind says whether the object is of a newer state of the shoot than the facts. An OperatingSystemConfig has the version of
// its pool, which may be older than that of the control plane.
func behind(f *facts.Facts, o *target.Object) bool {
	pool, ok := o.Document.Original().Find("metadata", "labels").Get(facts.LabelWorkerPool).Text()
	if f.Shoot == nil || o.Form.Kind != "OperatingSystemConfig" || !ok {
		return newer(o.ImageVersion(), f.Kubernetes())
	}
	worker := f.Pool(pool)
	return worker == nil || newer(o.ImageVersion(), worker.Kubernetes)
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
