// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// Cloud is a cloud with the gate before it; nil: there is none.
type Cloud struct {
	Cloud cloud.Cloud
	Gate  *Gate
}

// behind is the cloud of one allocation; nil where none is asked.
type behind struct {
	name  string
	cloud cloud.Cloud
	gate  *Gate
}

// state is what the service gives out of and asks.
type state struct {
	pools map[string]Pool
	// clouds are by the names that rows have: all that were known since the service began.
	clouds map[string]Cloud
}

// Configure puts pools in the place of those that there were; see ledger.Ledger.Configure, which comes first. What was begun is finished with
// the pools that are there then. Of a pool that is gone nothing is given any more, but its cloud is still told of releases. The clouds are those
// that are known beside the ones behind the pools. What an allocation says to be bound by goes to that cloud, whatever is behind its pool by now;
// so a cloud stays known as long as the service is there, and when it is given anew, under its name, the new one holds.
func (s *Service) Configure(pools map[string]Pool, clouds map[string]Cloud) {
	next := state{pools: map[string]Pool{}, clouds: map[string]Cloud{}}
	before := s.in.Load()
	if before == nil {
		before = &state{}
	}
	for name, pool := range before.pools {
		pool.retired = true
		next.pools[name] = pool
	}
	maps.Copy(next.clouds, before.clouds)
	maps.Copy(next.clouds, clouds)
	for name, pool := range pools {
		if next.pools[name] = pool; pool.Cloud != nil && pool.CloudName != "" {
			next.clouds[pool.CloudName] = Cloud{pool.Cloud, pool.Gate}
		}
	}
	s.in.Store(&next)
	for name := range next.clouds {
		if _, known := before.clouds[name]; !known {
			s.unpark(name)
		}
	}
}

// pool is the one that an allocation is of; the error is that of one whose cloud is not known here.
func (s *Service) pool(name string) (Pool, error) {
	pool, ok := s.in.Load().pools[name]
	if !ok {
		return Pool{}, fmt.Errorf("%w: the pool %s is not served here", network.ErrUnavailable, name)
	}
	return pool, nil
}

// serves says whether a pool is known here, also one that is gone.
func (s *Service) serves(name string) bool {
	_, err := s.pool(name)
	return err == nil
}

// asksNobody says that no cloud is known, so that nothing takes longer than a commit.
func (s *Service) asksNobody() bool { return len(s.in.Load().clouds) == 0 }

// errUnknownCloud is in the error of an allocation whose cloud is not known here.
var errUnknownCloud = errors.New("this server has no such cloud")

// behind is the cloud that has bound an allocation or is to bind it: the one of its row, or the pool's where it does not say.
func (s *Service) behind(a network.Allocation) (behind, error) {
	in := s.in.Load()
	pool, err := s.pool(a.Pool)
	if err != nil {
		return behind{}, err
	}
	name := cmp.Or(a.Cloud, pool.CloudName)
	if name == "" {
		return behind{"", pool.Cloud, pool.Gate}, nil
	}
	of, known := in.clouds[name]
	if !known {
		return behind{}, fmt.Errorf("%w: it is of the cloud %s: %w; declare the cloud in a profile again, until all that it has bound is released",
			network.ErrUnavailable, name, errUnknownCloud)
	}
	return behind{name, of.Cloud, of.Gate}, nil
}

// turn gives a place in the queue of the cloud, unless the given one is of it; that of another gate is given back.
func (b behind) turn(p *pass) *pass {
	if p != nil && p.gate == b.gate {
		return p
	}
	p.cancel()
	return b.gate.queue(false)
}

// Loads is what is going on at the gates of all clouds that are known by name.
func (s *Service) Loads() map[string]Load {
	loads := map[string]Load{}
	for name, of := range s.in.Load().clouds {
		if of.Gate != nil {
			loads[name] = of.Gate.Load()
		}
	}
	return loads
}
