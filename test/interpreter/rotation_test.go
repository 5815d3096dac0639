// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/server"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/certificatetest"
)

var _ = Describe("a Secret with a certificate", func() {
	for i, c := range certificatetest.Cases() {
		It(c.Name, func() {
			c.Run(GinkgoTB(), func() certificate.Store {
				return &certificate.Secret{Client: clients.CoreV1(), Namespace: namespace, Name: fmt.Sprint("suite-", i)}
			})
		})
	}

	It("keeps labels and data of other writers", func(ctx SpecContext) {
		secrets := clients.CoreV1().Secrets(namespace)
		_, err := secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "theirs", Labels: map[string]string{"a": "b"}},
			StringData: map[string]string{"x": "y"},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred(), "creating the Secret")
		source, _ := issued("theirs", 0)
		Expect(source.Refresh(ctx)).To(Succeed(), "issuing a certificate")
		secret, err := secrets.Get(ctx, "theirs", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred(), "reading the Secret")
		Expect(secret.Data).To(HaveKeyWithValue("x", []byte("y")), "data of another writer")
		Expect(secret.Labels).To(HaveKeyWithValue("a", "b"), "labels of another writer")
		Expect(secret.Data[certificate.KeyBundle]).NotTo(BeEmpty(), "the CA bundle of the issued certificate")
	})
})

// issued returns a source in a Secret with a slow clock.
func issued(name string, behind time.Duration) (*certificate.Issued, *clocktesting.FakePassiveClock) {
	GinkgoHelper()
	clock := clocktesting.NewFakePassiveClock(time.Now().Add(-behind))
	source, err := certificate.NewIssued(certificate.Options{
		Store: &certificate.Secret{Client: clients.CoreV1(), Namespace: namespace, Name: name}, Clock: clock,
		Log: logr.Discard(),
		Policy: certificate.Policy{
			Addresses: []string{"127.0.0.1"}, Authority: time.Hour, Certificate: time.Hour, Overlap: time.Minute, Told: true,
		},
	})
	Expect(err).NotTo(HaveOccurred(), "opening the source of certificates")
	return source, clock
}

// replicated is a replica in this process, whose clock can be set.
type replicated struct {
	source    certificate.Source
	clock     *clocktesting.FakePassiveClock
	registrar *registration.Registrar
	leads     atomic.Bool
	owner     string
	address   string
}

// three answers that each queue has three replicas.
type three struct{}

func (three) Interpret(context.Context, interpreter.Request) (interpreter.Response, error) {
	replicas := int32(3)
	return interpreter.Response{Replicas: &replicas}, nil
}

// begin opens a replica that shares a Secret, and passes its address to the balancer.
func begin(ctx SpecContext, b *balancer) *replicated {
	GinkgoHelper()
	source, clock := issued("rotation", 55*time.Minute)
	r := open(ctx, b, source, clock)
	b.ready(r.address, true)
	return r
}

// open opens a replica that the balancer does not use yet.
func open(
	ctx SpecContext, b *balancer, source certificate.Source, clock *clocktesting.FakePassiveClock,
) *replicated {
	GinkgoHelper()
	r := &replicated{owner: "test", source: source, clock: clock}
	Expect(r.source.Refresh(ctx)).To(Succeed(), "reading the certificate")
	known := []interpreter.Known{{Kind: queue, Operations: []interpreter.Operation{interpreter.Replicas}}}
	r.registrar = registration.New(registration.Options{
		Client: objects, Owner: func(context.Context) (string, error) { return r.owner, nil }, Leads: r.leads.Load,
		Period: time.Second, Clock: r.clock, Log: logr.Discard(),
		Dialect: api.KindContext, Kinds: func() []interpreter.Known { return known },
		Configuration: func(kinds []interpreter.Known) *configuration.Configuration {
			return configuration.Generate(api.KindContext, "graft", kinds, configuration.Endpoint{
				URL: "https://" + b.Addr().String() + "/interpret", CABundle: r.source.Held().Bundle, TimeoutSeconds: 20,
			})
		},
		Registered: func(ctx context.Context, bundle []byte) {
			defer GinkgoRecover()
			Expect(r.source.Registered(ctx, bundle)).To(Succeed(), "recording the registered authorities")
		},
	})
	s, err := server.New(ctx, server.Options{
		Address: "127.0.0.1:0", Interpreter: three{}, Certificate: certificate.Serve(r.source), Log: logr.Discard(),
		Metrics: server.NewMetrics(prometheus.NewRegistry(), func(interpreter.Kind) bool { return true }),
	})
	Expect(err).NotTo(HaveOccurred(), "listening")
	serving, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(serving, 10*time.Second) }()
	DeferCleanup(func() {
		stop()
		Expect(<-ended).To(Succeed(), "serving")
	})
	r.address = s.Address()
	return r
}

var _ = Describe("replicas that share a certificate in a Secret", func() {
	// Leadership moves, and so does the replica that looks after the certificate first.
	It("fail no call while two authorities are replaced", func(ctx SpecContext) {
		b := newBalancer()
		one, two := begin(ctx, b), begin(ctx, b)
		one.leads.Store(true)
		one.registrar.Look(ctx)
		k := newKarmada()
		authorities := map[time.Time]bool{}
		for n := 0; one.clock.Now().Before(time.Now().Add(40 * time.Minute)); n++ {
			first, second := one, two
			if n%2 == 1 {
				first, second = two, one
			}
			if n%5 == 4 {
				one.leads.Store(!one.leads.Load())
				two.leads.Store(!one.leads.Load())
			}
			Expect(first.source.Refresh(ctx)).To(Succeed(), "refreshing the certificate of the first replica")
			k.more(0)
			first.registrar.Look(ctx)
			k.more(0)
			second.registrar.Look(ctx)
			k.more(0)
			Expect(second.source.Refresh(ctx)).To(Succeed(), "refreshing the certificate of the second replica")
			k.more(0)
			authorities[one.source.Held().AuthorityEnds] = true
			now := one.clock.Now().Add(3 * time.Minute)
			one.clock.SetTime(now)
			two.clock.SetTime(now)
		}
		Expect(k.stop()).To(BeNumerically(">=", 100), "answered calls")
		Expect(authorities).To(HaveLen(3), "authorities")
	})

	It("write the registration only if they lead, and never in turns with another installation", func(ctx SpecContext) {
		b := newBalancer()
		one, two := begin(ctx, b), begin(ctx, b)
		two.registrar.Look(ctx)
		_, err := registered()
		Expect(err).To(HaveOccurred(), "reading the registration before a replica leads")
		one.leads.Store(true)
		one.registrar.Look(ctx)
		first, err := registered()
		Expect(err).NotTo(HaveOccurred(), "reading the registration of the leader")
		two.owner = "another"
		two.leads.Store(true)
		for range 3 {
			for _, r := range []*replicated{one, two} {
				r.clock.SetTime(r.clock.Now().Add(2 * time.Second))
				r.registrar.Look(ctx)
			}
		}
		last, err := registered()
		Expect(err).NotTo(HaveOccurred(), "reading the registration of two leaders")
		Expect(last.GetResourceVersion()).To(Equal(first.GetResourceVersion()), "version of an unchanged registration")
	})
})
