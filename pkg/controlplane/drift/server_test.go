// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// serve starts an API server below a path, as behind a proxy.
func serve(t *testing.T, handler http.HandlerFunc) drift.Server {
	t.Helper()
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	scheme := runtime.NewScheme()
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"}, &metav1.Status{})
	config := &rest.Config{Host: web.URL + "/cluster/", QPS: -1}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.UnversionedRESTClientForConfigAndClient(config, web.Client())
	if err != nil {
		t.Fatal(err)
	}
	return drift.Server{Client: client, Timeout: time.Minute, MostBytes: 1 << 20}
}

// TestServer checks the sent requests and the handling of the answers.
func TestServer(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/cluster/api/said":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}`)
		case "/cluster/api/unsaid":
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>")
		default:
			_, _ = fmt.Fprintf(w, "%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("Content-Type"), body)
		}
	})
	if got, err := s.Read(t.Context(), "/api/x", url.Values{"a": {"b"}}); err != nil || string(got) != "GET /cluster/api/x?a=b  " {
		t.Errorf("%s, %v", got, err)
	}
	const touch = "PATCH /cluster/api/x?fieldManager=graft-drift application/merge-patch+json {}"
	if got, err := s.Touch(t.Context(), "/api/x"); err != nil || string(got) != touch {
		t.Errorf("%s, %v", got, err)
	}
	for path, want := range map[string]int32{"/api/said": 403, "/api/unsaid": 502} {
		_, err := s.Read(t.Context(), path, nil)
		var answer apierrors.APIStatus
		if !errors.As(err, &answer) || answer.Status().Code != want || want == 403 && err.Error() != "asking the API server: no" {
			t.Errorf("%s: %v", path, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := s.Read(ended, "/api/x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("want the error of the context, got %v", err)
	}
}

// TestServerHangs checks that a call with a missing or incomplete answer ends, and that its caller continues.
func TestServerHangs(t *testing.T) {
	for name, begin := range map[string]string{"without an answer": "", "in the answer": "{"} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if begin != "" {
					_, _ = io.WriteString(w, begin)
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			})
			s.Timeout = 20 * time.Millisecond
			if _, err := s.Read(t.Context(), "/api/x", nil); !errors.Is(err, context.DeadlineExceeded) || t.Context().Err() != nil {
				t.Errorf("want a deadline error, got %v", err)
			}
		})
	}
}

// TestServerBounds checks the size limit of answers, and that errors of the API server are still reported.
func TestServerBounds(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "large") {
			_, _ = io.WriteString(w, "12345")
		} else {
			_, _ = io.WriteString(w, "1234")
		}
	})
	s.MostBytes = 4
	if got, err := s.Read(t.Context(), "/api/small", nil); string(got) != "1234" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := s.Read(t.Context(), "/api/large", nil); got != nil || !errors.Is(err, drift.ErrTooLarge) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestSmallerPages checks that a large page is requested in parts, down to single objects, and that an object that is
// too large is reported.
func TestSmallerPages(t *testing.T) {
	s := newSeed(t)
	s.shoot("shoot", "")
	for i := range 30 {
		s.configMap("shoot", fmt.Sprintf("cloud-%02d", i), "")
	}
	fits := 3
	s.fail = func(c call) error {
		var limit int
		if strings.HasSuffix(c.path, "/configmaps") {
			_, _ = fmt.Sscan(c.query.Get("limit"), &limit)
		}
		if limit > fits {
			return drift.ErrTooLarge
		}
		return nil
	}
	if got, summary, err := s.find(compile(t, silver)); len(got) != 30 || len(summary.Unread) > 0 || err != nil {
		t.Errorf("%d found, %+v, %v", len(got), summary, err)
	}
	fits = 0
	_, summary, err := s.find(compile(t, silver))
	want := []drift.UnreadNamespace{{Namespace: "shoot", Problem: "reading configmaps: " + drift.ErrTooLarge.Error()}}
	if diff := cmp.Diff(want, summary.Unread); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// endless is an API server with lists that do not end.
type endless struct {
	*seed
	pages int
}

func (e *endless) Read(ctx context.Context, path string, query url.Values) ([]byte, error) {
	if strings.HasSuffix(path, "/configmaps") {
		e.pages++
		return []byte(`{"metadata":{"continue":"more"},"items":[]}`), nil
	}
	return e.seed.Read(ctx, path, query)
}

// TestEndlessListIsAbandoned checks that an endless list is abandoned.
func TestEndlessListIsAbandoned(t *testing.T) {
	s := newSeed(t)
	s.shoot("shoot", "")
	api := &endless{seed: s}
	f := drift.Finder{API: api, Engine: compile(t, silver)}
	summary, err := f.Find(t.Context(), func(drift.Finding) error { return nil })
	if err != nil || len(summary.Unread) != 1 || !strings.Contains(summary.Unread[0].Problem, "the list has more than 4000 pages") || api.pages != 4000 {
		t.Errorf("%d pages, %+v, %v", api.pages, summary, err)
	}
}

// slow is an engine that waits until the context ends.
type slow struct{ drift.Engine }

func (slow) Admit(ctx context.Context, _ mutation.Request) (*mutation.Result, error) {
	<-ctx.Done()
	return nil, &mutation.Failure{Reason: mutation.DeadlineExceeded, Err: ctx.Err()}
}

// TestObjectWithoutDecisionIsUnknown checks that an object without a decision of the engine is unknown, and that the search continues.
func TestObjectWithoutDecisionIsUnknown(t *testing.T) {
	s := newSeed(t)
	s.shoot("shoot", "")
	s.configMap("shoot", "cloud-a", "")
	s.configMap("shoot", "cloud-b", "")
	_, summary, err := s.find(drift.TimeLimited{Engine: slow{compile(t, silver)}, Timeout: time.Millisecond})
	if err != nil || summary.Found[drift.Unknown] != 2 {
		t.Errorf("%+v, %v", summary, err)
	}
}
