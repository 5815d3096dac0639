// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"fmt"
	"maps"

	"github.com/anishathalye/porcupine"
)

// kind is the kind of a client's request.
type kind string

const (
	// allocate is DRANET's request: an owner gets its address, or a free one.
	allocate kind = "allocate"
	// take is Spiderpool's request: an owner gets an address that it names, also from another owner.
	take kind = "take"
	// release frees the address of an owner.
	release kind = "release"
	// read returns the owner of an address.
	read kind = "read"
)

// request is one operation of a client. A request without an answer is repeated, and all attempts are one operation.
// Attempts to take an address are separate operations, since another owner may take it in between.
type request struct {
	kind           kind
	pool           string
	owner, address string
	// lost marks an attempt that was not answered, and may have had an effect or none.
	lost bool
}

// nothing is the answer of an allocation from an exhausted pool, and of a read of an address without an owner. Both are
// permitted at any time: an address in quarantine, or between two owners, is neither free nor held.
const nothing = ""

// held maps each address of a pool to its owner.
type held map[string]string

func (h held) addressOf(owner string) string {
	for address, by := range h {
		if by == owner {
			return address
		}
	}
	return nothing
}

// with returns a copy in which an owner has exactly one address.
func (h held) with(owner, address string) held {
	next := maps.Clone(h)
	maps.DeleteFunc(next, func(_, by string) bool { return by == owner })
	if address != nothing {
		next[address] = owner
	}
	return next
}

// step reports whether an answer is possible in a state, and returns the state after it.
func step(state held, r request, answer string) (bool, held) {
	switch has := state.addressOf(r.owner); {
	case r.kind == release:
		return true, state.with(r.owner, nothing)
	case answer == nothing:
		return r.kind == read || has == nothing, state
	case r.kind == read:
		return state[r.address] == answer, state
	case r.kind == take:
		return answer == r.address, state.with(r.owner, r.address)
	case has != nothing:
		return answer == has, state
	default:
		return state[answer] == nothing, state.with(r.owner, answer)
	}
}

// model is one pool for Porcupine. Pools do not depend on each other.
func model() porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			pools := map[string][]porcupine.Operation{}
			for _, operation := range history {
				r, _ := operation.Input.(request)
				pools[r.pool] = append(pools[r.pool], operation)
			}
			var parts [][]porcupine.Operation
			for _, part := range pools {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() []any { return []any{held{}} },
		Step: func(state, input, output any) (after []any) {
			before, _ := state.(held)
			r, _ := input.(request)
			answer, _ := output.(string)
			if possible, next := step(before, r, answer); possible {
				after = append(after, next)
			}
			if r.lost {
				after = append(after, before)
			}
			return after
		},
		Equal: func(a, b any) bool {
			one, _ := a.(held)
			other, _ := b.(held)
			return maps.Equal(one, other)
		},
		DescribeOperation: func(input, output any) string {
			r, _ := input.(request)
			return fmt.Sprintf("%s %s %s → %v", r.kind, r.owner, r.address, output)
		},
	}
	return nondeterministic.ToModel()
}
