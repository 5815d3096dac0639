// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api/dranet"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger/file"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/memory"
)

// world is a server over a ledger that can be opened again.
type world struct {
	t       testing.TB
	folder  string
	store   *file.Store
	ledger  *ledger.Ledger
	policy  *policy.Policy
	clock   *clocktesting.FakeClock
	cloud   cloud.Cloud
	options api.Options
	handler http.Handler
	// asked is called when the service reads the clock, unless it is nil.
	asked func()
	// commits is called before each commit; nil: nothing is.
	commits func(key string)
}

func newWorld(t testing.TB, file string, behind cloud.Cloud) *world {
	t.Helper()
	w := &world{t: t, folder: memory.Folder(t), policy: load(t, file), clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), cloud: behind}
	w.open()
	t.Cleanup(func() { w.shut() })
	return w
}

func load(t testing.TB, file string) *policy.Policy {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents, findings := profile.LoadNetworks(source.File{Name: file, Data: raw})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	p, findings := policy.Compile(documents)
	if len(findings.Errors()) > 0 {
		t.Fatal(findings)
	}
	return p
}

func (w *world) open() {
	w.t.Helper()
	var err error
	if w.store, err = file.Open(w.folder, file.Options{}); err != nil {
		w.t.Fatal(err)
	}
	var kept []ledger.Pool
	served := map[string]service.Pool{}
	for name, pool := range w.policy.Pools {
		kept, served[name] = append(kept, pool.Pool), service.Pool{Quarantine: pool.Quarantine, Cloud: w.cloud}
	}
	var store ledger.Store = w.store
	if w.commits != nil {
		store = telling{store, w.commits}
	}
	if w.ledger, err = ledger.Open(context.Background(), store, kept...); err != nil {
		w.t.Fatal(err)
	}
	s := service.New(w.ledger, served, service.Options{Clock: watched{w.clock, w.asked}})
	if err := s.Recover(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.options = api.Options{Service: s, Policy: func() *policy.Policy { return w.policy }, Log: testr.NewWithInterface(w.t, testr.Options{})}
	w.handler = dranet.New(w.options)
}

func (w *world) shut() {
	w.t.Helper()
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
}

// call sends a request.
func (w *world) call(ctx context.Context, method, path, body string) (int, string, http.Header) {
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body)))
	answer, _ := io.ReadAll(recorder.Result().Body)
	return recorder.Code, string(answer), recorder.Result().Header
}

func (w *world) post(path, body string) (int, string) {
	status, answer, _ := w.call(w.t.Context(), http.MethodPost, path, body)
	return status, answer
}

// held returns the allocations in the ledger, one per line.
func (w *world) held() []string {
	w.t.Helper()
	lines := []string{}
	err := w.ledger.All(context.WithoutCancel(w.t.Context()), func(a network.Allocation) error {
		texts := make([]string, len(a.Addresses))
		for i, address := range a.Addresses {
			texts[i] = address.String()
		}
		line := fmt.Sprintf("%s %s %s", a.Owner.Key, strings.Join(texts, ","), a.Holder)
		if a.Holder.Node != "" {
			line += " on " + a.Holder.Node
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return lines
}

var errLost = errors.New("the answer got lost")

// fakeCloud counts its calls, and answers on command.
type fakeCloud struct {
	mutex       sync.Mutex
	binds, ends int
	// hook is called at the beginning of a bind.
	hook    func(network.Allocation) error
	binding network.Binding
	has     map[network.Owner]bool
}

func (f *fakeCloud) Bind(_ context.Context, a network.Allocation) (network.Binding, error) {
	f.mutex.Lock()
	f.binds++
	if f.has == nil {
		f.has = map[network.Owner]bool{}
	}
	f.has[a.Owner] = true
	hook := f.hook
	f.mutex.Unlock()
	if hook != nil {
		if err := hook(a); err != nil {
			return network.Binding{}, err
		}
	}
	return f.binding, nil
}

func (f *fakeCloud) Unbind(_ context.Context, a network.Allocation) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.ends++
	delete(f.has, a.Owner)
	return nil
}
