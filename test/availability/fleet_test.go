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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

const config = `apiVersion: graft.provider.extensions.config.gardener.cloud/v1alpha1
kind: ControllerConfiguration
webhook: {timeoutSeconds: 10}
shutdown: {delay: 5s, timeout: 30s}
`

// fleet has the replicas of an installation.
type fleet struct {
	b        *balancer
	config   string
	profiles string
	lock     sync.Mutex
	replicas []*replica
	end      func() // kills the kube-apiserver that a step has started
}

// replica is the real program in its own process.
type replica struct {
	*env.Process
	env.Extension
	fleet *fleet
}

// newFleet starts replicas at the same time, without a certificate, and returns when they are ready.
func newFleet(ctx SpecContext, count int) *fleet {
	GinkgoHelper()
	f := &fleet{b: newBalancer(), config: filepath.Join(GinkgoT().TempDir(), "config.yaml"), profiles: GinkgoT().TempDir()}
	Expect(os.WriteFile(f.config, []byte(config), 0o600)).To(Succeed())
	f.write(profile(0))
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: program},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	Expect(land.Client().Create(ctx, service)).To(Succeed())
	DeferCleanup(f.stop)
	for range count {
		f.start()
	}
	f.ready()
	return f
}

// write replaces the profile in the folder atomically, as kubelet does with a mounted ConfigMap.
func (f *fleet) write(text string) {
	GinkgoHelper()
	hidden := filepath.Join(f.profiles, ".acme.yaml")
	Expect(os.WriteFile(hidden, []byte(text), 0o600)).To(Succeed())
	Expect(os.Rename(hidden, filepath.Join(f.profiles, "acme.yaml"))).To(Succeed())
}

// start starts a replica, and the balancer follows its readiness.
func (f *fleet) start() *replica {
	GinkgoHelper()
	at, err := env.NewExtension(context.Background())
	Expect(err).NotTo(HaveOccurred(), "finding free ports")
	arguments := append(at.Arguments(f.config, land.Kubeconfig(), f.profiles),
		"--webhook-config-mode=service", "--webhook-config-service-port="+f.b.port(),
		"--webhook-config-namespace="+namespace, "--heartbeat-namespace="+namespace,
		"--kubernetes-versions=< 1.31") // of which no flags are known: the profile writes flags of its own
	process, err := env.Start(&env.Log{Limit: 1 << 18}, nil, binary, arguments...)
	Expect(err).NotTo(HaveOccurred(), "starting a replica")
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

// all returns the replicas that have not been forgotten.
func (f *fleet) all() []*replica {
	f.lock.Lock()
	defer f.lock.Unlock()
	return append([]*replica(nil), f.replicas...)
}

// forget waits until a replica exits, removes it from the fleet, and returns its exit status.
func (f *fleet) forget(r *replica) int {
	GinkgoHelper()
	Eventually(r.HasExited).Should(BeTrue(), "the replica exits")
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

// ready waits until the balancer takes all replicas for ready.
func (f *fleet) ready() {
	GinkgoHelper()
	for _, r := range f.all() {
		r.waitReady()
	}
}

// waitReady waits until the balancer takes the replica for ready.
func (r *replica) waitReady() {
	GinkgoHelper()
	Eventually(func() bool {
		if r.HasExited() {
			StopTrying("the replica exited with " + r.State().String()).Now()
		}
		return r.fleet.b.isReady(r.Webhook)
	}).Should(BeTrue(), "the replica is ready")
}

// roll replaces a replica as the chart's Deployment does: the new one is ready before the old one ends.
func (f *fleet) roll(old *replica) *replica {
	GinkgoHelper()
	r := f.start()
	r.waitReady()
	old.signal(syscall.SIGTERM)
	Expect(f.forget(old)).To(BeZero(), "exit status of the old replica; it printed:\n%s", old.Log)
	return r
}

func (r *replica) signal(signal syscall.Signal) {
	GinkgoHelper()
	Expect(r.Signal(signal)).To(Succeed(), "sending %s", signal)
}

// stop kills the remaining replicas. It prints their logs if a spec has failed.
func (f *fleet) stop() {
	if f.end != nil {
		f.end()
	}
	for _, r := range f.all() {
		r.Kill()
		if CurrentSpecReport().Failed() {
			AddReportEntry("the log of a replica", r.Log.String())
		}
	}
}

// metric reports whether a replica has a line of a metric.
func (r *replica) metric(line string) bool {
	text, err := env.Get(context.Background(), "http://"+r.Metrics+"/metrics")
	return err == nil && strings.Contains(text, "\n"+line+"\n")
}

// leads reports whether the replica leads.
func (r *replica) leads() bool {
	return r.metric(`leader_election_master_status{name="` + program + `-leader-election"} 1`)
}

// leader waits until a replica leads, and returns it and another replica.
func (f *fleet) leader() (leader, other *replica) {
	GinkgoHelper()
	Eventually(func() bool {
		leader = nil
		for _, r := range f.all() {
			if r.leads() {
				leader = r
			} else {
				other = r
			}
		}
		return leader != nil && other != nil
	}).Should(BeTrue(), "one of several replicas leads")
	return leader, other
}

// registration returns the registered webhooks.
func (f *fleet) registration() *admissionregistrationv1.MutatingWebhookConfiguration {
	GinkgoHelper()
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	key := client.ObjectKey{Name: program + "." + namespace}
	Expect(land.Client().Get(context.Background(), key, configuration)).To(Succeed())
	return configuration
}
