// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package checker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// checking limits the check of one history by Porcupine, which takes seconds.
const checking = 10 * time.Minute

// Pause waits for a random time, in milliseconds.
func Pause(random *rand.Rand, least, most int) {
	time.Sleep(time.Duration(least+random.IntN(most-least)) * time.Millisecond)
}

// Restart kills a program and starts it again.
func (w *World) Restart(server int) {
	p := w.Servers[server]
	p.Kill()
	p.WaitExit()
	p.Start()
	p.Ready()
}

// Run lets clients work until all faults are over, and checks the history and what is left.
func (w *World) Run(ctx context.Context, clients int, faults func(*rand.Rand)) {
	ginkgo.GinkgoHelper()
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for i := range clients {
		claims, takes := rand.New(rand.NewPCG(w.seed, uint64(i))), rand.New(rand.NewPCG(w.seed, uint64(50+i)))
		all.Go(func() {
			defer ginkgo.GinkgoRecover()
			w.claims(working, i, claims)
		})
		all.Go(func() {
			defer ginkgo.GinkgoRecover()
			w.takes(working, i, takes)
		})
	}
	faults(rand.New(rand.NewPCG(w.seed, 99)))
	cancel()
	stopped := time.Now()
	all.Wait()
	released := time.Now()
	w.end(ctx)
	settled := time.Now()
	result, _ := porcupine.CheckOperationsVerbose(model(), w.record, checking)
	gomega.Expect(result).To(gomega.Equal(porcupine.Ok), "the history of %d operations", len(w.record))
	ginkgo.AddReportEntry("history",
		fmt.Sprintf("%d operations; the clients ended after %s, settled after %s, checked after %s",
			len(w.record), released.Sub(stopped).Round(time.Millisecond), settled.Sub(released).Round(time.Millisecond),
			time.Since(settled).Round(time.Millisecond)))
}
