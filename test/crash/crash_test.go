// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// owner is a device of a claim, with the state according to its client.
type owner struct {
	uid, device, profile string
	// address is the address in the last answer; empty without one.
	address string
	// sure means that the last request was answered. Otherwise the owner may have an address or not.
	sure bool
}

// story is one program with its fabric and its owners.
type story struct {
	*env.NetworkProvider
	problems
	ctx    context.Context // of the spec
	fabric *fabric
	owners []*owner
	racks  []*rack
	// pods is the client of Spiderpool, and reloads how often the profile was rewritten.
	pods    *http.Client
	reloads int
	// requests counts requests for several interfaces that were under way when the program was killed: those that were
	// undone, and those that were complete.
	requests [2]int
	// took is the duration in nanoseconds of an answered request for several interfaces. A kill during such a request is
	// spread over it, on machines of every speed.
	took   atomic.Int64
	random *rand.Rand

	// at is the point at which the program is killed next, after so many times that it is reached.
	at    atomic.Value
	count atomic.Int64
	// late are the kills that wait for their time. over is closed at the end of a life; they do not hit the next one.
	late sync.WaitGroup
	over chan struct{}
}

// patience is how much oftener it is killed until each point, and a request for several interfaces, was met once.
const patience = 1000

func TestCrash(t *testing.T) { suite.Run(t, "crash", "network", "slow") }

var _ = Describe("the network provider, killed at each point in the middle of many requests", func() {
	It("keeps the answered address of each owner, gives no address to two owners, and loses none", func(ctx SpecContext) {
		times := len(points) // `make test-system` sets more
		if text := os.Getenv("GRAFT_CRASHES"); text != "" {
			var err error
			times, err = strconv.Atoi(text)
			Expect(err).NotTo(HaveOccurred(), "GRAFT_CRASHES")
		}
		s := newStory(ctx)
		hit := map[point]int{}
		begun := time.Now()
		for i := 0; i < times || i < times+patience && s.missing(hit) != ""; i++ {
			at := points[i%len(points)]
			if i >= times {
				at = rest(hit, i)
			}
			if s.live(at) {
				hit[at]++
			}
			if (i+1)%100 == 0 {
				GinkgoWriter.Printf("killed %d times after %s\n", i+1, time.Since(begun).Round(time.Second))
			}
			Expect(s.found()).To(BeEmpty(), "problems after %d kills, the last when %s", i+1, at)
		}
		AddReportEntry("kills", fmt.Sprintf("%d at least, in %s; requests for several interfaces: %d undone, %d there",
			times, time.Since(begun).Round(time.Second), s.requests[0], s.requests[1]))
		Expect(s.missing(hit)).To(BeEmpty(), "what no kill has met")
		s.end()
		Expect(s.found()).To(BeEmpty(), "problems at the end")
	})
})

// newStory prepares the program, its clouds and its owners.
func newStory(ctx context.Context) *story {
	GinkgoHelper()
	seed := uint64(time.Now().UnixNano())
	AddReportEntry("seed", seed)
	s := &story{ctx: ctx, fabric: newFabric(), random: rand.New(rand.NewPCG(seed, 1))}
	s.fabric.reached = s.reach
	s.NetworkProvider = prepare(s.fabric)
	suite.ShowLog("the program", s.Log)
	for i := range 64 {
		profile := []string{"fabric", "plain"}[i%2]
		if i%8 == 7 { // a few, as a plugin is a process for each address
			profile = "lan"
		}
		o := &owner{uid: fmt.Sprintf("claim-%02d", i/4), device: fmt.Sprintf("eth%d", i%4), profile: profile, sure: true}
		s.owners = append(s.owners, o)
	}
	s.racks = newRacks(s)
	return s
}

// problems collects what callers find wrong, from all goroutines.
type problems struct {
	mutex sync.Mutex
	all   []string
}

// errorf adds a problem.
func (p *problems) errorf(format string, arguments ...any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.all = append(p.all, fmt.Sprintf(format, arguments...))
}

// found returns all problems.
func (p *problems) found() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.all)
}

// missing returns what no kill has met so far, of what at least one must. Which request a kill meets is random.
func (s *story) missing(hit map[point]int) string {
	for _, at := range points {
		if hit[at] == 0 {
			return fmt.Sprintf("it was never killed when %s", at)
		}
	}
	if s.requests[1] == 0 {
		return "no request for several interfaces was there after it was killed in the middle of it"
	}
	return ""
}

// rest returns the point of a kill after the required ones: one of the points that were not met. If all were met, a
// kill during a request for several interfaces is missing.
func rest(hit map[point]int, i int) point {
	left := slices.DeleteFunc(slices.Clone(points), func(at point) bool { return hit[at] > 0 })
	if len(left) == 0 {
		return podSent
	}
	return left[i%len(left)]
}

// live is one life of the program, until it is killed; it reports whether it was killed at the point.
func (s *story) live(at point) (hit bool) {
	s.at.Store(at)
	s.count.Store(1 + int64(s.random.IntN(6)))
	delay := time.Duration(s.random.IntN(3000)) * time.Microsecond
	if took := s.took.Load(); at == podSent && took > 0 {
		delay = time.Duration(s.random.Int64N(took + took/2))
	}
	s.over = make(chan struct{})
	s.Start()
	if at == starting {
		s.killAfter(time.Duration(s.random.IntN(60)) * time.Millisecond)
	}
	begun := time.Now()
	if s.Ready() {
		s.check()
		s.checkPods()
		if at == reloading {
			s.reload(begun)
		}
		s.work(delay)
	}
	close(s.over)
	s.late.Wait()
	hit = s.Killed.Load()
	if !hit {
		s.Kill()
	}
	s.WaitExit()
	return hit
}

