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
	"testing"
	"time"
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

// TestKilled kills the server during many allocations and releases. After each start, every claim has the address that
// it was answered, and no address has two owners. At the end, the plugin has no allocations.
func TestKilled(t *testing.T) {
	p := newProgram(t, newHost(t, "192.168.100.0/24", "192.168.100.10", "192.168.100.17"))
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
		if t.Failed() {
			t.Fatalf("the program said\n%s", p.NetworkProvider.Log)
		}
	}
	if t.Logf("%d addresses were held, and of %d claims nothing was known, when the program was killed", held, unsure); held < lives || unsure < lives {
		t.Error("that is too little to hold anything")
	}
	p.start()
	defer p.kill()
	p.look(claims)
	for _, c := range claims {
		p.eventually(c.uid+" has given back what it has", func() bool { return p.release(c) })
	}
	// Each can get an address again, if not all at the same time. Late work of plugins ends with that, too.
	for half := range slices.Chunk(claims, len(claims)/2) {
		for _, c := range half {
			p.eventually(c.uid+" has an address", func() bool { return p.allocate(c) == http.StatusOK })
		}
		p.look(claims)
		for _, c := range half {
			p.eventually(c.uid+" has given back what it has", func() bool { return p.release(c) })
		}
	}
	p.eventually("all is given back", func() bool { return len(p.kept()) == 0 })
}

// live lets all claims request and release addresses until the program is killed: some calls are answered by then, and
// the rest is lost at any step.
func (p *program) live(claims []*claim) {
	var group sync.WaitGroup
	var answered atomic.Int64
	done := make(chan struct{})
	for _, c := range claims {
		group.Go(func() {
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
	p.eventually("calls are answered", func() bool { return answered.Load() >= enough })
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	p.Kill()
	close(done)
	group.Wait()
}

// allocate asks for an address.
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
		if err := json.Unmarshal([]byte(answer), &configuration); err != nil || len(configuration.Interface.Addresses) != 1 {
			p.Errorf("%s is answered %s (%v)", c.uid, answer, err)
			return status
		}
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

// look checks that all claims have their answered addresses, each a different one; those with an unknown state release
// it.
func (p *program) look(claims []*claim) {
	p.Helper()
	owners := map[string]string{}
	for _, c := range claims {
		was := c.address
		if !c.sure {
			p.eventually(c.uid+" has given back what it may have", func() bool { return p.release(c) })
		}
		if was == "" {
			continue
		}
		if p.allocate(c); c.address != was {
			p.Errorf("%s had %s, and has %s now", c.uid, was, c.address)
		}
		if other := owners[was]; other != "" {
			p.Errorf("%s and %s have %s", other, c.uid, was)
		}
		owners[was] = c.uid
	}
	kept := strings.Join(p.kept(), " ") + " "
	for address, uid := range owners {
		if !strings.Contains(kept, strings.TrimSuffix(address, "/24")+" ") {
			p.Errorf("%s has %s, and host-local keeps %s", uid, address, kept)
		}
	}
}
