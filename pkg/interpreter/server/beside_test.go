// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// TestAnswersAreCountedDuringReload checks that answers are counted during reloads, and that removed kinds leave no metrics.
func TestAnswersAreCountedDuringReload(t *testing.T) {
	var there atomic.Bool
	m := NewMetrics(prometheus.NewRegistry(), func(k interpreter.Kind) bool { return there.Load() && k == queue })
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for range 1000 {
				m.answered(api.Answered{Dialect: api.KindContext, Operation: interpreter.Health, Kind: queue, Code: http.StatusOK})
			}
		})
	}
	for i := range 101 { // at the last call, the profile is removed
		there.Store(i%2 == 1)
		m.Forget()
	}
	callers.Wait()
	if len(m.seen) > 0 {
		t.Errorf("want no requests to remain, got %d", len(m.seen))
	}
}

// TestDepartedCallerFreesItsPlace checks that a caller that leaves during work on its own goroutine frees its place.
func TestDepartedCallerFreesItsPlace(t *testing.T) {
	inside := make(chan struct{}, 1)
	f := &fixture{t: t, registry: prometheus.NewRegistry(), ended: make(chan error, 1)}
	f.source, f.clock = issued(t, 0)
	f.begin(working(func(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
		if !bytes.Contains(r.Object, []byte("wait")) {
			return healthy(ctx, r)
		}
		inside <- struct{}{}
		for ctx.Err() == nil {
			runtime.Gosched()
		}
		return interpreter.Response{}, ctx.Err()
	}), serving.Limits{Requests: 1})
	client := f.client(nil)
	for range 3 {
		ctx, leave := context.WithCancel(t.Context())
		body := strings.Replace(fmt.Sprintf(message, "InterpretHealth"), `{"a":1}`, `{"wait":1}`, 1)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+f.Address()+"/?timeout=300s", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		left := make(chan struct{})
		go func() {
			defer close(left)
			if response, err := client.Do(request); err == nil {
				_ = response.Body.Close()
				t.Errorf("want the connection closed without an answer, got %s", response.Status)
			}
		}()
		<-inside
		leave()
		<-left
		if status, text := f.post(client, fmt.Sprintf(message, "InterpretHealth"), "?timeout=200s"); text != "0 " {
			t.Errorf("the request beyond the limit: got %d %s", status, text)
		}
	}
}
