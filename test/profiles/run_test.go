// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// run takes the objects of a case through a profile.
type run struct {
	t        *testing.T
	program  *mutation.Program
	provider string
	facts    facts.Source
	// sets are the sets with rules in the profile.
	sets []target.Set
	// outcomes are the outcomes of the rules, by position.
	outcomes map[string]mutation.Outcome
	denied   bool
}

// all admits the objects to all sets and writes the patches, one operation a line.
func (r *run) all(subjects []subject, known *texts) string {
	var out strings.Builder
	for _, set := range r.sets {
		for _, s := range subjects {
			patch, denied := r.admit(set, s, s.object, s.old)
			if denied != nil {
				r.denied = true
				fmt.Fprintf(&out, "%s %s %s is denied\n  %s: %s\n", set, s.kind, s.name, denied.Reason, denied.Error())
				continue
			}
			if patch == nil {
				continue
			}
			mutated := golden.Apply(r.t, s.object, patch)
			checkKubeletConfiguration(r.t, s, mutated)
			sum := sha256.Sum256(mutated)
			fmt.Fprintf(&out, "%s %s %s = %x\n", set, s.kind, s.name, sum[:8])
			out.WriteString(known.shorten(s, patchText(r.t, s.object, patch)))
			r.again(set, s, patch, mutated)
		}
	}
	return out.String()
}

// again checks that a second admission changes nothing, and that an object that gardenlet resets by a merge patch is
// mutated as before.
func (r *run) again(set target.Set, s subject, patch, mutated []byte) {
	for what, old := range map[string][]byte{"reinvoked": s.old, "updated": mutated} {
		if again, _ := r.admit(set, s, mutated, old); again != nil {
			r.t.Errorf("%s %s: the second admission (%s) changes it again: %s", s.kind, s.name, what, again)
		}
	}
	if s.old != nil {
		return
	}
	if reset, _ := r.admit(set, s, s.object, mutated); !bytes.Equal(reset, patch) {
		r.t.Errorf("%s %s: after a reset the patch differs (-first +second):\n%s", s.kind, s.name,
			cmp.Diff(string(patch), string(reset)))
	}
}

func (r *run) admit(set target.Set, s subject, object, old []byte) ([]byte, *mutation.Failure) {
	r.t.Helper()
	operation := "CREATE"
	if old != nil {
		operation = "UPDATE"
	}
	result, err := r.program.Admit(r.t.Context(), mutation.Request{
		Set: set, Provider: r.provider, Operation: operation, Namespace: s.namespace, Name: s.name,
		Group: s.group, Version: s.version, Kind: s.kind, Object: object, OldObject: old,
	}, r.facts)
	if err != nil {
		var failure *mutation.Failure
		if !errors.As(err, &failure) {
			r.t.Fatalf("%s %s: the error is no failure: %v", s.kind, s.name, err)
		}
		return nil, failure
	}
	for _, applied := range result.Applied {
		at := applied.Position.String()
		r.outcomes[at] = better(r.outcomes[at], applied.Outcome)
	}
	return result.Patch, nil
}

// better returns the outcome that shows more of a rule's effect.
func better(a, b mutation.Outcome) mutation.Outcome {
	for _, outcome := range []mutation.Outcome{mutation.Changed, mutation.Unchanged, mutation.Overridden} {
		if a == outcome || b == outcome {
			return outcome
		}
	}
	return mutation.Skipped
}
