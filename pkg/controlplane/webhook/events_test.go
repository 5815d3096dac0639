// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// told is a recorded Event.
type told struct {
	Object                *corev1.ObjectReference
	Kind, Reason, Message string
}

// listener is a recorder that keeps its Events.
type listener struct {
	record.EventRecorder
	told []told
}

func (l *listener) Event(object runtime.Object, kind, reason, message string) {
	l.told = append(l.told, told{object.(*corev1.ObjectReference), kind, reason, message})
}

// serveEvents returns a handler that records its Events.
func serveEvents(t *testing.T, e Engine) (*fixture, *listener) {
	t.Helper()
	f, l := &fixture{registry: prometheus.NewRegistry()}, &listener{}
	measures := NewMetrics(f.registry)
	server := httptest.NewServer(&Handler{
		Engine: e, Metrics: measures, MaxReviewBytes: 64 << 10, Timeout: 10 * time.Second, Log: logr.Discard(),
		Events: NewEvents(l, func(_ context.Context, namespace string) bool { return strings.HasPrefix(namespace, "shoot--") }, measures),
	})
	t.Cleanup(server.Close)
	f.url = server.URL
	return f, l
}

func TestEvents(t *testing.T) {
	const message = "ContainerMissing: what is wrong: the cause"
	for name, test := range map[string]struct {
		engine engine
		change func(*admissionv1.AdmissionRequest)
		want   []told
	}{
		"records a denied update at the object": {
			engine: failing(mutation.ContainerMissing),
			change: func(r *admissionv1.AdmissionRequest) {
				r.OldObject.Raw = []byte(`{"kind":"Deployment","metadata":{"uid":"u-7"}}`)
			},
			want: []told{{
				&corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shoot--a--b", Name: "kube-apiserver", UID: "u-7"},
				"Warning", "ContainerMissing", message,
			}},
		},
		"records a denied creation at the namespace": {
			engine: failing(mutation.ContainerMissing),
			change: func(r *admissionv1.AdmissionRequest) {
				r.Operation, r.OldObject.Raw, r.Kind.Group = admissionv1.Create, nil, ""
			},
			want: []told{{
				&corev1.ObjectReference{APIVersion: "v1", Kind: "Deployment", Namespace: "shoot--a--b", Name: "kube-apiserver"},
				"Warning", "ContainerMissing", message,
			}},
		},
		"an object without a name": {
			engine: failing(mutation.ContainerMissing),
			change: func(r *admissionv1.AdmissionRequest) { r.Name = "" },
			want: []told{{
				&corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Namespace: "shoot--a--b", Name: "shoot--a--b"},
				"Warning", "ContainerMissing", message,
			}},
		},
		"an object without a namespace": {engine: failing(mutation.ContainerMissing), change: func(r *admissionv1.AdmissionRequest) { r.Namespace = "" }},
		"a namespace without a Cluster": {engine: failing(mutation.ContainerMissing), change: func(r *admissionv1.AdmissionRequest) { r.Namespace = "kube-system" }},
		"a dry run":                     {engine: failing(mutation.ContainerMissing), change: func(r *admissionv1.AdmissionRequest) { r.DryRun = ptr.To(true) }},
		"an object that is admitted":    {engine: patching("")},
		"an error of no reason": {
			engine: func(context.Context, mutation.Request) (*mutation.Result, error) {
				return nil, errors.New("oops: " + secret)
			},
			change: func(r *admissionv1.AdmissionRequest) { r.DryRun = ptr.To(false) },
			want: []told{{
				&corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shoot--a--b", Name: "kube-apiserver"},
				"Warning", "Internal", "internal error",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, l := serveEvents(t, test.engine)
			f.review(t, path, reviewOf(func(r *admissionv1.AdmissionReview) {
				if test.change != nil {
					test.change(r.Request)
				}
			}))
			if diff := cmp.Diff(test.want, l.told); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := f.count(t, "graft_events_total", map[string]string{"result": "queued"}); got != float64(len(test.want)) {
				t.Errorf("%v events are counted", got)
			}
		})
	}
}

// TestEventsAreBounded checks the rate limit of Events, and that dropped ones are counted.
func TestEventsAreBounded(t *testing.T) {
	f, l := serveEvents(t, failing(mutation.LookupFailed))
	const storm = 4 * eventBurst
	for range storm {
		f.review(t, path, reviewOf(nil))
	}
	dropped := f.count(t, "graft_events_total", map[string]string{"result": "dropped"})
	if len(l.told) < eventBurst || dropped == 0 || float64(len(l.told))+dropped != storm {
		t.Errorf("of %d denials %d made an event, and %v are counted as dropped", storm, len(l.told), dropped)
	}
}

func TestShorten(t *testing.T) {
	for name, message := range map[string]string{
		"a short text": "short", "a text of the maximum length": strings.Repeat("x", maximumEventBytes),
		"a text beyond the limit":    strings.Repeat("x", 3*maximumEventBytes),
		"text of three-byte letters": strings.Repeat("€", maximumEventBytes), "a text that is not UTF-8": strings.Repeat("\xff", 2*maximumEventBytes),
	} {
		t.Run(name, func(t *testing.T) {
			got := shorten(message)
			if len(message) <= maximumEventBytes && got != message || len(got) > maximumEventBytes || len(got) < min(len(message), maximumEventBytes-8) {
				t.Errorf("a message of %d bytes was shortened to %d bytes", len(message), len(got))
			}
			if utf8.ValidString(message) && !utf8.ValidString(got) {
				t.Error("a letter is cut")
			}
		})
	}
}
