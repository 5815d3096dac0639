// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"testing"
	"time"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
)

// TestDrain holds that the program is not ready from the moment at which it is to end, that it answers until the delay is over where it
// listens on TCP, and that sockets have no delay: one of an hour would never be over.
func TestDrain(t *testing.T) {
	for address, delay := range map[string]time.Duration{"tcp://127.0.0.1:1": 30 * time.Millisecond, "unix:///x": time.Hour} {
		p := &program{Options: &Options{Config: &configv1alpha1.NetworkProviderConfiguration{
			Listeners: []configv1alpha1.NetworkListener{{Address: address}},
			Shutdown:  configv1alpha1.Shutdown{Delay: configv1alpha1.Duration{Duration: delay}},
		}}}
		if p.draining.Load() {
			t.Errorf("%s: it ends from the beginning", address)
		}
		told, tell := context.WithCancel(t.Context())
		serving, end := context.WithCancelCause(t.Context())
		tell()
		began := time.Now()
		p.drain(told, func(cause error) {
			if !p.draining.Load() {
				t.Errorf("%s: it is ready while it ends", address)
			}
			end(cause)
		})
		if serving.Err() == nil || delay < time.Hour && time.Since(began) < delay {
			t.Errorf("%s: it ended after %s: %v", address, time.Since(began), serving.Err())
		}
	}
}
