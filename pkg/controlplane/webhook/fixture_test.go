// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/test/metrics"
)

const secret = "t0p-secret"

// engine serves controlplane/openstack with a function.
type engine func(context.Context, mutation.Request) (*mutation.Result, error)

func (engine) Serves(r Route) bool {
	return r == Route{Set: target.ControlPlane, Provider: "openstack"}
}

func (e engine) Admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	return e(ctx, r)
}

func failing(reason mutation.Reason) engine {
	return func(context.Context, mutation.Request) (*mutation.Result, error) {
		return nil, &mutation.Failure{Reason: reason, Message: "what is wrong", Err: errors.New("the cause")}
	}
}

func patching(patch string) engine {
	return func(context.Context, mutation.Request) (*mutation.Result, error) {
		result := &mutation.Result{Target: "kube-apiserver", Applied: []mutation.Applied{{Profile: "p", Rule: "flags", Outcome: mutation.Changed}}}
		if patch != "" {
			result.Patch = []byte(patch)
		}
		return result, nil
	}
}

// fixture is a handler behind a real HTTP server, its log and its metrics.
type fixture struct {
	url      string
	log      bytes.Buffer
	registry *prometheus.Registry
}

func serve(t *testing.T, e Engine, around ...func(http.Handler) http.Handler) *fixture {
	t.Helper()
	f := &fixture{registry: prometheus.NewRegistry()}
	handler := &Handler{
		Engine: e, Metrics: NewMetrics(f.registry), MaxReviewBytes: 64 << 10, Timeout: 10 * time.Second,
		Log: funcr.New(func(_, args string) { f.log.WriteString(args + "\n") }, funcr.Options{}),
	}
	var served http.Handler = handler
	for _, wrap := range around {
		served = wrap(served)
	}
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// count returns the sum of the counters with a name and at least these labels.
func (f *fixture) count(t *testing.T, name string, labels map[string]string) float64 {
	t.Helper()
	return metrics.Count(t, f.registry, name, labels)
}

func reviewOf(change func(*admissionv1.AdmissionReview)) []byte {
	review := &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: types.UID(`u-1"\`), Kind: metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			Name: "kube-apiserver", Namespace: "shoot--a--b", Operation: admissionv1.Update,
			Object:    runtime.RawExtension{Raw: []byte(`{"kind":"Deployment","data":"` + secret + `"}`)},
			OldObject: runtime.RawExtension{Raw: []byte(`{"kind":"Deployment"}`)},
		},
	}
	if change != nil {
		change(review)
	}
	data, err := json.Marshal(review)
	if err != nil {
		panic(err)
	}
	return data
}

func (f *fixture) post(t *testing.T, path string, body []byte) (int, string) {
	t.Helper()
	response, err := http.Post(f.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(f.log.String(), secret) || strings.Contains(string(answer), secret) {
		t.Errorf("a value of the object leaked: log %s, answer %s", f.log.String(), answer)
	}
	return response.StatusCode, string(answer)
}

func (f *fixture) review(t *testing.T, path string, body []byte) *admissionv1.AdmissionResponse {
	t.Helper()
	status, answer := f.post(t, path, body)
	if status != http.StatusOK {
		t.Fatalf("HTTP %d: %s", status, answer)
	}
	review := &admissionv1.AdmissionReview{}
	decoder := json.NewDecoder(strings.NewReader(answer))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(review); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	if review.Kind != "AdmissionReview" || review.APIVersion != "admission.k8s.io/v1" || review.Response.UID != types.UID(`u-1"\`) {
		t.Errorf("the head of the answer is %s", answer)
	}
	return review.Response
}

const path = "/webhooks/controlplane/openstack"
