// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package cloudtest is the test suite for all clouds. Clouds may fail now and then: the suite repeats a failed call, as
// the service does, and checks the final state. Programs must not import it. Start reading at Run, for clouds that bind
// given addresses, and at RunChoosing, for clouds that choose them.
package cloudtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// Many is the number of concurrent owners, and the minimum number of addresses of a cloud that chooses addresses.
const Many = 50

// Run runs the suite with allocations that have addresses; open returns an empty cloud for each test.
func Run(t *testing.T, open func(t *testing.T) cloud.Cloud) {
	t.Helper()
	run(t, false, open)
}

// RunChoosing runs the suite with allocations whose addresses the cloud chooses. The cloud must have at least Many
// addresses.
func RunChoosing(t *testing.T, open func(t *testing.T) cloud.Cloud) {
	t.Helper()
	run(t, true, open)
}

func run(t *testing.T, chooses bool, open func(t *testing.T) cloud.Cloud) {
	t.Helper()
	for name, test := range map[string]func(*suite){
		"bind again": (*suite).bindAgain, "unbind again": (*suite).unbindAgain,
		"unbind an unknown allocation":  (*suite).unbindUnknown,
		"unbind after a lost answer":    (*suite).unbindBlind,
		"owners get different bindings": (*suite).ownersApart, "owner returns after a release": (*suite).comeAgain,
		"late release":      (*suite).lateRelease,
		"context has ended": (*suite).endedContext, "many owners": (*suite).manyOwners,
	} {
		t.Run(name, func(t *testing.T) { test(&suite{T: t, Cloud: open(t), chooses: chooses}) })
	}
}

// suite is one test with its cloud.
type suite struct {
	*testing.T
	cloud.Cloud
	chooses bool
}

// allocation returns the intent of an owner as the ledger has it before the cloud is called.
func (s *suite) allocation(number int) network.Allocation {
	a := network.Allocation{
		Owner: network.Owner{Contract: "cloudtest",
			Key: fmt.Sprintf("claim-%d/pci-0000-27-00-%d", number, number%8)}, Pool: "pool", State: network.Intended,
		Since: time.Unix(1_000_000_000+int64(number), 0).UTC(),
		MAC:   network.HardwareAddr{2, 0, 0, 0, 0, byte(number)},
		Holder: network.Holder{
			Kind: "ResourceClaim", Namespace: "default", Name: fmt.Sprintf("claim-%d", number), UID: fmt.Sprintf("uid-%d",
				number), Node: "worker-1",
		},
	}
	if !s.chooses {
		a.Addresses = []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(10 + number)})}
	}
	return a
}

// patience is the maximum number of consecutive failures of a cloud.
const patience = 40

// insist repeats a call until it succeeds, as the service does.
func (s *suite) insist(what string, do func() error) {
	s.Helper()
	var err error
	for range patience {
		if err = do(); err == nil {
			return
		}
		if errors.Is(err, network.ErrRefused) {
			break
		}
	}
	s.Errorf("%s: %v", what, err)
}

// bind binds an allocation, and returns it as the ledger then stores it.
func (s *suite) bind(a network.Allocation) network.Allocation {
	s.Helper()
	s.insist("binding for "+a.Owner.Key, func() (err error) {
		a.Binding, err = s.Bind(s.Context(), a)
		return err
	})
	a.State = network.Bound
	if s.chooses && len(a.Binding.Addresses) == 0 {
		s.Errorf("the cloud has chosen no address for %s", a.Owner.Key)
	}
	for _, chosen := range a.Binding.Addresses {
		if s.chooses {
			a.Addresses = append(a.Addresses, chosen.Addr())
		}
	}
	if len(a.Binding.Reference) > 0 && !json.Valid(a.Binding.Reference) {
		s.Errorf("the reference is no JSON: %q", a.Binding.Reference)
	}
	return a
}

func (s *suite) unbind(a network.Allocation) {
	s.Helper()
	a.State = network.Releasing
	s.insist("releasing for "+a.Owner.Key, func() error { return s.Unbind(s.Context(), a) })
}

// stands checks that the cloud still has a binding: another bind returns the same one, and another owner gets other
// resources.
func (s *suite) stands(what string, bound network.Allocation) {
	s.Helper()
	again := bound
	again.State, again.Binding = network.Intended, network.Binding{}
	if s.chooses {
		again.Addresses = nil
	}
	s.same(what, bound.Binding, s.bind(again).Binding)
	other := s.bind(s.allocation(Many))
	s.apart(bound, other)
	s.unbind(other)
}

// gone checks that another owner can get the resources of a released allocation. Each cloud checks at the end of a test
// that no binding is left.
func (s *suite) gone(a network.Allocation) {
	s.Helper()
	a.Owner.Key += "-next"
	a.State, a.Binding = network.Intended, network.Binding{}
	if s.chooses {
		a.Addresses = nil
	}
	s.unbind(s.bind(a))
}

// asText compares bindings in the ledger's form.
var asText = cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()}

func (s *suite) same(what string, want, got network.Binding) {
	s.Helper()
	if diff := cmp.Diff(want, got, asText); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// apart checks that no two bindings share an address, a MAC address or a reference.
func (s *suite) apart(all ...network.Allocation) {
	s.Helper()
	seen := map[string]string{}
	for _, a := range all {
		marks := []string{"reference " + string(a.Binding.Reference), "MAC " + a.Binding.MAC.String()}
		for _, address := range a.Binding.Addresses {
			marks = append(marks, "address "+address.Addr().String())
		}
		for _, mark := range marks {
			if mark == "reference " || mark == "MAC " {
				continue
			}
			if other := seen[mark]; other != "" {
				s.Errorf("%s and %s have the same %s", other, a.Owner.Key, mark)
			}
			seen[mark] = a.Owner.Key
		}
	}
}

// together calls a function for many owners concurrently.
func together(many int, do func(number int)) {
	var group sync.WaitGroup
	for number := range many {
		group.Go(func() { do(number) })
	}
	group.Wait()
}

// ended returns a context that has ended.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
