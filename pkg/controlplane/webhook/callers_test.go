// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/test/metrics"
)

// caller decides on callers, with a registrar.
type caller struct {
	*Callers
	*bench
	registry *prometheus.Registry
}

// issue sets the segments of the CAs.
func (c *caller) issue(known ...Segment) {
	c.Trust.current.Store(&issued{bundle: c.Trust.bundle(), segments: known})
}

func newCaller(t *testing.T) *caller {
	t.Helper()
	c := &caller{bench: newBench(t), registry: prometheus.NewRegistry()}
	c.Callers = &Callers{Segments: c.Trust.Segments, Metrics: NewMetrics(c.registry)}
	return c
}

// expectAccepted holds which paths are answered.
func (c *caller) expectAccepted(t *testing.T, want string, paths ...string) {
	t.Helper()
	var got []string
	for _, path := range paths {
		recorder := httptest.NewRecorder()
		if c.Allow(recorder, httptest.NewRequest(http.MethodPost, path, strings.NewReader("{}"))) {
			got = append(got, path)
		} else if recorder.Code != http.StatusNotFound || recorder.Body.Len() > 0 {
			t.Errorf("%s: HTTP %d: %s", path, recorder.Code, recorder.Body)
		}
	}
	if strings.Join(got, " ") != want {
		t.Errorf("accepted are %q, want %q", got, want)
	}
}

const (
	plainPath  = "/webhooks/controlplane/openstack"
	firstPath  = "/webhooks/first/controlplane/openstack"
	secondPath = "/webhooks/second/controlplane/openstack"
)

// TestCallers rotates a segment: both are accepted before the new one is registered, and as long as both CAs are kept.
func TestCallers(t *testing.T) {
	c, start := newCaller(t), time.Unix(1e9, 0)
	paths := []string{plainPath, firstPath, secondPath, "/webhooks//controlplane/openstack", "/webhooks/", "/webhooks/first", "/", "/webhooks/first/a/b/c"}
	c.issue(Segment{"first", start})
	c.expectAccepted(t, firstPath, paths...)
	c.reconcile(t)
	expectRegistered(t, c.bench, firstPath)

	c.issue(Segment{"second", start.Add(time.Hour)}, Segment{"first", start})
	c.bench.clock.SetTime(start.Add(time.Hour + settle/2))
	c.expectAccepted(t, firstPath+" "+secondPath, paths...)
	c.reconcile(t)
	expectRegistered(t, c.bench, firstPath)
	c.bench.clock.SetTime(start.Add(time.Hour + settle))
	c.reconcile(t)
	expectRegistered(t, c.bench, secondPath)

	c.expectAccepted(t, firstPath+" "+secondPath, paths...)

	// The Secrets of both are lost, and a new one is created.
	c.issue(Segment{"third", start.Add(2 * time.Hour)})
	c.bench.clock.SetTime(start.Add(2 * time.Hour))
	c.expectAccepted(t, "", paths...)
	c.reconcile(t)
	expectRegistered(t, c.bench, "/webhooks/third/controlplane/openstack")

	if got := metrics.Count(t, c.registry, "graft_unauthorized_reviews_total", map[string]string{"missing": "path"}); got == 0 {
		t.Error("the rejected request was not counted")
	}
	c.issue()
	c.expectAccepted(t, "", "/webhooks/third/controlplane/openstack")
}

func expectRegistered(t *testing.T, b *bench, path string) {
	t.Helper()
	if got := pathOf(&b.read(t).Webhooks[0]); got != path {
		t.Errorf("registered is %s, want %s", got, path)
	}
	if err := b.Check(t.Context(), true); err != nil {
		t.Error(err)
	}
}

// TestCallersCertificate checks that a configured client CA requires a certificate in addition to the segment.
func TestCallersCertificate(t *testing.T) {
	c := newCaller(t)
	c.issue(Segment{"first", time.Unix(0, 0)})
	c.Certificates = true
	verified := &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}
	for name, test := range map[string]struct {
		path string
		tls  *tls.ConnectionState
		want int
	}{
		"a certificate and the segment":            {firstPath, verified, http.StatusOK},
		"denies a caller without TLS":              {firstPath, nil, http.StatusForbidden},
		"denies a caller without a certificate":    {firstPath, &tls.ConnectionState{}, http.StatusForbidden},
		"does not find a path without the segment": {plainPath, verified, http.StatusNotFound},
		"neither TLS nor the segment":              {plainPath, nil, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			recorder, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, test.path, nil)
			request.TLS = test.tls
			if allowed := c.Allow(recorder, request); recorder.Code != test.want || allowed != (test.want == http.StatusOK) || recorder.Body.Len() > 0 {
				t.Errorf("HTTP %d, allowed %v: %s", recorder.Code, allowed, recorder.Body)
			}
		})
	}
}

