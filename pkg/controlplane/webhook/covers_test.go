// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// TestRegistrationCoversNewProfiles registers the webhooks for openstack, then puts rules for seeds on acme active too.
func TestRegistrationCoversNewProfiles(t *testing.T) {
	b, ctx := newBench(t), context.Background()
	onOpenstack := map[string]string{"shoot.gardener.cloud/provider": "openstack", "seed.gardener.cloud/provider": "acme"}
	expect := func(t *testing.T, labels map[string]string, served bool, problem string) {
		t.Helper()
		got, err := b.Covers(ctx, labels)
		if got != served || (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%v: %v, %v; want %v, %q", labels, got, err, served, problem)
		}
	}
	expect(t, onOpenstack, true, "reading the registration")
	// No profile is for it, so that nothing is missing.
	expect(t, map[string]string{"shoot.gardener.cloud/provider": "acme"}, false, "")
	expect(t, nil, false, "")

	b.reconcile(t)
	expect(t, onOpenstack, true, "")

	b.registrations = append(b.registrations, mutation.Registration{Set: target.Exposure, Provider: "acme", Forms: forms(t, "etcd-main")})
	expect(t, onOpenstack, true, "require: controlplaneexposure.acme.graft.extensions.gardener.cloud")
	expect(t, map[string]string{"shoot.gardener.cloud/provider": "openstack", "seed.gardener.cloud/provider": "aws"}, true, "")
	b.reconcile(t)
	expect(t, onOpenstack, true, "")

	// Other rules are another webhook; other CAs are not.
	b.registrations[0].Forms = forms(t, "kube-apiserver", "kube-scheduler")
	expect(t, onOpenstack, true, "require: "+openstackName)
	b.reconcile(t)
	b.issue("NEW")
	expect(t, onOpenstack, true, "")
}
