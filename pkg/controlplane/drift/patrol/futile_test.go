// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package patrol

import (
	"fmt"
	"testing"

	"golang.org/x/time/rate"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// TestEveryFutileObjectGetsItsTurn checks that every object gets its turn among many futile ones: the first time within
// the searches that are needed to touch all, three in each search, and again within its pause.
func TestEveryFutileObjectGetsItsTurn(t *testing.T) {
	for _, count := range []int{10, 80, 1000} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			s := &seed{touched: map[string]bool{}, all: true}
			p, _ := newPatrol(t, s)
			p.Toucher = &drift.Toucher{API: s, Engine: p.Finder.Engine, Limiter: rate.NewLimiter(rate.Inf, 0)}
			var drifted []drift.Object
			last := map[string]int{}
			for i := range count {
				o := drift.Object{
					Set: target.ControlPlane, Provider: "acme", Namespace: "shoot", Version: "v1", Kind: "ConfigMap", Resource: "configmaps",
					Name: fmt.Sprint("cloud-", i),
				}
				drifted, last[o.Name] = append(drifted, o), -1
			}
			round := (count + 2) / 3
			for search := range 2 * (round + longestCooldown) {
				p.touchAll(t.Context(), drifted)
				for _, name := range s.patches {
					last[name] = search
				}
				s.patches = nil
				for name, at := range last {
					if at < 0 && search >= round-1 || search-at > round+longestCooldown {
						t.Fatalf("%s was last touched in search %d and not again until search %d", name, at, search)
					}
				}
			}
			if got := int(value(t, p.Metrics.touched.WithLabelValues("stays"))); got < 2*count {
				t.Errorf("want more touches without effect, got %d", got)
			}
		})
	}
}
