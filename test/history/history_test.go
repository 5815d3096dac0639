// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// checking limits the check of one history by Porcupine, which takes seconds.
const checking = 10 * time.Minute

func TestHistory(t *testing.T) { suite.Run(t, "history", "network", "slow") }

// The program is killed, and stopped for longer than a call of the cloud can take effect.
var _ = Describe("the history of one program with a ledger on a file", func() {
	for i, kills := range histories("GRAFT_HISTORY_FILE", 30, 10, 25) {
		It(fmt.Sprintf("is linearizable with the kills and faults of seed %d", i+1), func(ctx SpecContext) {
			w := newWorld(uint64(i + 1))
			w.storeIn("ledger: {path: %[1]s/ledger}", 1)
			w.run(ctx, 6, func(random *rand.Rand) {
				for range kills {
					pause(random, 100, 900)
					if random.IntN(3) == 0 {
						w.servers[0].Signal(syscall.SIGSTOP)
						pause(random, 0, 5000)
						w.servers[0].Signal(syscall.SIGCONT)
						pause(random, 100, 900)
					}
					w.restart(0)
				}
			})
			Expect(w.cloud.wrong()).To(BeEmpty(), "requests to the cloud for addresses that it had bound")
		})
	}
})

// histories returns the number of kills in the history of each seed: all together as many as an environment variable
// says, and then at most eachThen in one history.
func histories(variable string, all, each, eachThen int) (kills []int) {
	if text := os.Getenv(variable); text != "" {
		var err error
		each = eachThen
		if all, err = strconv.Atoi(text); err != nil {
			panic(fmt.Sprintf("%s: %v", variable, err))
		}
	}
	for ; all > 0; all -= each {
		kills = append(kills, min(all, each))
	}
	return kills
}

// pause waits for a random time, in milliseconds.
func pause(random *rand.Rand, least, most int) {
	time.Sleep(time.Duration(least+random.IntN(most-least)) * time.Millisecond)
}

// restart kills a program and starts it again.
func (w *world) restart(server int) {
	p := w.servers[server]
	p.Kill()
	p.WaitExit()
	p.Start()
	p.Ready()
}

// run lets clients work until all faults are over, and checks the history and what is left.
func (w *world) run(ctx context.Context, clients int, faults func(*rand.Rand)) {
	GinkgoHelper()
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for i := range clients {
		claims, takes := rand.New(rand.NewPCG(w.seed, uint64(i))), rand.New(rand.NewPCG(w.seed, uint64(50+i)))
		all.Go(func() {
			defer GinkgoRecover()
			w.claims(working, i, claims)
		})
		all.Go(func() {
			defer GinkgoRecover()
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
	Expect(result).To(Equal(porcupine.Ok), "the history of %d operations", len(w.record))
	AddReportEntry("history", fmt.Sprintf("%d operations; the clients ended after %s, settled after %s, checked after %s",
		len(w.record), released.Sub(stopped).Round(time.Millisecond), settled.Sub(released).Round(time.Millisecond),
		time.Since(settled).Round(time.Millisecond)))
}
