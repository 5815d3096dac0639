// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// claim is an owner of the crash test with its known state.
type claim struct {
	uid string
	// address is the last answered address; empty without one. It is unknown after a lost answer.
	address string
	sure    bool
}

// lives is how often the program is killed.
const lives = 25

var _ = Describe("a network provider that is killed during many allocations and releases", Label("slow"), func() {
	It("leaves every claim its address, gives no address to two claims, and leaves nothing in the plugin", func() {
		p := newProgram(newHost(GinkgoTB(), "192.168.100.0/24", "192.168.100.10", "192.168.100.17"))
		var claims []*claim
		for number := range 12 {
			claims = append(claims, &claim{uid: fmt.Sprintf("claim-%d", number), sure: true})
		}
		held, unsure := 0, 0
		for range lives {
			p.start()
			p.look(claims)
			p.live(claims)
			p.kill()
			for _, c := range claims {
				if c.address != "" {
					held++
				} else if !c.sure {
					unsure++
				}
			}
		}
		AddReportEntry("claims", fmt.Sprintf("at the kills, %d held an address and %d were unsure", held, unsure))
		Expect(held).To(BeNumerically(">=", lives), "addresses that were held when the program was killed")
		Expect(unsure).To(BeNumerically(">=", lives), "claims that did not know their address when the program was killed")

		p.start()
		DeferCleanup(p.kill)
		p.look(claims)
		for _, c := range claims {
			p.releaseAll(c)
		}
		// Each can have an address again, if not all at the same time. A plugin that outlived its server has ended by then.
		for half := range slices.Chunk(claims, len(claims)/2) {
			for _, c := range half {
				Eventually(p.allocate).WithArguments(c).Should(Equal(http.StatusOK), "status of an allocation for %s", c.uid)
			}
			p.look(claims)
			for _, c := range half {
				p.releaseAll(c)
			}
		}
		Eventually(p.kept).Should(BeEmpty(), "addresses that host-local keeps after all releases")
	})
})

// releaseAll releases the allocation of a claim until it is answered.
func (p *program) releaseAll(c *claim) {
	GinkgoHelper()
	Eventually(p.release).WithArguments(c).Should(BeTrue(), "the release of %s is answered", c.uid)
}

// live allocates and releases addresses for all claims until it kills the program, which is after some calls are
// answered. The other calls are lost wherever they are.
func (p *program) live(claims []*claim) {
	var group sync.WaitGroup
	var answered atomic.Int64
	done := make(chan struct{})
	for _, c := range claims {
		group.Go(func() {
			defer GinkgoRecover()
			for c.sure {
				select {
				case <-done:
					return
				default:
				}
				switch {
				case c.address == "" && p.allocate(c) != http.StatusOK:
					time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
				case c.address != "" && rand.IntN(2) == 0:
					return // it keeps its address
				case c.address != "":
					p.release(c)
				}
				answered.Add(1)
			}
		})
	}
	enough := int64(1 + rand.IntN(20))
	Eventually(answered.Load).WithPolling(time.Millisecond).Should(BeNumerically(">=", enough), "calls that are answered")
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	p.Kill()
	close(done)
	group.Wait()
}

// allocate requests an address.
func (p *program) allocate(c *claim) int {
	status, answer := p.post("/GetProfileConfig", c.uid)
	switch status {
	case 0:
		c.address, c.sure = "", false
	case http.StatusOK:
		var configuration struct {
			Interface struct {
				Addresses []string `json:"addresses"`
			} `json:"interface"`
		}
		Expect(json.Unmarshal([]byte(answer), &configuration)).To(Succeed(), "the answer for %s: %s", c.uid, answer)
		Expect(configuration.Interface.Addresses).To(HaveLen(1), "addresses in the answer for %s", c.uid)
		c.address, c.sure = configuration.Interface.Addresses[0], true
	default:
		// No address is free, or its release is still in progress.
		c.address, c.sure = "", true
	}
	return status
}

// release releases the address of a claim.
func (p *program) release(c *claim) bool {
	status, _ := p.post("/ReleaseProfileConfig", c.uid)
	c.address, c.sure = "", status == http.StatusOK
	return c.sure
}

// look checks that each claim has the address in its answer, and no address of another claim. Claims without an answer
// release theirs.
func (p *program) look(claims []*claim) {
	GinkgoHelper()
	owners := map[string]string{}
	for _, c := range claims {
		was := c.address
		if !c.sure {
			p.releaseAll(c)
		}
		if was == "" {
			continue
		}
		p.allocate(c)
		Expect(c.address).To(Equal(was), "the address of %s after the restart", c.uid)
		Expect(owners).NotTo(HaveKey(was), "two claims have the address of %s", c.uid)
		owners[was] = c.uid
	}
	kept := p.kept()
	for address, uid := range owners {
		Expect(kept).To(ContainElement(strings.TrimSuffix(address, "/24")), "addresses in host-local: that of %s", uid)
	}
}
