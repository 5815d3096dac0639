// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

// addresses is how many the pool has.
const addresses = 96

// book is what claims were given.
type book struct {
	t     *testing.T
	mutex sync.Mutex
	of    map[string]string // the address of a claim
	by    map[string]string // the claim of an address
}

// note holds what was given against all that is held.
func (b *book) note(claim, address string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if had, ok := b.of[claim]; ok && had != address {
		b.t.Errorf("the claim %s has been given %s and %s", claim, had, address)
	}
	if other, ok := b.by[address]; ok && other != claim {
		b.t.Errorf("%s has been given to %s and to %s", address, other, claim)
	}
	b.of[claim], b.by[address] = address, claim
}

func (b *book) forget(claim string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	delete(b.by, b.of[claim])
	delete(b.of, claim)
}

// together calls each for all claims, eight at a time.
func together(claims []string, each func(claim string)) {
	queue := make(chan string)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for claim := range queue {
				each(claim)
			}
		})
	}
	for _, claim := range claims {
		queue <- claim
	}
	close(queue)
	workers.Wait()
}

// claims are as many as wanted, with a name in front.
func claims(name string, count int) []string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprint(name, "-", i))
	}
	return all
}

// TestReplicas lets two servers give out of one pool: both at the same time, also to the same claims; one is killed while it works, what it has
// given is released through the other, and it comes back. No address is with two claims at any time, and in the end none is lost.
func TestReplicas(t *testing.T) {
	c := cluster.Start(t, 1)
	fields := fmt.Sprintf(", caFile: %s, certFile: %s, keyFile: %s", c.CAFile, c.CertFile, c.KeyFile)
	one, other := prepare(t, c, addresses, fields), prepare(t, c, addresses, fields)
	one.Start()
	other.Start() // at the same time, on a ledger that nobody has begun yet
	one.Ready()
	other.Ready()
	b := &book{t: t, of: map[string]string{}, by: map[string]string{}}
	get := func(p *program) func(string) {
		return func(claim string) {
			address, status := p.allocate(claim)
			if address == "" {
				t.Errorf("%s is given nothing: %d", claim, status)
				return
			}
			b.note(claim, address)
		}
	}
	both := func(first, second func()) {
		var all sync.WaitGroup
		all.Go(first)
		all.Go(second)
		all.Wait()
	}

	// Each has claims of its own, and both have the shared ones.
	own, others, shared := claims("one", 20), claims("other", 20), claims("shared", 20)
	both(
		func() { together(append(own, shared...), get(one)) },
		func() { together(append(others, shared...), get(other)) },
	)
	if len(b.of) != 60 {
		t.Fatalf("%d claims were given something; the one said\n%s\nthe other\n%s", len(b.of), one.Log, other.Log)
	}

	// One is killed in the middle of work; who had no answer asks the other.
	late, lost := claims("late", 20), sync.Map{}
	var killing sync.Once
	both(
		func() {
			together(late, func(claim string) {
				address, status := one.allocate(claim)
				switch {
				case address != "":
					b.note(claim, address)
					killing.Do(one.Kill)
				case status == 0:
					lost.Store(claim, true)
				default:
					t.Errorf("%s is given nothing: %d", claim, status)
				}
			})
		},
		func() { together(claims("meanwhile", 10), get(other)) },
	)
	one.WaitExit()
	lost.Range(func(claim, _ any) bool { get(other)(claim.(string)); return true })
	together(late, get(other))
	together(own, get(other)) // they keep what the one has given

	// What the one has given is released through the other, and given again.
	together(own, func(claim string) { b.forget(claim); other.release(claim) })
	one.Start()
	one.Ready()
	together(own[:10], get(one))
	together(append(append(claims("meanwhile", 10), shared...), late...), get(one))

	// Nothing is lost: all that is left can be given, and not one more.
	rest := claims("rest", addresses-len(b.of))
	both(func() { together(rest[:len(rest)/2], get(one)) }, func() { together(rest[len(rest)/2:], get(other)) })
	if len(b.by) != addresses {
		t.Errorf("%d of %d addresses were given", len(b.by), addresses)
	}
	for _, p := range []*program{one, other} {
		if address, status := p.allocate("one-too-many"); address != "" || status < http.StatusBadRequest {
			t.Errorf("one more was given %s: %d", address, status)
		}
	}
	administer(t, b, one, other)
	for _, p := range []*program{one, other} {
		if status := p.Stop(); status != 0 {
			t.Errorf("the program ended with %d; it said\n%s", status, p.Log)
		}
	}
}

