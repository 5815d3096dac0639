// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package availability_test

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// end starts all replicas with an expired certificate, as after weeks without power or a clock jump. The leader issues
// a new one, and the kubelet restarts unhealthy replicas after a growing delay, within which the work must complete on
// a busy machine.
func (s scene) end() {
	for _, r := range s.all() {
		r.signal(syscall.SIGTERM)
		s.forget(r)
	}
	s.age()
	s.start()
	s.start()
	since, bearable := map[*replica]time.Time{}, time.Second
	eventually(s.t, "all replicas are ready", func() bool {
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
	})
	object := manager("shoot--sample--load-0", 0)
	if err := land.Client().Update(s.t.Context(), object); err != nil {
		s.t.Fatal(err)
	}
	s.load.hold(object, s.load.oldest.Load())
}

// sick says whether a replica says that it must be started again.
func (r *replica) sick() bool {
	response, err := http.Get("http://" + r.Health + "/healthz")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode != http.StatusOK
}

// age puts a certificate into the place of the server's that has ended an hour ago.
func (s scene) age() {
	s.t.Helper()
	ca, server := s.secret("ca-provider-graft-webhook"), s.secret("provider-graft-webhook-server")
	authority, err := tls.X509KeyPair(ca.Data["ca.crt"], ca.Data["ca.key"])
	if err != nil {
		s.t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(server.Data["tls.crt"], server.Data["tls.key"])
	if err != nil {
		s.t.Fatal(err)
	}
	old := *pair.Leaf
	old.NotBefore, old.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	raw, err := x509.CreateCertificate(rand.Reader, &old, authority.Leaf, old.PublicKey, authority.PrivateKey)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := land.Client().Delete(s.t.Context(), server); err != nil {
		s.t.Fatal(err)
	}
	server.ObjectMeta = metav1.ObjectMeta{Namespace: server.Namespace, Name: server.Name, Labels: server.Labels}
	server.Labels["valid-until-time"] = fmt.Sprint(old.NotAfter.Unix())
	server.Data["tls.crt"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	if err := land.Client().Create(s.t.Context(), server); err != nil {
		s.t.Fatal(err)
	}
}

// secret is the newest Secret that Gardener's library keeps under a name.
func (s scene) secret(name string) *corev1.Secret {
	s.t.Helper()
	secrets := &corev1.SecretList{}
	if err := land.Client().List(s.t.Context(), secrets, client.InNamespace(namespace), client.MatchingLabels{"name": name}); err != nil {
		s.t.Fatal(err)
	}
	var newest *corev1.Secret
	for i := range secrets.Items {
		if secret := &secrets.Items[i]; newest == nil || newest.CreationTimestamp.Before(&secret.CreationTimestamp) {
			newest = secret
		}
	}
	if newest == nil {
		s.t.Fatalf("there is no %s", name)
	}
	return newest
}
