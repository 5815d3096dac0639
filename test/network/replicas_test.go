// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
	"github.com/graft-provider/gardener-extension-provider-graft/test/ledger/cluster"
)

// addresses is how many the pool has.
const addresses = 96

// book records the addresses in the answers to claims.
type book struct {
	mutex sync.Mutex
	of    map[string]string // the address of a claim
	by    map[string]string // the claim of an address
}

// note records an answer, and fails if the claim has another address or the address another claim.
func (b *book) note(claim, address string) {
	GinkgoHelper()
	b.mutex.Lock()
	defer b.mutex.Unlock()
	Expect(b.of[claim]).To(BeElementOf("", address), "the earlier address of %s", claim)
	Expect(b.by[address]).To(BeElementOf("", claim), "the earlier claim of %s", address)
	b.of[claim], b.by[address] = address, claim
}

func (b *book) forget(claim string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	delete(b.by, b.of[claim])
	delete(b.of, claim)
}

// together calls a function for all claims, eight at a time.
func together(claims []string, each func(claim string)) {
	queue := make(chan string)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for claim := range queue {
				func() {
					defer GinkgoRecover()
					each(claim)
				}()
			}
		})
	}
	for _, claim := range claims {
		queue <- claim
	}
	close(queue)
	workers.Wait()
}

// both calls two functions at the same time.
func both(first, second func()) {
	var group sync.WaitGroup
	group.Go(first)
	group.Go(second)
	group.Wait()
}

// claims returns a number of claims whose names have a prefix.
func claims(name string, count int) []string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprint(name, "-", i))
	}
	return all
}

var _ = Describe("two servers on one etcd", func() {
	// Both give out of one pool at the same time, also to the same claims. One is killed while it works, its allocations
	// are released through the other, and it comes back.
	It("give no address to two claims at any time, and lose none", func() {
		c := cluster.Start(GinkgoTB(), 1)
		fields := fmt.Sprintf(", caFile: %s, certFile: %s, keyFile: %s", c.CAFile, c.CertFile, c.KeyFile)
		one, other := prepare(c, addresses, fields), prepare(c, addresses, fields)
		By("starting both at the same time, on an empty ledger")
		one.Start()
		other.Start()
		one.Ready()
		other.Ready()
		b := &book{of: map[string]string{}, by: map[string]string{}}
		get := func(p *program) func(string) {
			return func(claim string) {
				address, status := p.allocate(claim)
				Expect(address).NotTo(BeEmpty(), "the address of %s; status %d; the program printed:\n%s", claim, status, p.Log)
				b.note(claim, address)
			}
		}

		By("giving each server its own claims, and both the shared ones")
		own, others, shared := claims("one", 20), claims("other", 20), claims("shared", 20)
		both(
			func() { together(append(own, shared...), get(one)) },
			func() { together(append(others, shared...), get(other)) },
		)
		Expect(b.of).To(HaveLen(60), "claims with an address")

		By("killing one while it works, and asking the other for the claims without an answer")
		late, lost := claims("late", 20), sync.Map{}
		var killing sync.Once
		both(
			func() {
				together(late, func(claim string) {
					address, status := one.allocate(claim)
					if address == "" {
						Expect(status).To(BeZero(), "status for %s, without an address", claim)
						lost.Store(claim, true)
						return
					}
					b.note(claim, address)
					killing.Do(one.Kill)
				})
			},
			func() { together(claims("meanwhile", 10), get(other)) },
		)
		one.WaitExit()
		lost.Range(func(claim, _ any) bool { get(other)(claim.(string)); return true })
		together(late, get(other))
		together(own, get(other)) // they keep the addresses from the killed server

		By("releasing the allocations of the killed server through the other, and giving them again")
		together(own, func(claim string) { b.forget(claim); other.release(claim) })
		one.Start()
		one.Ready()
		together(own[:10], get(one))
		together(append(append(claims("meanwhile", 10), shared...), late...), get(one))

		By("giving all that is left, and not one more")
		rest := claims("rest", addresses-len(b.of))
		both(
			func() { together(rest[:len(rest)/2], get(one)) },
			func() { together(rest[len(rest)/2:], get(other)) },
		)
		Expect(b.by).To(HaveLen(addresses), "addresses that were given")
		for _, p := range []*program{one, other} {
			address, status := p.allocate("one-too-many")
			Expect(address).To(BeEmpty(), "an address from the exhausted pool")
			Expect(status).To(BeNumerically(">=", http.StatusBadRequest), "status of an exhausted pool")
		}

		administer(b, one, other)
		for _, p := range []*program{one, other} {
			Expect(p.Stop()).To(BeZero(), "exit status; the program printed:\n%s", p.Log)
		}
	})
})

