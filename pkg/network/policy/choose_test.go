// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// TestChoose checks the error for an unknown profile.
func TestChoose(t *testing.T) {
	p := load(t)
	known := p.ProfileNames()
	if got, err := p.Choose(known[0]); err != nil || got != p.Profile(known[0]) {
		t.Errorf("chosen: %v, %v", got, err)
	}
	_, err := p.Choose(known[0] + "s")
	if err == nil || !strings.Contains(err.Error(), "did you mean") || !strings.Contains(err.Error(), "; there are "+known[0]) {
		t.Errorf("want a suggestion for an unknown profile, got %v", err)
	}
}

// TestPermit checks that a denial by a rule is recognized as such.
func TestPermit(t *testing.T) {
	p := load(t)
	denied := policy.Subject{Pod: &policy.Pod{Namespace: "kube-system"}}
	if err := p.Permit(t.Context(), denied); !errors.Is(err, policy.ErrDenied) || err.Error() != "denied: the rule no-pods applies" {
		t.Errorf("want ErrDenied with the rule's message, got %v", err)
	}
	if err := p.Permit(t.Context(), policy.Subject{}); err != nil {
		t.Errorf("want no denial, got %v", err)
	}
}
