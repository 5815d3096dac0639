// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// TestDrain checks that open requests are answered during the shutdown, and no new ones.
func TestDrain(t *testing.T) {
	release, inside := make(chan struct{}), make(chan struct{})
	f := serve(t, working(func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
		close(inside)
		<-release
		return healthy(ctx, r)
	}), serving.Limits{})
	answered := make(chan error, 1)
	go func() {
		_, err := f.caller(api.KindContext, 20).Interpret(context.Background(), asked(interpreter.Health, 10))
		answered <- err
	}()
	<-inside
	f.stop()
	eventually(t, "the server accepts no connection", func() bool {
		status, _ := f.post(f.client(nil), "{}", "")
		return status == 0
	})
	close(release)
	if err := errors.Join(<-answered, <-f.ended); err != nil {
		t.Error(err)
	}
}

// TestRotation removes the CA twice during steady calls over new connections. Callers learn CAs as from a registration,
// and no call fails.
func TestRotation(t *testing.T) {
	f := &fixture{t: t, registry: prometheus.NewRegistry(), ended: make(chan error, 1)}
	f.source, f.clock = issued(t, 55*time.Minute)
	f.begin(working(healthy), serving.Limits{})
	f.server.SetKeepAlivesEnabled(false)
	// A call that began with an earlier bundle must end before the next one counts as registered: real callers get that time from the overlap.
	var (
		calling sync.RWMutex
		call    func() error
	)
	register := func() {
		asks := f.caller(api.KindContext, 20)
		calling.Lock()
		call = func() error {
			_, err := asks.Interpret(context.Background(), asked(interpreter.Health, 10))
			return err
		}
		calling.Unlock()
		if err := f.source.Registered(t.Context(), f.source.Held().Bundle); err != nil {
			t.Fatal(err)
		}
	}
	register()
	var (
		calls   atomic.Int64
		ending  = make(chan struct{})
		callers sync.WaitGroup
	)
	for range 2 {
		callers.Go(func() {
			for {
				select {
				case <-ending:
					return
				default:
				}
				calling.RLock()
				err := call()
				calling.RUnlock()
				if err != nil {
					t.Error(err)
					return
				}
				calls.Add(1)
			}
		})
	}
	authorities := map[time.Time]bool{}
	for end := time.Now().Add(40 * time.Minute); f.clock.Now().Before(end); f.clock.SetTime(f.clock.Now().Add(3 * time.Minute)) {
		if err := f.source.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		authorities[f.source.Held().AuthorityEnds] = true
		before := calls.Load()
		eventually(t, "calls go on", func() bool { return calls.Load() > before+2 || t.Failed() })
		register()
		before = calls.Load()
		eventually(t, "calls go on", func() bool { return calls.Load() > before+2 || t.Failed() })
	}
	close(ending)
	callers.Wait()
	if len(authorities) != 3 {
		t.Errorf("there were %d authorities, in %d calls", len(authorities), calls.Load())
	}
}

// TestNoCertificate checks that no connection succeeds before there is a certificate.
func TestNoCertificate(t *testing.T) {
	source := certificate.NewFiles(certificate.FilesOptions{})
	if _, err := certificate.Serve(source)(nil); err == nil {
		t.Error("Serve without a certificate returns no error, want one")
	}
	if _, err := New(t.Context(), Options{Address: "256.0.0.1:1"}); err == nil {
		t.Error("New accepts an invalid address, want an error")
	}
}
