// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/ledger"
)

// watched is a clock that reports when it is read: the service reads it for each request before it looks for work in
// flight of the owner.
type watched struct {
	*clocktesting.FakeClock
	asked func()
}

// Now implements clock.PassiveClock.
func (w watched) Now() time.Time {
	if w.asked != nil {
		w.asked()
	}
	return w.FakeClock.Now()
}

// telling is a store that reports each commit before it is made.
type telling struct {
	ledger.Store
	commits func(key string)
}

// Commit implements ledger.Store.
func (s telling) Commit(ctx context.Context, changes ...ledger.Change) error {
	for _, change := range changes {
		s.commits(change.Key)
	}
	return s.Store.Commit(ctx, changes...)
}

// TestConcurrentRequestsForOneDevice answers two concurrent requests for one device: the winner keeps its allocation after the failure of the
// other request.
func TestConcurrentRequestsForOneDevice(t *testing.T) {
	raw, err := os.ReadFile("testdata/at-once.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name    string          `json:"name"`
		Full    bool            `json:"full"`
		First   json.RawMessage `json:"first"`
		Second  json.RawMessage `json:"second"`
		Answers []string        `json:"answers"`
		State   network.State   `json:"state"`
	}
	if err := yaml.UnmarshalStrict(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			begun, goOn := make(chan struct{}), make(chan struct{})
			behind := &fakeCloud{binding: network.Binding{MAC: network.HardwareAddr{0xfa, 0x16, 0x3e, 0, 0, 1}}}
			w := newWorld(t, document, behind)
			var first sync.Once
			w.commits = func(key string) {
				if strings.Contains(key, "c1/") {
					first.Do(func() { close(begun); <-goOn })
				}
			}
			var armed atomic.Bool
			past := make(chan struct{})
			w.asked = func() {
				if armed.CompareAndSwap(true, false) {
					close(past)
				}
			}
			w.shut()
			w.open()
			for i := 0; c.Full && i < 4; i++ {
				w.post("/GetProfileConfig", ask(fmt.Sprint("full", i), `{"name":"net7"}`))
			}
			got := make([]string, 2)
			var group sync.WaitGroup
			send := func(i int, config json.RawMessage) (over <-chan struct{}) {
				done := make(chan struct{})
				group.Go(func() {
					defer close(done)
					status, answer := w.post("/GetProfileConfig", fmt.Sprintf(
						`{"device":{"name":"net7"},"claim_uid":"c1","config":{"profile":"acme.com/overlay","interface":%s}}`, config))
					got[i] = strings.TrimSpace(fmt.Sprint(status, " ", answer))
				})
				return done
			}
			select {
			case <-send(0, c.First):
			case <-begun:
			}
			armed.Store(true)
			select {
			case <-send(1, c.Second):
			case <-past:
			case <-time.After(100 * time.Millisecond): // it waits for the first, as requests of one claim do
			}
			close(goOn)
			group.Wait()
			if diff := cmp.Diff(c.Answers, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			if a, err := w.ledger.Get(t.Context(), network.Owner{Contract: "dranet", Key: "c1/name/net7"}); err != nil || a.State != c.State {
				t.Errorf("the allocation is %q, want %q: %v", a.State, c.State, err)
			}
		})
	}
}
