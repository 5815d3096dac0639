// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
)

// TestDelay checks that sockets have no delay: their callers do not balance among servers.
func TestDelay(t *testing.T) {
	for address, want := range map[string]time.Duration{"tcp://127.0.0.1:1": time.Second, "unix:///x": 0} {
		i := &Installation{Config: &configv1alpha1.NetworkProviderConfiguration{
			Listeners: []configv1alpha1.NetworkListener{{Address: address}},
			Shutdown:  configv1alpha1.Shutdown{Delay: configv1alpha1.Duration{Duration: time.Second}},
		}}
		if got := i.Delay(); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}