// reach is called at each point; false means that the program was killed and its caller must stop.
func (s *story) reach(at point) bool {
	if s.at.Load() == at && s.count.Add(-1) == 0 {
		s.Kill()
	}
	return !s.Killed.Load()
}

// check requests the addresses of all owners with a known state: they must still have them. No other owner may.
func (s *story) check() {
	holders := map[string]string{}
	for _, o := range s.owners {
		if !o.sure || o.address == "" {
			continue
		}
		status, answer := s.post("/GetProfileConfig", o, o.config())
		if status == 0 || s.Killed.Load() {
			return
		}
		if got := addressOf(answer); status != 200 || got != o.address {
			s.errorf("%s held %s, and is answered %d %s", o.uid, o.address, status, strings.TrimSpace(answer))
		}
		if other := holders[o.address]; other != "" {
			s.errorf("%s is held by %s and by %s", o.address, other, o.uid)
		}
		holders[o.address] = o.device + " of " + o.uid
		if o.profile == "fabric" && !o.is(s.fabric.holds(o.address)) {
			by := s.fabric.holds(o.address)
			s.errorf("%s of %s holds %s, and the cloud has bound it for %q", o.device, o.uid, o.address, by)
		}
		if _, err := os.Stat(filepath.Join(kept(s.NetworkProvider), "lan", o.address)); o.profile == "lan" && err != nil {
			s.errorf("%s holds %s, and the plugin has not given it: %v", o.uid, o.address, err)
		}
	}
	if wrong := s.fabric.wrong(); wrong != "" {
		s.errorf("the cloud was asked for what cannot be:\n%s", wrong)
	}
}

// is reports whether an owner of the ledger is this one.
func (o *owner) is(key string) bool { return key == "dranet/"+o.uid+"/name/"+o.device }

// post makes a call of DRANET's for an owner.
func (s *story) post(path string, o *owner, config map[string]any) (status int, answer string) {
	return s.PostDevice(path, o.uid, map[string]string{"name": o.device}, config)
}

// work lets all owners allocate and release concurrently, until the program is killed or each has made a few calls.
func (s *story) work(delay time.Duration) {
	var group sync.WaitGroup
	shares := make([][]*owner, 8)
	for i, o := range s.owners {
		shares[i%len(shares)] = append(shares[i%len(shares)], o)
	}
	for _, r := range s.racks {
		group.Go(func() { r.work(delay) })
	}
	for i, share := range shares {
		random := rand.New(rand.NewPCG(s.random.Uint64(), uint64(i)))
		group.Go(func() {
			for range 6 {
				if s.Killed.Load() {
					return
				}
				s.act(share[random.IntN(len(share))], delay)
			}
		})
	}
	group.Wait()
}

// act lets an owner allocate, repeat its request, or release.
func (s *story) act(o *owner, delay time.Duration) {
	if o.address == "" || !o.sure {
		o.sure = false
		s.soon(requestSent, delay)
		status, answer := s.post("/GetProfileConfig", o, o.config())
		switch status {
		case 200:
			o.address, o.sure = addressOf(answer), true
			s.reach(answerReceived)
		case 0, 500:
			// The state is unknown, and the next attempt continues.
		default:
			s.errorf("%s is answered %d %s", o.uid, status, strings.TrimSpace(answer))
		}
		return
	}
	held := o.address
	o.sure = false
	s.soon(releaseSent, delay)
	status, answer := s.post("/ReleaseProfileConfig", o, map[string]any{
		"profile": o.profile, "interface": map[string]any{"addresses": []string{held + "/24"}},
	})
	switch status {
	case 200:
		o.address, o.sure = "", true
		s.reach(releaseConfirmed)
	case 0:
		// It has the address or not; the next request tells.
		o.address = ""
	default:
		s.errorf("the release of %s is answered %d %s", o.uid, status, strings.TrimSpace(answer))
	}
}

// soon kills the program shortly after a request was sent, during its work.
func (s *story) soon(at point, delay time.Duration) {
	if s.at.Load() == at && s.count.Add(-1) == 0 {
		s.killAfter(delay)
	}
}

// killAfter kills the program after a delay, unless its life has ended by then.
func (s *story) killAfter(delay time.Duration) {
	s.late.Go(func() {
		select {
		case <-time.After(delay):
			s.Kill()
		case <-s.over:
		}
	})
}

func (o *owner) config() map[string]any {
	return map[string]any{"profile": o.profile, "interface": map[string]any{"name": "net1"}}
}

// addressOf is the address in an answer, without the length of its subnet.
func addressOf(answer string) string {
	var config struct {
		Interface struct{ Addresses []string }
	}
	if json.Unmarshal([]byte(answer), &config) != nil || len(config.Interface.Addresses) != 1 {
		return ""
	}
	address, _, _ := strings.Cut(config.Interface.Addresses[0], "/")
	return address
}
