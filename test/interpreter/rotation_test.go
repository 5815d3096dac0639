// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/server"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/certificatetest"
)

// TestSecret runs the suite of all stores on a Secret in a real API server.
func TestSecret(t *testing.T) {
	alone(t)
	count := 0
	certificatetest.Suite(t, func(*testing.T) func() certificate.Store {
		count++
		name := fmt.Sprint("suite-", count)
		return func() certificate.Store {
			return &certificate.Secret{Client: clients.CoreV1(), Namespace: namespace, Name: name}
		}
	})
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "theirs", Labels: map[string]string{"a": "b"}}, StringData: map[string]string{"x": "y"}}
	if _, err := clients.CoreV1().Secrets(namespace).Create(t.Context(), own, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	source, _ := issued(t, "theirs", 0)
	if err := source.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	secret, err := clients.CoreV1().Secrets(namespace).Get(t.Context(), "theirs", metav1.GetOptions{})
	if err != nil || string(secret.Data["x"]) != "y" || secret.Labels["a"] != "b" || len(secret.Data["tls.crt"]) == 0 {
		t.Errorf("what others have put there: %v, %v", secret, err)
	}
}

// issued is a source in a Secret, whose clock is some time behind.
func issued(t *testing.T, name string, behind time.Duration) (*certificate.Issued, *clocktesting.FakePassiveClock) {
	t.Helper()
	restricted, err := kubernetes.NewForConfig(land.Config())
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakePassiveClock(time.Now().Add(-behind))
	source, err := certificate.NewIssued(certificate.Options{
		Store: &certificate.Secret{Client: restricted.CoreV1(), Namespace: namespace, Name: name}, Clock: clock, Log: logr.Discard(),
		Policy: certificate.Policy{Addresses: []string{"127.0.0.1"}, Authority: time.Hour, Certificate: time.Hour, Overlap: time.Minute, Told: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return source, clock
}

// replicated is a replica in this process, so that its clock can be set.
type replicated struct {
	source    certificate.Source
	clock     *clocktesting.FakePassiveClock
	registrar *registration.Registrar
	leads     atomic.Bool
	owner     string
	address   string
}

// three are the replicas of any queue.
type three struct{}

func (three) Interpret(context.Context, interpreter.Request) (interpreter.Response, error) {
	replicas := int32(3)
	return interpreter.Response{Replicas: &replicas}, nil
}

// begin opens a replica that shares a Secret, and gives its address to the balancer.
func begin(t *testing.T, b *balancer) *replicated {
	t.Helper()
	source, clock := issued(t, "rotation", 55*time.Minute)
	r := open(t, b, source, clock)
	b.ready(r.address, true)
	return r
}

// open opens a replica that the balancer does not know yet.
func open(t *testing.T, b *balancer, source certificate.Source, clock *clocktesting.FakePassiveClock) *replicated {
	t.Helper()
	r := &replicated{owner: "test", source: source, clock: clock}
	if err := r.source.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(land.Config())
	if err != nil {
		t.Fatal(err)
	}
	known := []interpreter.Known{{Kind: queue, Operations: []interpreter.Operation{interpreter.Replicas}}}
	r.registrar = registration.New(registration.Options{
		Client: client, Owner: func(context.Context) (string, error) { return r.owner, nil }, Leads: r.leads.Load,
		Period: time.Second, Clock: r.clock, Log: logr.Discard(),
		Dialect: api.KindContext, Kinds: func() []interpreter.Known { return known },
		Configuration: func(kinds []interpreter.Known) *configuration.Configuration {
			return configuration.Generate(api.KindContext, "graft", kinds, configuration.Endpoint{
				URL: "https://" + b.Addr().String() + "/interpret", CABundle: r.source.Held().Bundle, TimeoutSeconds: 20,
			})
		},
		Registered: func(ctx context.Context, bundle []byte) {
			if err := r.source.Registered(ctx, bundle); err != nil {
				t.Error(err)
			}
		},
	})
	s, err := server.New(t.Context(), server.Options{
		Address: "127.0.0.1:0", Interpreter: three{}, Certificate: certificate.Serve(r.source), Log: logr.Discard(),
		Metrics: server.NewMetrics(prometheus.NewRegistry(), func(interpreter.Kind) bool { return true }),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, 10*time.Second) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	r.address = s.Address()
	return r
}

// TestRotation removes the CA of two replicas twice, under steady calls through the registration. The leader changes,
// and so does the replica that checks the certificate first. No call fails.
func TestRotation(t *testing.T) {
	alone(t)
	b := newBalancer(t)
	one, two := begin(t, b), begin(t, b)
	one.leads.Store(true)
	one.registrar.Look(t.Context())
	k := newKarmada(t)
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
		for _, step := range []func() error{
			func() error { return first.source.Refresh(t.Context()) },
			func() error { first.registrar.Look(t.Context()); return nil },
			func() error { second.registrar.Look(t.Context()); return nil },
			func() error { return second.source.Refresh(t.Context()) },
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
			before := k.calls.Load()
			eventually(t, "calls go on", func() bool { return k.calls.Load() > before || t.Failed() })
		}
		authorities[one.source.Held().AuthorityEnds] = true
		now := one.clock.Now().Add(3 * time.Minute)
		one.clock.SetTime(now)
		two.clock.SetTime(now)
	}
	if calls := k.stop(); len(authorities) != 3 || calls < 100 {
		t.Errorf("there were %d authorities, and %d calls", len(authorities), calls)
	}
}

// TestFollowed checks that only the leader writes, and that two installations do not overwrite each other in turns.
func TestFollowed(t *testing.T) {
	alone(t)
	b := newBalancer(t)
	one, two := begin(t, b), begin(t, b)
	two.registrar.Look(t.Context())
	if _, err := registered(); err == nil {
		t.Fatal("who does not lead has written")
	}
	one.leads.Store(true)
	one.registrar.Look(t.Context())
	first, err := registered()
	if err != nil {
		t.Fatal(err)
	}
	two.owner = "another"
	two.leads.Store(true)
	for range 3 {
		for _, r := range []*replicated{one, two} {
			r.clock.SetTime(r.clock.Now().Add(2 * time.Second))
			r.registrar.Look(t.Context())
		}
	}
	last, err := registered()
	if err != nil || last.GetResourceVersion() != first.GetResourceVersion() {
		t.Errorf("it was written though nothing is to be changed: %v", errors.Join(err))
	}
}
