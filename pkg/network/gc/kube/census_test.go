// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/gc"
)

// TestKindsThatAreNotCounted checks which kinds are never counted.
func TestKindsThatAreNotCounted(t *testing.T) {
	c, err := New(Options{Config: &rest.Config{Host: "127.0.0.1:1"}, Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Container", ""} {
		if _, err := c.Count(t.Context(), kind); !errors.Is(err, gc.ErrUncounted) {
			t.Errorf("%q: got error %v, want %v", kind, err, gc.ErrUncounted)
		}
	}
	if lives, err := c.Lives(t.Context(), network.Holder{Kind: "Pod", UID: "1"}); lives || err != nil {
		t.Errorf("a holder without a name: lives is %v, error %v", lives, err)
	}
}
