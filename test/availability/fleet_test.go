// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package availability_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

const config = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: ControllerConfiguration
webhook: {timeoutSeconds: 10}
shutdown: {delay: 2s, timeout: 30s}
`

// fleet is the replicas of an installation.
type fleet struct {
	t        *testing.T
	b        *balancer
	config   string
	profiles string
	lock     sync.Mutex
	replicas []*replica
}

// replica is the real program in a process of its own.
type replica struct {
	*env.Process
	env.Extension
	fleet *fleet
}

// newFleet starts replicas, all at the same time and where there is no certificate yet, and returns when they are called.
func newFleet(t *testing.T, count int) *fleet {
	t.Helper()
	f := &fleet{t: t, b: newBalancer(t), config: filepath.Join(t.TempDir(), "config.yaml"), profiles: t.TempDir()}
	if err := os.WriteFile(f.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	f.write(profile(0))
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: program},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	if err := land.Client().Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	for range count {
		f.start()
	}
	t.Cleanup(f.stop)
	f.ready()
	return f
}

// write puts the profile into the folder at once, as the kubelet does with a mounted ConfigMap.
func (f *fleet) write(text string) {
	f.t.Helper()
	hidden := filepath.Join(f.profiles, ".acme.yaml")
	if err := os.WriteFile(hidden, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(hidden, filepath.Join(f.profiles, "acme.yaml")); err != nil {
		f.t.Fatal(err)
	}
}

// start starts a replica, and the balancer follows its readiness.
func (f *fleet) start() *replica {
	f.t.Helper()
	at, err := env.NewExtension(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	process, err := env.Start(&env.Log{Limit: 1 << 18}, nil, binary, append(at.Arguments(f.config, land.Kubeconfig(), f.profiles),
		"--webhook-config-mode=service", "--webhook-config-service-port="+f.b.port(), "--webhook-config-namespace="+namespace, "--heartbeat-namespace="+namespace,
		"--kubernetes-versions=< 1.31")...) // without known flags: the profile writes invented flags
	if err != nil {
		f.t.Fatal(err)
	}
	r := &replica{process, at, f}
	ctx, gone := context.WithCancel(context.Background())
	go f.b.follow(ctx, r.Webhook, r.Health)
	go func() {
		<-r.Exited()
		gone()
	}()
	f.lock.Lock()
	defer f.lock.Unlock()
	f.replicas = append(f.replicas, r)
	return r
}

// all are the replicas that have not been taken away.
func (f *fleet) all() []*replica {
	f.lock.Lock()
	defer f.lock.Unlock()
	return append([]*replica(nil), f.replicas...)
}

// forget takes a replica away that ends, and waits until it has.
func (f *fleet) forget(r *replica) int {
	f.t.Helper()
	eventually(f.t, "the replica ends", r.HasExited)
	f.lock.Lock()
	defer f.lock.Unlock()
	for i, other := range f.replicas {
		if other == r {
			f.replicas = append(f.replicas[:i:i], f.replicas[i+1:]...)
			break
		}
	}
	return r.State().ExitCode()
}

// ready returns when all replicas are, in the eyes of the balancer.
func (f *fleet) ready() {
	f.t.Helper()
	for _, r := range f.all() {
		r.waitReady()
	}
}

func (r *replica) waitReady() {
	r.fleet.t.Helper()
	eventually(r.fleet.t, "a replica is ready", func() bool {
		if r.HasExited() {
			r.fleet.t.Fatalf("a replica has ended: %v; it said\n%s", r.State(), r.Log)
		}
		return r.fleet.b.isReady(r.Webhook)
	})
}

// roll replaces a replica as the chart's Deployment does: the new one is ready before the old one ends.
func (f *fleet) roll(old *replica) *replica {
	f.t.Helper()
	r := f.start()
	r.waitReady()
	old.signal(syscall.SIGTERM)
	if status := f.forget(old); status != 0 {
		f.t.Errorf("a replica ended with %d; it said\n%s", status, old.Log)
	}
	return r
}

func (r *replica) signal(signal syscall.Signal) {
	r.fleet.t.Helper()
	if err := r.Signal(signal); err != nil {
		r.fleet.t.Error(err)
	}
}

// stop stops the remaining replicas.
func (f *fleet) stop() {
	for _, r := range f.all() {
		r.Kill()
		if f.t.Failed() {
			f.t.Logf("a replica said\n%s", r.Log)
		}
	}
}

// metric says whether a replica has a line of a metric.
func (r *replica) metric(line string) bool {
	text, err := env.Get(r.fleet.t.Context(), "http://"+r.Metrics+"/metrics")
	return err == nil && strings.Contains(text, "\n"+line+"\n")
}

// leads says whether this replica leads.
func (r *replica) leads() bool {
	return r.metric(`leader_election_master_status{name="` + program + `-leader-election"} 1`)
}

// leader is the replica that leads, and another; it waits for one.
func (f *fleet) leader() (leader, other *replica) {
	f.t.Helper()
	eventually(f.t, "a replica leads", func() bool {
		leader = nil
		for _, r := range f.all() {
			if r.leads() {
				leader = r
			} else {
				other = r
			}
		}
		return leader != nil && other != nil
	})
	return leader, other
}

// registration returns the stored registration.
func (f *fleet) registration() *admissionregistrationv1.MutatingWebhookConfiguration {
	f.t.Helper()
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := land.Client().Get(f.t.Context(), client.ObjectKey{Name: program + "." + namespace}, configuration); err != nil {
		f.t.Fatal(err)
	}
	return configuration
}
