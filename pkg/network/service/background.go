// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
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
				s.lookAround(ctx, &work)
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
