// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"testing"
)

// TestReplicaDoesNotLeadAfterItsTerm checks that a replica does not lead after its term, even if the start is reported late.
func TestReplicaDoesNotLeadAfterItsTerm(t *testing.T) {
	var l Term
	if l.Leads() {
		t.Error("it leads without having begun")
	}
	first, end := context.WithCancel(t.Context())
	if !l.begin(first) || !l.Leads() {
		t.Error("it does not lead")
	}
	if end(); l.Leads() {
		t.Error("it leads when that has ended")
	}
	if l.begin(first) || l.Leads() {
		t.Error("it leads, as it was told late")
	}
	if !l.begin(t.Context()) || l.begin(first) || !l.Leads() {
		t.Error("what is told late ends what goes on")
	}
	if alone := (&Term{Alone: true}); !alone.Leads() {
		t.Error("there is no election, and it does not lead")
	}
}
