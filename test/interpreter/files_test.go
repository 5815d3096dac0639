// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// The old CA is taken away under steady calls. The leading replica restarts at the worst moment: it has the new
// certificate at once, while the other one still serves that of the old CA.
var _ = Describe("replicas with a certificate from files", func() {
	It("fail no call when the CA is replaced, and register only the new CA in the end", func(ctx SpecContext) {
		folder, clock, b := GinkgoT().TempDir(), clocktesting.NewFakePassiveClock(time.Now()), newBalancer()
		issue := func(a *env.Authority) {
			GinkgoHelper()
			cert, key := a.Issue("interpreter")
			for name, data := range map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": a.PEM} {
				Expect(os.WriteFile(filepath.Join(folder, name), data, 0o600)).To(Succeed())
			}
		}
		begun := func() *replicated {
			GinkgoHelper()
			return open(ctx, b, certificate.NewFiles(certificate.FilesOptions{
				CertFile: filepath.Join(folder, "tls.crt"), KeyFile: filepath.Join(folder, "tls.key"),
				CAFile: filepath.Join(folder, "ca.crt"), Told: true, Overlap: 10 * time.Minute, Clock: clock, Log: logr.Discard(),
			}), clock)
		}
		issue(env.NewAuthority(GinkgoTB()))
		leader, other := begun(), begun()
		leader.leads.Store(true)
		leader.registrar.Look(ctx)
		b.ready(leader.address, true)
		b.ready(other.address, true)
		k := newKarmada()
		pass := func(minutes int) {
			GinkgoHelper()
			for range minutes {
				for _, r := range []*replicated{leader, other} {
					Expect(r.source.Refresh(ctx)).To(Succeed(), "reading the files")
					r.registrar.Look(ctx)
				}
				k.more(1)
				clock.SetTime(clock.Now().Add(time.Minute))
			}
		}
		pass(12)
		b.ready(leader.address, false)
		young := env.NewAuthority(GinkgoTB())
		issue(young)
		leader = begun()
		leader.leads.Store(true)
		followed := k.current.Load()
		leader.registrar.Look(ctx)
		Eventually(k.current.Load).ShouldNot(BeIdenticalTo(followed), "the registration that Karmada knows")
		k.more(30) // calls by the old registration have ended
		b.ready(leader.address, true)
		pass(24)
		Expect(k.stop()).To(BeNumerically(">=", 50), "answered calls")
		Expect(leader.source.Held().Bundle).To(Equal(young.PEM), "the registered authorities")
		Expect(other.source.Held().Covers(young.PEM)).To(BeTrue(), "the new CA has issued the other replica's certificate")
	})
})
