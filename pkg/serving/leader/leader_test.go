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
		t.Error("Leads() = true before a term began")
	}
	first, end := context.WithCancel(t.Context())
	if !l.begin(first) || !l.Leads() {
		t.Error("Leads() = false during a term")
	}
	if end(); l.Leads() {
		t.Error("Leads() = true after the term ended")
	}
	if l.begin(first) || l.Leads() {
		t.Error("a term that had ended before it began made the replica lead")
	}
	if !l.begin(t.Context()) || l.begin(first) || !l.Leads() {
		t.Error("a late term ended the current one")
	}
	if alone := (&Term{Alone: true}); !alone.Leads() {
		t.Error("Leads() = false without an election, want true")
	}
}
