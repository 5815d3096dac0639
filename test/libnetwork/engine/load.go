// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Load is how many endpoints of one network are made by how many callers at a time, each in a sandbox of its own.
type Load struct {
	Network            string
	Endpoints, Callers int
	// Prefix begins the names of endpoints and sandboxes.
	Prefix string
	// Keep leaves the endpoints where they are.
	Keep bool
}

// Took is how long a load took: CreateEndpoint and Join of all, and Leave and DeleteEndpoint of all; sandboxes are made
// before and removed after.
type Took struct{ Attach, Detach time.Duration }

// run makes a load on a controller.
func (l Load) run(ctx context.Context, c Controller) (took Took, err error) {
	if err = l.each(func(name string) error { _, err := c.NewSandbox(ctx, Box{Name: name}); return err }); err != nil {
		return took, fmt.Errorf("making sandboxes: %w", err)
	}
	begin := time.Now()
	if err := l.each(func(name string) error {
		if err := c.CreateEndpoint(ctx, Endpoint{Network: l.Network, Name: name}); err != nil {
			return fmt.Errorf("creating an endpoint: %w", err)
		}
		return c.Join(ctx, Attachment{l.Network, name, name})
	}); err != nil {
		return took, err
	}
	took.Attach = time.Since(begin)
	if l.Keep {
		return took, nil
	}
	begin = time.Now()
	if err := l.each(func(name string) error {
		if err := c.Leave(ctx, Attachment{l.Network, name, name}); err != nil {
			return fmt.Errorf("leaving: %w", err)
		}
		return c.DeleteEndpoint(ctx, l.Network, name)
	}); err != nil {
		return took, err
	}
	took.Detach = time.Since(begin)
	if err = l.each(func(name string) error { return c.DeleteSandbox(ctx, name) }); err != nil {
		return took, fmt.Errorf("removing sandboxes: %w", err)
	}
	return took, nil
}

// each calls a function for all names, a number at a time, and returns the first error.
func (l Load) each(do func(name string) error) error {
	queue, errs := make(chan string), make(chan error, l.Endpoints)
	var callers sync.WaitGroup
	for range l.Callers {
		callers.Go(func() {
			for name := range queue {
				if err := do(name); err != nil {
					errs <- err
				}
			}
		})
	}
	for i := range l.Endpoints {
		queue <- fmt.Sprint(l.Prefix, i)
	}
	close(queue)
	callers.Wait()
	close(errs)
	return <-errs
}