// TestUnauthorized checks that a caller without the segment causes neither an admission nor a log entry.
func TestUnauthorized(t *testing.T) {
	c := newCaller(t)
	c.issue(Segment{"first", time.Unix(0, 0)})
	asked := 0
	f := serve(t, engine(func(context.Context, mutation.Request) (*mutation.Result, error) {
		asked++
		return &mutation.Result{}, nil
	}), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.Allow(w, r) {
				next.ServeHTTP(w, r)
			}
		})
	})
	for _, path := range []string{plainPath, secondPath, "/elsewhere"} {
		if status, answer := f.post(t, path, reviewOf(nil)); status != http.StatusNotFound || answer != "" {
			t.Errorf("%s: HTTP %d: %s", path, status, answer)
		}
	}
	if asked != 0 || f.log.Len() > 0 {
		t.Errorf("unexpected admissions or log lines: %d admissions, log %q", asked, f.log.String())
	}
	f.review(t, firstPath, reviewOf(nil))
	if status, _ := f.post(t, "/webhooks/first/controlplane/openstack/x", []byte("x")); status != http.StatusNotFound {
		t.Errorf("another path: HTTP %d", status)
	}
	f.post(t, firstPath, []byte("x"))
	if asked != 1 || strings.Contains(f.log.String(), "first") {
		t.Errorf("unexpected admissions or log lines: %d admissions, log %q", asked, f.log.String())
	}
}

// TestSegmentOf checks that a segment depends only on its key, and has only characters that a path permits.
func TestSegmentOf(t *testing.T) {
	one, other := segmentOf([]byte("key")), segmentOf([]byte("another"))
	if one == other || one != segmentOf([]byte("key")) || len(one) != 32 || strings.Trim(one, "0123456789abcdef") != "" {
		t.Errorf("the segments are %q and %q", one, other)
	}
}

// other is a second installation.
func other(namespace string, created time.Time, serves string) (*corev1.Namespace, *admissionregistrationv1.MutatingWebhookConfiguration) {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, CreationTimestamp: metav1.NewTime(created)}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
			Name: service.Service + "." + namespace, Labels: map[string]string{nameLabel: service.Service, NamespaceLabel: namespace},
			Annotations: map[string]string{ServesAnnotation: serves},
		}}
}

// TestInstallations checks to which installations this one yields.
func TestInstallations(t *testing.T) {
	start := time.Unix(1e9, 0)
	route, beside := Route{Set: target.ControlPlane, Provider: "openstack"}, Route{Set: target.ControlPlane, Provider: "aws"}
	for name, test := range map[string]struct {
		created time.Time
		serves  string
		change  func(*corev1.Namespace, *admissionregistrationv1.MutatingWebhookConfiguration)
		want    bool
	}{
		"sees a newer installation":                  {start.Add(time.Hour), openstackName, nil, true},
		"ignores an older installation":              {start.Add(-time.Hour), openstackName, nil, false},
		"segment of another installation":            {start.Add(time.Hour), "controlplane.gcp" + webhookDomain, nil, false},
		"ignores an installation that only observes": {start.Add(time.Hour), "", nil, false},
		"without its namespace": {start.Add(time.Hour), openstackName, func(n *corev1.Namespace, _ *admissionregistrationv1.MutatingWebhookConfiguration) {
			n.Name = "another"
		}, false},
		"ignores a namespace in deletion": {start.Add(time.Hour), openstackName, func(n *corev1.Namespace, _ *admissionregistrationv1.MutatingWebhookConfiguration) {
			n.DeletionTimestamp, n.Finalizers = &metav1.Time{Time: start}, []string{"kubernetes"}
		}, false},
		"with a virtual garden": {start.Add(time.Hour), openstackName, func(_ *corev1.Namespace, c *admissionregistrationv1.MutatingWebhookConfiguration) {
			c.Labels[nameLabel] = service.Service + "-runtime"
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			namespace, registration := other("extension-next", test.created, test.serves)
			if test.change != nil {
				test.change(namespace, registration)
			}
			b := newBench(t, namespace, registration)
			if err := b.Installations.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if b.Installations.Yields(route) {
				t.Error("the installation yields before every API server calls the newer one")
			}
			b.clock.SetTime(b.clock.Now().Add(yieldAfter))
			if err := b.Installations.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := b.Installations.Yields(route); got != test.want || b.Installations.Yields(beside) {
				t.Errorf("it yields: %v, want %v", got, test.want)
			}
			// The other announces that it goes.
			registration.Annotations[ServesAnnotation] = ""
			if err := b.Client.Update(t.Context(), registration); err != nil {
				t.Fatal(err)
			}
			if err := b.Installations.Refresh(t.Context()); err != nil || b.Installations.Yields(route) {
				t.Errorf("the installation yields to one that is being removed (%v)", err)
			}
		})
	}
	var none *Installations
	if none.Yields(route) {
		t.Error("the only installation yields")
	}
}
