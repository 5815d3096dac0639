// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cloudtest

import (
	"errors"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// bindAgain checks that a repeated bind returns the same binding and creates no second one.
func (s *suite) bindAgain() {
	a := s.allocation(1)
	first := s.bind(a)
	s.same("bound again", first.Binding, s.bind(a).Binding)
	s.same("bound again when it is known to be bound", first.Binding, s.bound(first))
	s.unbind(first)
	s.gone(a)
}

// bound binds an allocation that is bound in the ledger.
func (s *suite) bound(a network.Allocation) (binding network.Binding) {
	s.Helper()
	s.insist("binding again for "+a.Owner.Key, func() (err error) {
		binding, err = s.Bind(s.Context(), a)
		return err
	})
	return binding
}

func (s *suite) unbindAgain() {
	a := s.bind(s.allocation(1))
	s.unbind(a)
	s.unbind(a)
	s.gone(s.allocation(1))
}

func (s *suite) unbindUnknown() {
	s.unbind(s.allocation(1))
	s.gone(s.allocation(1))
}

// unbindBlind releases an allocation whose server crashed before it recorded the binding.
func (s *suite) unbindBlind() {
	a := s.allocation(1)
	s.bind(a)
	s.unbind(a)
	s.gone(a)
}

// ownersApart checks that a release for one owner takes nothing from another.
func (s *suite) ownersApart() {
	first, second := s.bind(s.allocation(1)), s.bind(s.allocation(2))
	s.apart(first, second)
	s.unbind(first)
	s.stands("the other owner", second)
	s.unbind(second)
}

// comeAgain checks that an owner can bind again after its release.
func (s *suite) comeAgain() {
	s.unbind(s.bind(s.allocation(1)))
	again := s.allocation(1)
	again.Since = again.Since.Add(1)
	s.unbind(s.bind(again))
	s.gone(again)
}

// lateRelease checks that a repeated release does not unbind a released address that another owner has bound.
func (s *suite) lateRelease() {
	late := s.bind(s.allocation(1))
	s.unbind(late)
	next := s.allocation(2)
	if !s.chooses {
		next.Addresses = late.Addresses
	}
	next = s.bind(next)
	s.unbind(late)
	s.stands("after a late release", next)
	s.unbind(next)
}

// endedContext checks that calls with an ended context return, and that later calls succeed.
func (s *suite) endedContext() {
	a, ctx := s.allocation(1), ended(s.T)
	if _, err := s.Bind(ctx, a); err == nil || errors.Is(err, network.ErrRefused) {
		s.Errorf("binding with a context that has ended: %v", err)
	}
	if err := s.Unbind(ctx, s.bind(a)); err == nil {
		s.Error("releasing with a context that has ended is no error")
	}
	s.unbind(s.bind(a))
	s.gone(a)
}

// manyOwners binds and releases concurrently, and checks that released addresses can be bound again.
func (s *suite) manyOwners() {
	for range 2 {
		all := make([]network.Allocation, Many)
		together(Many, func(number int) { all[number] = s.bind(s.allocation(number)) })
		s.apart(all...)
		together(Many, func(number int) { s.unbind(all[number]) })
		together(Many, func(number int) { s.gone(s.allocation(number)) })
	}
}
