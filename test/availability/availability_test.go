// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package availability_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scene has the shared state of the parts of the test.
type scene struct {
	*fleet
	load *load
}

// TestAvailability runs through the life of an installation under steady admissions.
func TestAvailability(t *testing.T) {
	f := newFleet(t, 2)
	l := newLoad(t)
	s := scene{f, l}
	for _, part := range []struct {
		name string
		run  func()
	}{
		{"a rolling restart", s.restart},
		{"profiles that change", s.reload},
		{"certificates that grow old", s.rotate},
		{"a replica hangs", s.hang},
		{"a replica is killed", s.kill},
		{"etcd hangs", s.etcd},
		{"the kube-apiserver restarts", s.server},
	} {
		started := time.Now()
		part.run()
		t.Logf("%s: %s", part.name, time.Since(started).Round(time.Second))
		if t.Failed() {
			t.Fatalf("after: %s", part.name)
		}
	}
	l.stop()
	s.stored()
	s.end()
}

// restart replaces all replicas, and with them the one that leads.
func (s scene) restart() {
	s.load.more()
	for _, r := range s.all() {
		s.roll(r)
		s.load.more()
	}
	s.load.none()
}

// reload changes the profile; each object has the old one's number or the new one's, until all replicas have the new one active.
func (s scene) reload() {
	for number := range int64(3) {
		s.load.newest.Store(number + 1)
		s.write(profile(number + 1))
		for _, r := range s.all() {
			eventually(s.t, "the profile is active", func() bool {
				return r.metric(fmt.Sprintf(`graft_profile_reloads_total{result="success"} %d`, number+2))
			})
		}
		s.load.oldest.Store(number + 1)
		s.load.more()
	}
	s.load.none()
}

// rotate lets the CA and the server certificate be old enough, so that the replica that leads next makes new ones: callers trust both CAs, replicas show old
// and new certificates side by side, and in the end new ones alone.
func (s scene) rotate() {
	before := serials(s.all())
	secrets := &corev1.SecretList{}
	if err := land.Client().List(s.t.Context(), secrets, client.InNamespace(namespace), client.HasLabels{"valid-until-time"}); err != nil {
		s.t.Fatal(err)
	}
	if len(secrets.Items) < 2 {
		s.t.Fatalf("there are %d certificates", len(secrets.Items))
	}
	for i := range secrets.Items {
		secret := secrets.Items[i].DeepCopy()
		secret.Labels["valid-until-time"] = fmt.Sprint(time.Now().Add(time.Hour).Unix())
		if err := land.Client().Update(s.t.Context(), secret); err != nil {
			s.t.Fatal(err)
		}
	}
	bundle, served := s.registration().Webhooks[0].ClientConfig.CABundle, s.secret("provider-graft-webhook-server").Name
	leader, _ := s.leader()
	s.roll(leader)
	eventually(s.t, "both CAs are trusted", func() bool {
		now := s.registration().Webhooks[0].ClientConfig.CABundle
		return strings.Contains(string(now), strings.TrimSpace(string(bundle))) && strings.Count(string(now), "BEGIN CERTIFICATE") == 2
	})
	eventually(s.t, "there is a new certificate", func() bool { return s.secret("provider-graft-webhook-server").Name != served })
	s.load.more()
	for _, r := range s.all() {
		s.roll(r)
		s.load.more()
	}
	for serial := range serials(s.all()) {
		if before[serial] {
			s.t.Error("a replica shows the old certificate still")
		}
	}
	s.load.none()
}

// serials are the numbers of the certificates that replicas show.
func serials(replicas []*replica) map[string]bool {
	found := map[string]bool{}
	for _, r := range replicas {
		connection, err := tls.Dial("tcp", r.Webhook, &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
			found[serial(s.PeerCertificates)] = true
			return nil
		}})
		if err != nil {
			r.fleet.t.Error(err)
			continue
		}
		_ = connection.Close()
	}
	return found
}

func serial(chain []*x509.Certificate) string { return chain[0].SerialNumber.String() }

