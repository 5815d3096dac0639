// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// Recover brings to an end what was begun before the server started: an intent that the cloud has is adopted, one that it does not have is undone,
// and releases go on. What was begun in one request is adopted when the clouds have all of it, and else undone. What cannot be found out stays as it
// is, and is reported. It may run while the service allocates.
func (s *Service) Recover(ctx context.Context) error {
	age := time.Duration(0)
	if s.ledger.Shared() {
		age = s.abandoned() // younger ones may be another server's
	}
	clouds, err := s.look(ctx, age)
	if err != nil {
		return err
	}
	var asking sync.WaitGroup
	for _, requests := range clouds {
		asking.Go(func() { s.adoptAll(ctx, requests) })
	}
	asking.Wait()
	return ctx.Err()
}

// lookAround is Recover for what was begun by callers who have not come back, by servers that are gone, and for releases that did not fit into
// memory. What is asked of a cloud goes on in the background, and is not begun again before it is over.
func (s *Service) lookAround(ctx context.Context, background *sync.WaitGroup) {
	clouds, err := s.look(ctx, s.abandoned())
	if err != nil && ctx.Err() == nil {
		s.options.Report(network.Owner{}, err)
	}
	for name, requests := range clouds {
		if _, asked := s.asked.LoadOrStore(name, struct{}{}); !asked {
			background.Go(func() {
				defer s.asked.Delete(name)
				s.adoptAll(ctx, requests)
			})
		}
	}
}

// abandoned is the age at which nobody works on an intent any more, on whichever server, with some time for clocks that differ.
func (s *Service) abandoned() time.Duration { return 2*s.options.Budget + time.Minute }

