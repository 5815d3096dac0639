// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package availability_test

import (
	"crypto/tls"
	"fmt"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// snapshot is the state that the steps share.
type snapshot struct {
	*fleet
	load *load
}

// The steps are the life of one installation, under steady load.
var _ = Describe("admissions go on without an object that lacks its changes", Ordered, func() {
	var s snapshot

	BeforeAll(func(ctx SpecContext) {
		s.fleet = newFleet(ctx, 2)
		s.load = newLoad(ctx, s.b)
	})

	It("while all replicas are replaced", func() { s.restart() })
	It("while the profile changes", func() { s.reload() })
	It("while certificates are rotated", func(ctx SpecContext) { s.rotate(ctx) })
	It("while a replica hangs, apart from the calls that it has accepted", func() { s.hang() })
	It("after the leader is killed, apart from the calls that it has accepted", func() { s.kill() })
	It("while etcd hangs, and another replica leads afterwards", func() { s.etcd() })

	It("after kube-apiserver restarts", func() { s.server() })

	It("stores no object without its changes", func(ctx SpecContext) {
		s.load.stop()
		s.stored(ctx)
	})

	It("after all replicas start with an expired certificate", func(ctx SpecContext) { s.expire(ctx) })
})

// restart replaces all replicas, the leader too.
func (s snapshot) restart() {
	s.load.more()
	for _, r := range s.all() {
		s.roll(r)
		s.load.more()
	}
	s.load.none()
}

// reload changes the profile. Each object has the old or the new number until all replicas have loaded the new
// profile.
func (s snapshot) reload() {
	for number := range int64(3) {
		s.load.newest.Store(number + 1)
		s.write(profile(number + 1))
		for _, r := range s.all() {
			Eventually(r.metric).WithArguments(fmt.Sprintf(`graft_profile_reloads_total{result="success"} %d`, number+2)).
				Should(BeTrue(), "the replica has loaded profile %d", number+1)
		}
		s.load.oldest.Store(number + 1)
		s.load.more()
	}
	s.load.none()
}

// rotate makes the CA and the server certificate old enough, so that the next leader issues new ones. Callers trust
// both CAs, replicas show old and new certificates at the same time, and at the end only new ones.
func (s snapshot) rotate(ctx SpecContext) {
	before := serials(s.all())
	secrets := &corev1.SecretList{}
	err := land.Client().List(ctx, secrets, client.InNamespace(namespace), client.HasLabels{"valid-until-time"})
	Expect(err).NotTo(HaveOccurred(), "listing the certificates")
	Expect(len(secrets.Items)).To(BeNumerically(">=", 2), "certificates")
	for i := range secrets.Items {
		secret := secrets.Items[i].DeepCopy()
		secret.Labels["valid-until-time"] = fmt.Sprint(time.Now().Add(time.Hour).Unix())
		Expect(land.Client().Update(ctx, secret)).To(Succeed())
	}
	bundle, served := s.registration().Webhooks[0].ClientConfig.CABundle, s.secret("provider-graft-webhook-server").Name
	leader, _ := s.leader()
	s.roll(leader)
	Eventually(func(g Gomega) {
		now := string(s.registration().Webhooks[0].ClientConfig.CABundle)
		g.Expect(now).To(ContainSubstring(strings.TrimSpace(string(bundle))))
		g.Expect(strings.Count(now, "BEGIN CERTIFICATE")).To(Equal(2))
	}).Should(Succeed(), "callers trust both CAs")
	Eventually(func() string { return s.secret("provider-graft-webhook-server").Name }).
		ShouldNot(Equal(served), "the Secret with the certificate of the server")
	s.load.more()
	for _, r := range s.all() {
		s.roll(r)
		s.load.more()
	}
	for serial := range serials(s.all()) {
		Expect(before).NotTo(HaveKey(serial), "serial numbers before the rotation, with that of a replica")
	}
	s.load.none()
}

// serials returns the serial numbers of the certificates that replicas show.
func serials(replicas []*replica) map[string]bool {
	found := map[string]bool{}
	for _, r := range replicas {
		connection, err := tls.Dial("tcp", r.Webhook, &tls.Config{InsecureSkipVerify: true})
		Expect(err).NotTo(HaveOccurred(), "connecting to a replica")
		found[connection.ConnectionState().PeerCertificates[0].SerialNumber.String()] = true
		_ = connection.Close()
	}
	return found
}

// kill kills the replica that leads. Its open calls are lost, and another replica leads.
func (s snapshot) kill() {
	leader, _ := s.leader()
	s.lose(leader, func() {
		leader.signal(syscall.SIGKILL)
		s.forget(leader)
	})
	s.start()
	s.ready()
	next, _ := s.leader()
	s.write(profile(3) + "controlplaneexposure:\n  kube-apiserver:\n  - annotations: {set: {a: b}}\n")
	webhooks := func() int { return len(s.registration().Webhooks) }
	Eventually(webhooks).Should(Equal(2), "webhooks that the next leader registers")
	s.load.more()
	s.load.none()
	Expect(next).NotTo(BeIdenticalTo(leader), "the next leader")
}

// hang stops a replica. Calls to it end by the webhook's timeout, and no others reach it. It serves again when it
// continues.
func (s snapshot) hang() {
	_, other := s.leader()
	s.lose(other, func() {
		other.signal(syscall.SIGSTOP)
		Eventually(s.b.isReady).WithArguments(other.Webhook).Should(BeFalse(), "the balancer takes the replica for ready")
	})
	other.signal(syscall.SIGCONT)
	s.ready()
	s.load.more()
	s.load.none()
}

// lose checks that at most as many calls fail as there are connections to a replica until the balancer removes it.
func (s snapshot) lose(r *replica, do func()) {
	GinkgoHelper()
	s.load.none()
	s.b.mark(r.Webhook)
	do()
	s.load.more()
	marked := s.b.marked(r.Webhook)
	webhook, others := s.load.failures()
	Expect(len(webhook)).To(BeNumerically("<=", marked.most()), "failed calls, with %+v connections: %v", marked, webhook)
	Expect(others).To(BeEmpty(), "failures of kube-apiserver itself")
	AddReportEntry("failed calls", fmt.Sprintf("%d, with %+v connections", len(webhook), marked))
}

// etcd stops etcd until no replica leads. Only calls that need kube-apiserver's own store fail: the replica that led
// answers all calls, and exits when there are no more. Afterwards another replica leads.
func (s snapshot) etcd() {
	pid, _ := server("etcd")
	leader, _ := s.leader()
	s.acquaint()
	send(pid, syscall.SIGSTOP)
	Eventually(leader.leads).Should(BeFalse(), "the leader leads while etcd hangs")
	send(pid, syscall.SIGCONT)
	Expect(s.forget(leader)).To(Equal(1), "exit status of the replica that led; it printed:\n%s", leader.Log)
	Expect(leader.Log.String()).To(ContainSubstring("the lease was lost"))
	s.start()
	s.recovered()
}

// server kills kube-apiserver and starts it again.
func (s snapshot) server() {
	s.acquaint()
	s.fleet.end = restartServer()
	s.recovered()
}

// recovered checks that no call to the webhook has failed, and that all replicas are ready again.
func (s snapshot) recovered() {
	GinkgoHelper()
	s.load.more()
	Eventually(func() bool {
		is := true
		for _, r := range s.all() {
			if r.HasExited() { // the kubelet starts it again
				s.forget(r)
				s.start()
			}
			is = is && s.b.isReady(r.Webhook)
		}
		return is
	}).Should(BeTrue(), "all replicas are ready")
	s.leader()
	webhook, others := s.load.failures()
	Expect(webhook).To(BeEmpty(), "failed calls to the webhook")
	AddReportEntry("failed calls", fmt.Sprintf("%d that did not reach the webhook", len(others)))
	s.load.more()
	s.load.none()
}

// stored checks that every stored object was mutated.
func (s snapshot) stored(ctx SpecContext) {
	GinkgoHelper()
	deployments := &unstructured.UnstructuredList{}
	deployments.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("DeploymentList"))
	Expect(land.Client().List(ctx, deployments)).To(Succeed())
	for i := range deployments.Items {
		_, err := numberOf(&deployments.Items[i])
		Expect(err).NotTo(HaveOccurred(), "reading what the profile has written into %s", deployments.Items[i].GetNamespace())
	}
}
