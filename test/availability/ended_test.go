// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package availability_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// expire starts all replicas with an expired certificate, as after a landscape was off for weeks, or its clocks have
// jumped. The replica that leads issues another one. Replicas that are unhealthy for some time are restarted, as by
// kubelet; the time doubles, because a busy machine needs longer to recover.
func (s snapshot) expire(ctx SpecContext) {
	GinkgoHelper()
	for _, r := range s.all() {
		r.signal(syscall.SIGTERM)
		s.forget(r)
	}
	s.age(ctx)
	s.start()
	s.start()
	since, bearable := map[*replica]time.Time{}, time.Second
	Eventually(func() bool {
		is := true
		for _, r := range s.all() {
			if !r.sick() {
				delete(since, r)
			} else if _, was := since[r]; !was {
				since[r] = time.Now()
			} else if time.Since(since[r]) > bearable {
				bearable *= 2
				r.signal(syscall.SIGTERM)
				s.forget(r)
				s.start()
			}
			is = is && s.b.isReady(r.Webhook)
		}
		return is
	}).Should(BeTrue(), "all replicas are ready")
	object := manager("shoot--sample--load-0", 0)
	Expect(land.Client().Update(ctx, object)).To(Succeed(), "writing an object")
	s.load.hold(object, s.load.oldest.Load())
}

// sick reports whether the health check of a replica fails.
func (r *replica) sick() bool {
	response, err := http.Get("http://" + r.Health + "/healthz")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode != http.StatusOK
}

// age replaces the certificate of the server by one that expired an hour ago.
func (s snapshot) age(ctx SpecContext) {
	GinkgoHelper()
	ca, server := s.secret("ca-provider-graft-webhook"), s.secret("provider-graft-webhook-server")
	authority, err := tls.X509KeyPair(ca.Data["ca.crt"], ca.Data["ca.key"])
	Expect(err).NotTo(HaveOccurred(), "reading the authority")
	pair, err := tls.X509KeyPair(server.Data["tls.crt"], server.Data["tls.key"])
	Expect(err).NotTo(HaveOccurred(), "reading the certificate of the server")
	old := *pair.Leaf
	old.NotBefore, old.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	raw, err := x509.CreateCertificate(rand.Reader, &old, authority.Leaf, old.PublicKey, authority.PrivateKey)
	Expect(err).NotTo(HaveOccurred(), "signing an expired certificate")
	Expect(land.Client().Delete(ctx, server)).To(Succeed())
	server.ObjectMeta = metav1.ObjectMeta{Namespace: server.Namespace, Name: server.Name, Labels: server.Labels}
	server.Labels["valid-until-time"] = fmt.Sprint(old.NotAfter.Unix())
	server.Data["tls.crt"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	Expect(land.Client().Create(ctx, server)).To(Succeed())
}

// secret returns the newest Secret that Gardener's library keeps under a name.
func (s snapshot) secret(name string) *corev1.Secret {
	GinkgoHelper()
	secrets := &corev1.SecretList{}
	labels := client.MatchingLabels{"name": name}
	Expect(land.Client().List(context.Background(), secrets, client.InNamespace(namespace), labels)).To(Succeed())
	var newest *corev1.Secret
	for i := range secrets.Items {
		if secret := &secrets.Items[i]; newest == nil || newest.CreationTimestamp.Before(&secret.CreationTimestamp) {
			newest = secret
		}
	}
	Expect(newest).NotTo(BeNil(), "a Secret named %s", name)
	return newest
}
