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

// Release takes back what an owner holds. It returns when that is remembered; the cloud is told in the background, as often as
// needed. An owner that holds nothing is no error.
func (s *Service) Release(ctx context.Context, owner network.Owner) error {
	_, err := s.fly(ctx, releasing, func(ctx context.Context) ([]network.Allocation, error) {
		a, err := s.ledger.Get(ctx, owner)
		if errors.Is(err, network.ErrNotHeld) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if pool := s.pool()[a.Pool]; pool.Cloud == nil {
			return nil, s.forget(ctx, a, pool.Rest)
		}
		_, err = s.ledger.Update(ctx, owner, markReleasing)
		if err == nil {
			s.releases.add(owner)
		}
		return nil, err
	}, owner)
	return err
}

func markReleasing(a *network.Allocation) error {
	a.State = network.Releasing
	return nil
}

// giveUp releases what an owner holds, to the end. What it held rests so long.
func (s *Service) giveUp(ctx context.Context, owner network.Owner, rest time.Duration) error {
	a, err := s.ledger.Update(ctx, owner, markReleasing)
	if errors.Is(err, network.ErrNotHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.end(ctx, a, rest)
}

// release is giveUp with the rest of the pool.
func (s *Service) release(ctx context.Context, a network.Allocation) error {
	return s.giveUp(ctx, a.Owner, s.pool()[a.Pool].Rest)
}

// end tells the cloud, and then forgets.
func (s *Service) end(ctx context.Context, a network.Allocation, rest time.Duration) error {
	if behind := s.pool()[a.Pool].Cloud; behind != nil {
		if err := behind.Unbind(ctx, a); err != nil {
			return fmt.Errorf("releasing in the cloud: %w", err)
		}
	}
	return s.forget(ctx, a, rest)
}

func (s *Service) forget(ctx context.Context, a network.Allocation, rest time.Duration) error {
	now := s.options.Clock.Now()
	return s.ledger.Forget(ctx, a.Owner, now, now.Add(rest))
}

// Run works in the background until the context ends, and then until what was begun has come to its end: it tells clouds of
// releases, and wakes what has rested. From then on the service is unavailable. Begin with Recover.
func (s *Service) Run(ctx context.Context) {
	var work sync.WaitGroup
	for range s.options.Releasers {
		work.Go(func() {
			for {
				owner, attempt, ok := s.releases.next(ctx)
				if !ok {
					return
				}
				s.finish(owner, attempt)
			}
		})
	}
	work.Go(func() { s.wake(ctx) })
	<-ctx.Done()
	s.last()
	work.Wait()
}

// finish brings a release to its end, or puts it off.
func (s *Service) finish(owner network.Owner, attempt int) {
	ctx := context.Background() // a release that was begun is not broken off: fly bounds it
	_, err := s.fly(ctx, ending, func(ctx context.Context) ([]network.Allocation, error) {
		a, err := s.ledger.Get(ctx, owner)
		if errors.Is(err, network.ErrNotHeld) || err == nil && a.State != network.Releasing {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return nil, s.end(ctx, a, s.pool()[a.Pool].Rest)
	}, owner)
	if err != nil {
		s.options.Report(owner, err)
		s.releases.again(owner, attempt)
	}
}

// nap is how often it is looked for what has rested.
const nap = time.Second

func (s *Service) wake(ctx context.Context) {
	ticker := s.options.Clock.NewTicker(nap)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C():
			if _, err := s.ledger.Wake(ctx, now); err != nil && ctx.Err() == nil {
				s.options.Report(network.Owner{}, err)
			}
		}
	}
}

// Recover brings to an end what was begun before the server started: an intent that the cloud has is adopted, one that it does
// not have is undone, and releases go on. What cannot be found out stays as it is, and is reported.
func (s *Service) Recover(ctx context.Context) error {
	var intended []network.Allocation
	err := s.ledger.All(ctx, func(a network.Allocation) error {
		switch a.State {
		case network.Intended:
			intended = append(intended, a)
		case network.Releasing:
			s.releases.add(a.Owner)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading what was begun: %w", err)
	}
	for _, a := range intended {
		if err := s.adopt(ctx, a); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.options.Report(a.Owner, err)
		}
	}
	return nil
}

func (s *Service) adopt(ctx context.Context, a network.Allocation) error {
	behind := s.pool()[a.Pool].Cloud
	if behind == nil {
		return s.forget(ctx, a, 0)
	}
	binding, has, err := behind.Find(ctx, a)
	if err != nil {
		return fmt.Errorf("asking the cloud: %w", err)
	}
	if !has {
		return s.forget(ctx, a, s.pool()[a.Pool].Rest)
	}
	_, err = s.ledger.Update(ctx, a.Owner, settle(binding))
	return err
}
