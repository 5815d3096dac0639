// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Run works in the background until the context ends, and then until what was begun has come to its end: it tells clouds of
// releases, wakes what has rested, and looks for what nobody works on any more. From then on the service is unavailable. Begin with Recover.
func (s *Service) Run(ctx context.Context) {
	var work sync.WaitGroup
	for range s.options.Releasers {
		work.Go(func() {
			for {
				e, ok := s.releases.next(ctx)
				if !ok {
					return
				}
				s.finish(ctx, e)
			}
		})
	}
	work.Go(func() { s.each(ctx, nap, s.wake) })
	last := s.options.Clock.Now()
	work.Go(func() {
		s.each(ctx, nap, func(ctx context.Context, now time.Time) {
			if s.releases.wantsMore() || now.Sub(last) >= round {
				last = now
				s.lookAround(ctx)
			}
		})
	})
	<-ctx.Done()
	s.last()
	work.Wait()
}

const (
	// nap is how often it is looked for what has rested, and round how often for what nobody works on.
	nap   = time.Second
	round = 10 * time.Minute
)

// each does something again and again, until the context ends.
func (s *Service) each(ctx context.Context, pause time.Duration, do func(ctx context.Context, now time.Time)) {
	ticker := s.options.Clock.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C():
			do(ctx, now)
		}
	}
}

func (s *Service) wake(ctx context.Context, now time.Time) {
	if _, err := s.ledger.Wake(ctx, now); err != nil && ctx.Err() == nil {
		s.options.Report(network.Owner{}, err)
	}
}

// Recover brings to an end what was begun before the server started: an intent that the cloud has is adopted, one that it does
// not have is undone, and releases go on. What cannot be found out stays as it is, and is reported. It may run while the service allocates.
func (s *Service) Recover(ctx context.Context) error {
	age := time.Duration(0)
	if s.ledger.Shared() {
		age = s.abandoned() // younger ones may be another server's
	}
	return s.recover(ctx, age)
}

// lookAround is Recover for what was begun by callers who have not come back, by servers that are gone, and for releases that did not fit into
// memory.
func (s *Service) lookAround(ctx context.Context) {
	if err := s.recover(ctx, s.abandoned()); err != nil && ctx.Err() == nil {
		s.options.Report(network.Owner{}, err)
	}
}

// abandoned is the age at which nobody works on an intent any more, on whichever server, with some time for clocks that differ.
func (s *Service) abandoned() time.Duration { return 2*s.options.Budget + time.Minute }

func (s *Service) recover(ctx context.Context, age time.Duration) error {
	var intended []network.Allocation
	latest, pause := s.options.Clock.Now().Add(-age), time.Duration(0)
	if s.ledger.Shared() {
		pause = s.abandoned() // by then another server has come to the end of what it is doing
	}
	waiting := unknown{}
	s.parked.begin()
	err := s.ledger.Unfinished(ctx, func(a network.Allocation) error {
		switch {
		case !s.serves(a.Pool): // another server's
		case a.State == network.Intended && !a.Since.After(latest):
			intended = append(intended, a)
		case a.State == network.Releasing:
			if parks, _, err := s.park(a); parks {
				waiting.add(a.Cloud, err)
			} else {
				s.releases.addLater(a.Owner, pause)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading what was begun: %w", err)
	}
	s.parked.end()
	waiting.report(s.options.Report)
	var asking sync.WaitGroup
	turn := make(chan struct{}, together)
	for _, a := range intended {
		turn <- struct{}{}
		asking.Go(func() {
			defer func() { <-turn }()
			_, err := s.fly(ctx, recovering, func(ctx context.Context) ([]network.Allocation, error) { return nil, s.adopt(ctx, a) }, a.Owner)
			if err != nil && ctx.Err() == nil {
				s.options.Report(a.Owner, err)
			}
		})
	}
	asking.Wait()
	return ctx.Err()
}

// together is how many intents are asked for at a time; the gates of clouds may permit less.
const together = 16

// adopt finds out what has become of an intent, unless it is no more, or another one.
func (s *Service) adopt(ctx context.Context, intent network.Allocation) error {
	a, err := s.ledger.Get(ctx, intent.Owner)
	if errors.Is(err, network.ErrNotHeld) || err == nil && (a.State != network.Intended || !a.Since.Equal(intent.Since)) {
		return nil
	}
	if err != nil {
		return err
	}
	of, err := s.behind(a)
	if err != nil {
		return err
	}
	if of.cloud == nil {
		return s.forget(ctx, a, 0)
	}
	var (
		binding network.Binding
		has     bool
	)
	err = of.gate.queue(false).do(ctx, func() (err error) {
		binding, has, err = of.cloud.Find(ctx, a)
		return err
	})
	if err != nil {
		return fmt.Errorf("asking the cloud: %w", err)
	}
	if !has {
		return s.rest(ctx, a)
	}
	_, err = s.ledger.Update(ctx, a.Owner, settle(binding, of.name, network.Bound))
	return err
}
