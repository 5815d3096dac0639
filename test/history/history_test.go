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
)

// checking bounds how long Porcupine looks at one history. It takes seconds.
const checking = 10 * time.Minute

// TestFile records histories of one program with a ledger on a file. The program is killed, and stopped for longer than a call of the cloud can take
// effect.
func TestFile(t *testing.T) {
	for seed, kills := range histories(t, "GRAFT_HISTORY_FILE", 30, 10, 25) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newWorld(t, seed)
			w.storeIn("ledger: {path: %[1]s/ledger}", 1)
			w.run(6, func(random *rand.Rand) {
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
			if len(w.cloud.wrong()) > 0 {
				t.Errorf("the cloud was asked for addresses that it had bound: %v", w.cloud.wrong())
			}
		})
	}
}

// histories returns seeds, and how often programs are killed in the history of each: all together as often as a variable of the environment says,
// and then as often in each as the last argument says.
func histories(t *testing.T, variable string, all, each, eachThen int) map[uint64]int {
	t.Helper()
	if text := os.Getenv(variable); text != "" {
		var err error
		each = eachThen
		if all, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
	}
	of := map[uint64]int{}
	for seed := uint64(1); all > 0; seed++ {
		of[seed] = min(all, each)
		all -= each
	}
	return of
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
func (w *world) run(clients int, faults func(*rand.Rand)) {
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i := range clients {
		claims, takes := rand.New(rand.NewPCG(w.seed, uint64(i))), rand.New(rand.NewPCG(w.seed, uint64(50+i)))
		all.Go(func() { w.claims(ctx, i, claims) })
		all.Go(func() { w.takes(ctx, i, takes) })
	}
	faults(rand.New(rand.NewPCG(w.seed, 99)))
	cancel()
	began := time.Now()
	all.Wait()
	w.t.Logf("the clients have ended after %s", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	w.end()
	settled := time.Since(began)
	began = time.Now()
	if result, _ := porcupine.CheckOperationsVerbose(model(), w.record, checking); result != porcupine.Ok {
		w.t.Errorf("the history of %d operations is %s; the programs said\n%s", len(w.record), result, w.logs())
	}
	w.t.Logf("%d operations; settled after %s, checked after %s", len(w.record), settled.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}
