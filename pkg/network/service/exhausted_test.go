// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// TestExhaustedPoolsAreCounted checks that exactly exhausted pools are counted, by pool and kind.
func TestExhaustedPoolsAreCounted(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.cloud.hook = func(call string, _ network.Allocation) error {
		if call == "bind last" {
			return fmt.Errorf("%w: %w", network.ErrRefused, network.ErrExhausted)
		}
		return nil
	}
	if _, err := w.Allocate(t.Context(), request("cloudy", "last")); !errors.Is(err, network.ErrExhausted) {
		t.Errorf("got error %v from the cloud, want %v", err, network.ErrExhausted)
	}
	var err error
	given := 0
	for err == nil {
		if _, err = w.Allocate(t.Context(), request("plain", fmt.Sprint(given))); err == nil {
			given++
		}
	}
	if !errors.Is(err, network.ErrExhausted) || given == 0 {
		t.Fatalf("got error %v after %d", err, given)
	}
	if _, err := w.Next(t.Context(), "plain", netip.MustParsePrefix("10.0.0.0/24")); !errors.Is(err, network.ErrExhausted) {
		t.Errorf("got error %v, want %v", err, network.ErrExhausted)
	}
	if _, err := w.Allocate(t.Context(), request("plain", "taken", "10.0.0.5")); !errors.Is(err, network.ErrTaken) {
		t.Errorf("got error %v, want %v", err, network.ErrTaken)
	}
	want := map[service.Exhaustion]uint64{{Pool: "plain", Resource: network.OfIPv4}: 2, {Pool: "cloudy", Resource: network.OfCloud}: 1}
	if diff := cmp.Diff(want, w.Exhaustions()); diff != "" {
		t.Error(diff)
	}
}