// administer checks that servers on etcd answer graft ledger on their sockets for administration.
func administer(b *book, one, other *program) {
	GinkgoHelper()
	By("asking through the socket for administration")
	info, err := os.Stat(filepath.Join(one.Folder, "admin.sock"))
	Expect(err).NotTo(HaveOccurred(), "the socket for administration")
	Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)), "permissions of the socket for administration")
	const owner = "dranet/shared-0/pci/0000:27:00.2"
	for _, test := range []struct {
		ask  []string
		want string
	}{
		{
			[]string{"verify"},
			fmt.Sprintf("0: %d allocations, %d resources held, 0 in quarantine: nothing wrong", addresses, addresses),
		},
		{[]string{"inspect", "--owner=" + owner}, "0: OWNER"},
		{[]string{"release", owner}, "0: OWNER"},
		{[]string{"release", owner}, "1: " + owner + " holds nothing"},
		{[]string{"gc", "--dry-run"}, "0: All owners exist."},
		{
			[]string{"gc"},
			"2: Error: asking the server at unix:///admin.sock: the server has no Kubernetes client",
		},
	} {
		Expect(one.ledger(test.ask...)).To(HavePrefix(test.want), "exit status and output of graft ledger %v", test.ask)
	}
	b.forget("shared-0")
	address, status := other.allocate("one-too-many")
	Expect(address).NotTo(BeEmpty(), "the address that was released by hand; status %d", status)
	b.note("one-too-many", address)
}

var _ = Describe("a server without a connection to etcd", Ordered, func() {
	var (
		c *cluster.Cluster
		// ca, crt and key belong to another authority than that of etcd.
		ca, crt, key string
	)

	BeforeAll(func() {
		c = cluster.Start(GinkgoTB(), 1)
		folder, stranger := GinkgoT().TempDir(), env.NewAuthority(GinkgoTB())
		in := func(name string, data []byte) string {
			path := filepath.Join(folder, name)
			Expect(os.WriteFile(path, data, 0o600)).To(Succeed())
			return path
		}
		certificate, private := stranger.Issue("graft")
		ca, crt, key = in("ca.pem", stranger.PEM), in("crt.pem", certificate), in("key.pem", private)
	})

	// Each entry returns the fields of the configuration, and a part of the message.
	DescribeTable("exits with a message that says why", func(files func() (ca, crt, key string), want func() []string) {
		fields := ""
		authority, certificate, private := files()
		for _, field := range [][2]string{{"caFile", authority}, {"certFile", certificate}, {"keyFile", private}} {
			if field[1] != "" {
				fields += ", " + field[0] + ": " + field[1]
			}
		}
		p := prepare(c, addresses, fields)
		p.Start()
		Expect(p.WaitExit()).To(Equal(1), "exit status; the program printed:\n%s", p.Log)
		Expect(p.Log.String()).NotTo(ContainSubstring("goroutine"), "a panic")
		for _, text := range want() {
			Expect(p.Log.String()).To(ContainSubstring(text))
		}
	},
		Entry("when etcd has a certificate of another authority",
			func() (string, string, string) { return ca, c.CertFile, c.KeyFile },
			func() []string {
				return []string{"opening the ledger: ", c.Endpoints[0], "certificate signed by unknown authority"}
			}),
		Entry("when the server has no certificate",
			func() (string, string, string) { return c.CAFile, "", "" },
			func() []string {
				return []string{"opening the ledger: ", c.Endpoints[0] + ": remote error: tls: certificate required"}
			}),
		Entry("when the server has a certificate of another authority",
			func() (string, string, string) { return c.CAFile, crt, key },
			func() []string {
				return []string{"opening the ledger: ", c.Endpoints[0] + ": remote error: tls: unknown certificate authority"}
			}),
		Entry("when the key belongs to another certificate",
			func() (string, string, string) { return c.CAFile, c.CertFile, key },
			func() []string {
				return []string{"reading the certificates for etcd: ", "private key does not match public key"}
			}),
		Entry("when the file with the authorities is missing",
			func() (string, string, string) { return filepath.Join(filepath.Dir(ca), "none"), "", "" },
			func() []string { return []string{"reading the certificates for etcd: ", "no such file"} }),
		Entry("when the file with the authorities has none",
			func() (string, string, string) { return key, "", "" },
			func() []string {
				return []string{"reading the certificates for etcd: unable to load root certificates: "}
			}),
	)
})