// look looks through the ledger for what was begun: releases go on, and intents of an age are given, in requests, by the cloud that is to be asked.
func (s *Service) look(ctx context.Context, age time.Duration) (map[string][]*request, error) {
	intended := begun{}
	latest, pause := s.options.Clock.Now().Add(-age), time.Duration(0)
	if s.ledger.Shared() {
		pause = s.abandoned() // by then another server has come to the end of what it is doing
	}
	waiting := unknown{}
	// Of more releases than fit into memory, each look takes others, so that the first of them are not tried for ever.
	found, share := 0, float64(maximumQueued)/float64(max(maximumQueued, s.found.Load()))
	s.parked.begin()
	err := s.ledger.Unfinished(ctx, func(a network.Allocation) error {
		switch {
		case a.State == network.Intended:
			intended.add(a, s.serves(a.Pool), a.Since.After(latest))
		case a.State == network.Releasing && s.serves(a.Pool):
			if parks, _, err := s.park(a); parks {
				waiting.add(a.Cloud, err)
			} else {
				if found++; s.options.Random == nil || s.options.Random() < share {
					s.releases.addFound(a.Owner, pause)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading what was begun: %w", err)
	}
	s.parked.end()
	s.found.Store(int64(found))
	waiting.report(s.options.Report)
	clouds := map[string][]*request{}
	for _, request := range intended {
		if request.anothers || request.stranger != "" {
			s.leave(request)
			continue
		}
		first := request.all[0]
		of, _ := s.behind(first) // what is wrong with it is said by the attempt
		name := cmp.Or(of.name, "the pool "+first.Pool)
		clouds[name] = append(clouds[name], request)
	}
	return clouds, nil
}

// together is for how many requests a cloud is asked at a time; its gate may permit less.
const together = 16

// adoptAll finds out what has become of the requests to one cloud: another one that hangs holds them up in nothing.
func (s *Service) adoptAll(ctx context.Context, requests []*request) {
	var asking errgroup.Group
	asking.SetLimit(together)
	for _, request := range requests {
		if ctx.Err() != nil {
			break
		}
		asking.Go(func() error {
			do := func(ctx context.Context) ([]network.Allocation, error) { return nil, s.adopt(ctx, request.all) }
			if _, err := s.fly(ctx, recovering, do, owners(request.all)...); err != nil && ctx.Err() == nil {
				s.options.Report(request.all[0].Owner, err)
			}
			return nil
		})
	}
	_ = asking.Wait()
}

// begun are intents, by the owner that each was begun together with, which for one alone is its own.
type begun map[network.Owner]*request

// request is what was begun in one. It is another's when somebody else may be working on a part of it.
type request struct {
	all      []network.Allocation
	anothers bool
	// served says that a part is of a pool that is known here, and stranger names one that is not, as far as there is one.
	served   bool
	stranger string
}

func (b begun) add(a network.Allocation, served, young bool) {
	key := a.Together
	if key == (network.Owner{}) {
		key = a.Owner
	}
	of := b[key]
	if of == nil {
		of = &request{}
		b[key] = of
	}
	of.all = append(of.all, a)
	of.anothers = of.anothers || young
	if of.served = of.served || served; !served {
		of.stranger = a.Pool
	}
}

// leave says of what nobody will bring to an end, in a store that is nobody else's, why it stays.
func (s *Service) leave(r *request) {
	if r.anothers || !r.served || s.ledger.Shared() {
		return
	}
	s.options.Report(r.all[0].Owner, fmt.Errorf("it was begun together with what is of the pool %s, which is not served here, and stays until it is", r.stranger))
}

// adopt finds out what has become of the intents of a request, but of those that are no more, or others. When it cannot be found out of one, all stay.
func (s *Service) adopt(ctx context.Context, intents []network.Allocation) error {
	var all, has, lacks []network.Allocation
	bindings := map[network.Owner]said{}
	for _, intent := range intents {
		a, err := s.ledger.Get(ctx, intent.Owner)
		if errors.Is(err, network.ErrNotHeld) || err == nil && (a.State != network.Intended || !a.Since.Equal(intent.Since)) {
			continue
		}
		if err != nil {
			return err
		}
		of, err := s.behind(a)
		if err != nil {
			return err
		}
		all = append(all, a)
		if of.cloud == nil {
			bindings[a.Owner] = said{a, a.Binding, of.name}
			continue
		}
		binding, found, err := s.find(ctx, of, a)
		if err != nil {
			return err
		}
		if bindings[a.Owner] = (said{a, binding, of.name}); found {
			has = append(has, a)
		} else {
			lacks = append(lacks, a)
		}
	}
	if len(lacks) > 0 || len(has) == 0 {
		return s.abandon(ctx, all, has)
	}
	_, err := s.noteAll(ctx, network.Bound, bindings)
	if errors.Is(err, ledger.ErrTwice) || errors.Is(err, ledger.ErrTooLarge) {
		// The cloud has said one thing of two, or more than can be written at once, and would say so again.
		return errors.Join(err, s.abandon(ctx, all, has))
	}
	return err
}

// find asks a cloud whether it has an allocation.
func (s *Service) find(ctx context.Context, of behind, a network.Allocation) (binding network.Binding, has bool, err error) {
	err = of.gate.queue(false).do(ctx, func() (err error) {
		binding, has, err = of.cloud.Find(ctx, a)
		return err
	})
	if err != nil {
		err = fmt.Errorf("asking the cloud: %w", err)
	}
	return binding, has, err
}

// abandon undoes the intents of a request, of which clouds have some. Those go first, and at once: as long as one of them is left, so is one that no cloud
// has, for whose sake it is undone even after a crash.
func (s *Service) abandon(ctx context.Context, all, has []network.Allocation) error {
	if len(has) > 0 {
		if _, err := s.ledger.UpdateAll(ctx, markReleasing, owners(has)...); err != nil {
			return err
		}
		for _, a := range has {
			s.releases.add(a.Owner)
		}
	}
	for _, a := range all {
		if slices.ContainsFunc(has, func(b network.Allocation) bool { return b.Owner == a.Owner }) {
			continue
		}
		of, err := s.behind(a)
		switch {
		case err != nil:
			return err
		case of.cloud == nil:
			err = s.forget(ctx, a, 0)
		default:
			err = s.rest(ctx, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