// administer holds that servers on etcd can be asked by their sockets of administration.
func administer(t *testing.T, b *book, one, other *program) {
	t.Helper()
	if info, err := os.Stat(filepath.Join(one.Folder, "admin.sock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	const owner = "dranet/shared-0/pci/0000:27:00.2"
	for _, test := range []struct {
		ask  []string
		want string
	}{
		{[]string{"verify"}, fmt.Sprintf("0: %d allocations, %d things held, 0 things resting: nothing wrong", addresses, addresses)},
		{[]string{"inspect", "--owner=" + owner}, "0: OWNER"},
		{[]string{"release", owner}, "0: OWNER"},
		{[]string{"release", owner}, "1: " + owner + " holds nothing"},
		{[]string{"gc", "--dry-run"}, "0: Everybody lives who holds something."},
		{[]string{"gc"}, "2: Error: asking the server at unix:///admin.sock: the server has no client of Kubernetes"},
	} {
		if got := one.ledger(test.ask...); !strings.HasPrefix(got, test.want) {
			t.Errorf("graft ledger %v: %s", test.ask, got)
		}
	}
	b.forget("shared-0")
	if address, status := other.allocate("one-too-many"); address == "" {
		t.Errorf("what was released by hand is given to nobody: %d", status)
	} else {
		b.note("one-too-many", address)
	}
}

// TestRefused holds what is said at the start where etcd does not know the server, or the server etcd.
func TestRefused(t *testing.T) {
	c := cluster.Start(t, 1)
	folder, stranger := t.TempDir(), env.NewAuthority(t)
	in := func(name string, data []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate, key := stranger.Issue("graft")
	ca, crt, private := in("ca.pem", stranger.PEM), in("crt.pem", certificate), in("key.pem", key)
	for name, test := range map[string]struct {
		fields string
		want   []string
	}{
		"another CA": {
			fmt.Sprintf(", caFile: %s, certFile: %s, keyFile: %s", ca, c.CertFile, c.KeyFile),
			[]string{"opening the ledger: ", c.Endpoints[0], "certificate signed by unknown authority"},
		},
		"no certificate": {
			", caFile: " + c.CAFile, []string{"opening the ledger: ", c.Endpoints[0] + ": remote error: tls: certificate required"},
		},
		"a certificate of another CA": {
			fmt.Sprintf(", caFile: %s, certFile: %s, keyFile: %s", c.CAFile, crt, private),
			[]string{"opening the ledger: ", c.Endpoints[0] + ": remote error: tls: unknown certificate authority"},
		},
		"a key of another certificate": {
			fmt.Sprintf(", caFile: %s, certFile: %s, keyFile: %s", c.CAFile, c.CertFile, private),
			[]string{"reading the certificate for etcd: ", "private key does not match public key"},
		},
		"no such file": {", caFile: " + filepath.Join(folder, "none"), []string{"reading the CAs of etcd: ", "no such file"}},
		"no CA":        {", caFile: " + private, []string{"reading the CAs of etcd: there is no certificate in " + private}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepare(t, c, addresses, test.fields)
			p.Start()
			status, said := p.WaitExit(), p.Log.String()
			if status != 1 || strings.Contains(said, "goroutine") {
				t.Errorf("status %d: %s", status, said)
			}
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("it lacks %q: %s", want, said)
				}
			}
		})
	}
}
