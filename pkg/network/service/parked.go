// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// parked are the releases that wait for a cloud which is not known here. They are in no queue, so that nothing waits behind them. At most
// maximumQueued are remembered; all of them are in the ledger.
type parked struct {
	mutex  sync.Mutex
	owners map[network.Owner]parking
	// look is the number of the last look at the whole ledger.
	look int
}

// parking is the name of the cloud that is waited for, and the look by which the release was seen last.
type parking struct {
	cloud string
	look  int
}

// park takes a release in whose cloud is not known, and says whether it is; fresh when it was not there before.
func (s *Service) park(a network.Allocation) (parks, fresh bool, err error) {
	p := &s.parked
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if _, err = s.behind(a); !errors.Is(err, errUnknownCloud) {
		return false, false, nil
	}
	_, there := p.owners[a.Owner]
	if p.owners == nil {
		p.owners = map[network.Owner]parking{}
	}
	if there || len(p.owners) < maximumQueued {
		p.owners[a.Owner] = parking{a.Cloud, p.look}
	}
	return true, !there, err
}

// unpark lets the releases go on that wait for a cloud, also those that only the ledger remembers.
func (s *Service) unpark(cloud string) {
	s.parked.mutex.Lock()
	defer s.parked.mutex.Unlock()
	for owner, at := range s.parked.owners {
		if at.cloud == cloud {
			delete(s.parked.owners, owner)
			s.releases.add(owner)
		}
	}
	s.releases.lookForMore()
}

// count is how many are parked.
func (p *parked) count() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return len(p.owners)
}

// begin begins a look at the whole ledger, and end forgets what was not found in it.
func (p *parked) begin() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.look++
}

func (p *parked) end() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	maps.DeleteFunc(p.owners, func(_ network.Owner, at parking) bool { return at.look < p.look })
}

// unknown counts the releases of a look that wait for clouds which are not known.
type unknown map[string]struct {
	count int
	err   error
}

func (u unknown) add(cloud string, err error) {
	of := u[cloud]
	of.count++
	of.err = err
	u[cloud] = of
}

// report tells of each cloud once.
func (u unknown) report(to func(network.Owner, error)) {
	for _, cloud := range slices.Sorted(maps.Keys(u)) {
		to(network.Owner{}, fmt.Errorf("releases that wait: %d: %w", u[cloud].count, u[cloud].err))
	}
}
