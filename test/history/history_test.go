// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/history/checker"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

func TestHistory(t *testing.T) { suite.Run(t, "history", "network", "slow") }

// The program is killed, and stopped for longer than a call of the cloud can take effect.
var _ = Describe("the history of one program with a ledger on a file", func() {
	for i, kills := range histories("GRAFT_HISTORY_FILE", 10, 10, 25) {
		It(fmt.Sprintf("is linearizable with the kills and faults of seed %d", i+1), func(ctx SpecContext) {
			cloud := newFabric(uint64(i + 1))
			w := cloud.world("ledger: {path: %[1]s/ledger}", 1)
			w.Run(ctx, 6, func(random *rand.Rand) {
				for range kills {
					checker.Pause(random, 100, 900)
					if random.IntN(3) == 0 {
						w.Servers[0].Signal(syscall.SIGSTOP)
						checker.Pause(random, 0, 5000)
						w.Servers[0].Signal(syscall.SIGCONT)
						checker.Pause(random, 100, 900)
					}
					w.Restart(0)
				}
			})
			Expect(cloud.wrong()).To(BeEmpty(), "requests to the cloud for addresses that it had bound")
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