// kill kills the leader. Its open calls are lost, and another replica leads.
func (s scene) kill() {
	leader, _ := s.leader()
	s.lose(leader, func() {
		leader.signal(syscall.SIGKILL)
		s.forget(leader)
	})
	s.start()
	s.ready()
	next, _ := s.leader()
	s.write(profile(3) + "controlplaneexposure:\n  kube-apiserver:\n  - annotations: {set: {a: b}}\n")
	eventually(s.t, "the next leader registers what is new", func() bool { return len(s.registration().Webhooks) == 2 })
	s.load.more()
	s.load.none()
	if next == leader {
		s.t.Error("who is dead leads")
	}
}

// hang stops a replica: calls to it end by the webhook's timeout, and no further ones reach it. When it goes on, it serves again.
func (s scene) hang() {
	_, other := s.leader()
	s.lose(other, func() {
		other.signal(syscall.SIGSTOP)
		eventually(s.t, "the replica is taken out", func() bool { return !s.b.isReady(other.Webhook) })
	})
	other.signal(syscall.SIGCONT)
	s.ready()
	s.load.more()
	s.load.none()
}

// lose holds that no more calls fail than there are connections to a replica that goes, with those that are opened until it is taken out.
func (s scene) lose(r *replica, do func()) {
	s.t.Helper()
	s.load.none()
	s.b.mark(r.Webhook)
	do()
	s.load.more()
	marked := s.b.marked(r.Webhook)
	webhook, others := s.load.failures()
	if len(webhook) > marked.most() || len(others) > 0 {
		s.t.Errorf("%d calls failed, with %+v connections: %v %v", len(webhook), marked, webhook, others)
	}
	s.t.Logf("%d calls failed, with %+v connections", len(webhook), marked)
}

// etcd stops etcd until no replica leads. Only calls that the kube-apiserver itself cannot serve fail: the former
// leader also answers, and ends only when no calls arrive. Afterwards another replica leads.
func (s scene) etcd() {
	pid, _ := server(s.t, "etcd")
	leader, _ := s.leader()
	s.acquaint()
	send(s.t, pid, syscall.SIGSTOP)
	eventually(s.t, "nobody leads", func() bool { return !leader.leads() })
	send(s.t, pid, syscall.SIGCONT)
	if status := s.forget(leader); status != 1 || !strings.Contains(leader.Log.String(), "the lease was lost") {
		s.t.Errorf("the replica that led ended with %d; it said\n%s", status, leader.Log)
	}
	s.start()
	s.recovered()
}

// server ends the kube-apiserver and starts it again.
func (s scene) server() {
	s.acquaint()
	restartServer(s.t)
	s.recovered()
}

// recovered holds that no call to the webhook has failed, and that all is well again.
func (s scene) recovered() {
	s.t.Helper()
	s.load.more()
	eventually(s.t, "all replicas are ready", func() bool {
		is := true
		for _, r := range s.all() {
			if r.HasExited() { // the kubelet starts it again
				s.forget(r)
				s.start()
			}
			is = is && s.b.isReady(r.Webhook)
		}
		return is
	})
	s.leader()
	webhook, others := s.load.failures()
	if len(webhook) > 0 {
		s.t.Errorf("%d calls to the webhook failed: %v", len(webhook), webhook)
	}
	s.t.Logf("%d calls failed that did not reach the webhook", len(others))
	s.load.more()
	s.load.none()
}

// stored holds that nothing is stored that was not mutated.
func (s scene) stored() {
	s.t.Helper()
	deployments := &unstructured.UnstructuredList{}
	deployments.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("DeploymentList"))
	if err := land.Client().List(s.t.Context(), deployments); err != nil {
		s.t.Fatal(err)
	}
	for i := range deployments.Items {
		if _, err := numberOf(&deployments.Items[i]); err != nil {
			s.t.Errorf("in %s: %v", deployments.Items[i].GetNamespace(), err)
		}
	}
}
