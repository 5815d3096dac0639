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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

func TestAllowed(t *testing.T) {
	patch := `[{"op":"remove","path":"/metadata/labels/a~1b"}]`
	for name, test := range map[string]struct {
		engine engine
		change func(*admissionv1.AdmissionReview)
		patch  string
		result string
	}{
		"answers with the patch":              {engine: patching(patch), patch: patch, result: "patched"},
		"answers without a patch":             {engine: patching(""), result: "unchanged"},
		"ignores an object that is no target": {engine: func(context.Context, mutation.Request) (*mutation.Result, error) { return &mutation.Result{}, nil }, result: "ignored"},
		"ignores a deletion": {engine: failing(mutation.Internal), result: "ignored", change: func(r *admissionv1.AdmissionReview) {
			r.Request.Operation, r.Request.Object = admissionv1.Delete, runtime.RawExtension{}
		}},
		"ignores a subresource": {engine: failing(mutation.Internal), result: "ignored", change: func(r *admissionv1.AdmissionReview) { r.Request.SubResource = "scale" }},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, test.engine)
			response := f.review(t, path+"?timeout=10s", reviewOf(test.change))
			if !response.Allowed || string(response.Patch) != test.patch || (response.PatchType != nil) != (test.patch != "") {
				t.Errorf("the answer is %+v", response)
			}
			if got := f.count(t, "graft_admissions_total", map[string]string{"set": "controlplane", "provider": "openstack", "result": test.result}); got != 1 {
				t.Errorf("%v admissions are counted as %s", got, test.result)
			}
		})
	}
}

// TestSlowAdmissionIsNotCancelledByCaller checks that a slow admission is not reported as cancelled by its caller if its body was already
// read, as serving.Guard does.
func TestSlowAdmissionIsNotCancelledByCaller(t *testing.T) {
	var request context.Context
	f := serve(t, engine(func(ctx context.Context, _ mutation.Request) (*mutation.Result, error) {
		<-ctx.Done()
		select {
		case <-request.Done():
			t.Error("the request is cancelled, though its caller waits")
		case <-time.After(100 * time.Millisecond):
		}
		return nil, ctx.Err()
	}), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			request, r.Body = r.Context(), io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		})
	})
	response := f.review(t, path+"?timeout=50ms", reviewOf(nil))
	if response.Allowed || response.Result.Message != "the deadline of the admission passed" {
		t.Errorf("the answer is %+v", response.Result)
	}
}

func TestRequestGivenToTheEngine(t *testing.T) {
	var got mutation.Request
	f := serve(t, engine(func(_ context.Context, r mutation.Request) (*mutation.Result, error) {
		got = r
		got.Object, got.OldObject = bytes.Clone(r.Object), bytes.Clone(r.OldObject)
		return &mutation.Result{}, nil
	}))
	began := time.Now()
	f.review(t, path, reviewOf(nil))
	want := mutation.Request{
		Set: target.ControlPlane, Provider: "openstack", Operation: "UPDATE", Namespace: "shoot--a--b", Name: "kube-apiserver",
		Group: "apps", Version: "v1", Kind: "Deployment",
		Object: []byte(`{"kind":"Deployment","data":"` + secret + `"}`), OldObject: []byte(`{"kind":"Deployment"}`),
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(mutation.Request{}, "Document", "OldDocument", "ObserveUntil")); diff != "" {
		t.Error(diff)
	}
	if got.Document == nil || got.OldDocument == nil {
		t.Error("the objects would be scanned a second time")
	}
	if until := got.ObserveUntil; until.Before(began.Add(4*time.Second)) || until.After(time.Now().Add(5*time.Second)) {
		t.Errorf("rules that are only observed have %s", until.Sub(began))
	}
}

// TestDenied has a row of the table of failures for each reason that denies.
func TestDenied(t *testing.T) {
	for reason, code := range map[mutation.Reason]int32{
		mutation.ContainerMissing: 422, mutation.ExpressionFailed: 500, mutation.ClusterMissing: 503, mutation.ClusterUndecodable: 500,
		mutation.FactsUnavailable: 503, mutation.LookupFailed: 503, mutation.LookupMissing: 422, mutation.NestedUnreadable: 422,
		mutation.ObjectUnreadable: 422, mutation.ContractBroken: 403, mutation.DeadlineExceeded: 504, mutation.NotLoaded: 503,
	} {
		t.Run(string(reason), func(t *testing.T) {
			f := serve(t, failing(reason))
			response := f.review(t, path, reviewOf(nil))
			if response.Allowed || response.Patch != nil || response.Result.Code != code || response.Result.Message != string(reason)+": what is wrong: the cause" {
				t.Errorf("the answer is %+v", response)
			}
			if got := f.count(t, "graft_admission_failures_total", map[string]string{"set": "controlplane", "provider": "openstack", "reason": string(reason)}); got != 1 {
				t.Errorf("counted %v times", got)
			}
			if got := f.count(t, "graft_admissions_total", map[string]string{"target": "kube-apiserver", "result": "denied"}); got != 1 {
				t.Errorf("%v denied admissions", got)
			}
			if !strings.Contains(f.log.String(), "the cause") {
				t.Errorf("the log lacks the cause: %s", f.log.String())
			}
		})
	}
	t.Run("an error of no reason", func(t *testing.T) {
		f := serve(t, engine(func(context.Context, mutation.Request) (*mutation.Result, error) { return nil, errors.New("oops") }))
		if response := f.review(t, path, reviewOf(nil)); response.Result.Code != 500 || response.Result.Message != "internal error" {
			t.Errorf("the answer is %+v", response.Result)
		}
	})
	t.Run("a provider that is not loaded", func(t *testing.T) {
		f := serve(t, patching(""))
		response := f.review(t, "/webhooks/controlplane/aws", reviewOf(nil))
		if response.Allowed || response.Result.Code != 503 || response.Result.Reason != metav1.StatusReasonServiceUnavailable {
			t.Errorf("the answer is %+v", response.Result)
		}
		if got := f.count(t, "graft_admission_failures_total", map[string]string{"provider": "unknown", "reason": "NotLoaded"}); got != 1 {
			t.Errorf("counted %v times", got)
		}
	})
	t.Run("an exceeded deadline gives 504", func(t *testing.T) {
		f := serve(t, engine(func(ctx context.Context, _ mutation.Request) (*mutation.Result, error) {
			<-ctx.Done()
			return nil, &mutation.Failure{Reason: mutation.LookupFailed, Message: "a lookup failed", Err: ctx.Err()}
		}))
		if response := f.review(t, path+"?timeout=20ms", reviewOf(nil)); response.Result.Code != 504 {
			t.Errorf("the answer is %+v", response.Result)
		}
		if got := f.count(t, "graft_admission_failures_total", map[string]string{"reason": "DeadlineExceeded"}); got != 1 {
			t.Errorf("counted %v times", got)
		}
	})
	t.Run("a panic gives 500", func(t *testing.T) {
		f := serve(t, engine(func(_ context.Context, r mutation.Request) (*mutation.Result, error) { panic(string(r.Object)) }))
		response := f.review(t, path, reviewOf(nil))
		if response.Allowed || response.Result.Code != 500 {
			t.Errorf("the answer is %+v", response)
		}
		if got := f.count(t, "graft_admission_failures_total", map[string]string{"reason": "Panicked"}); got != 1 {
			t.Errorf("counted %v times", got)
		}
		if !strings.Contains(f.log.String(), "handler_test.go") {
			t.Errorf("the log has no stack: %s", f.log.String())
		}
	})
}

// TestRefused checks the rows of the table without a review to answer.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct {
		body   string
		status int
		reason mutation.Reason
		say    string
	}{
		"rejects a body that is not JSON":            {secret, 400, ReviewUnreadable, "not JSON"},
		"an empty body":                              {"", 400, ReviewUnreadable, "not JSON"},
		"a truncated body":                           {string(reviewOf(nil)[:100]), 400, ReviewUnreadable, "not JSON"},
		"rejects another kind":                       {`{"kind":"Pod","apiVersion":"v1"}`, 400, ReviewVersion, "must be an AdmissionReview of admission.k8s.io/v1"},
		"rejects another version of AdmissionReview": {strings.Replace(string(reviewOf(nil)), "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1), 400, ReviewVersion, "must be an AdmissionReview of admission.k8s.io/v1"},
		"rejects a review without a request":         {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, 400, ReviewUnreadable, "lacks request.uid"},
		"request is text":                            {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":"x"}`, 400, ReviewUnreadable, "lacks request.uid"},
		"rejects a request without an object":        {string(reviewOf(func(r *admissionv1.AdmissionReview) { r.Request.Object = runtime.RawExtension{} })), 400, ReviewUnreadable, "lacks request.object"},
		"object is a list":                           {string(reviewOf(func(r *admissionv1.AdmissionReview) { r.Request.Object.Raw = []byte("[]") })), 400, ReviewUnreadable, "lacks request.object"},
		"rejects a body beyond the limit":            {`{"x":"` + strings.Repeat("a", 64<<10) + `"}`, 413, ReviewTooLarge, "larger than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, patching(""))
			status, answer := f.post(t, path, []byte(test.body))
			if status != test.status || !strings.Contains(answer, test.say) {
				t.Errorf("HTTP %d: %s", status, answer)
			}
			if got := f.count(t, "graft_admission_failures_total", map[string]string{"provider": "openstack", "reason": string(test.reason)}); got != 1 {
				t.Errorf("counted %v times as %s", got, test.reason)
			}
		})
	}
	t.Run("too large without a length", func(t *testing.T) {
		f := serve(t, patching(""))
		response, err := http.Post(f.url+path, "application/json", io.MultiReader(strings.NewReader(`"`), strings.NewReader(strings.Repeat("a", 70<<10))))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("HTTP %d", response.StatusCode)
		}
	})
	t.Run("panic before the UID is known", func(t *testing.T) {
		f := serve(t, panicking{})
		if status, answer := f.post(t, path, reviewOf(nil)); status != 500 || answer != "internal error\n" {
			t.Errorf("HTTP %d: %s", status, answer)
		}
	})
}

type panicking struct{}

func (panicking) Serves(Route) bool { panic("oops") }

func (panicking) Admit(context.Context, mutation.Request) (*mutation.Result, error) { return nil, nil }

func TestRequestsWithoutReview(t *testing.T) {
	for name, test := range map[string]struct {
		method, path, media string
		status              int
	}{
		"rejects the method GET":                  {"GET", path, "application/json", 405},
		"rejects a body in YAML":                  {"POST", path, "application/yaml", 415},
		"no media type":                           {"POST", path, "", 415},
		"does not find another path":              {"POST", "/mutate", "application/json", 404},
		"does not find an unknown set":            {"POST", "/webhooks/infrastructure/openstack", "application/json", 404},
		"does not find a path without a provider": {"POST", "/webhooks/controlplane/", "application/json", 404},
		"only a set":                              {"POST", "/webhooks/controlplane", "application/json", 404},
		"a path too long":                         {"POST", path + "/x", "application/json", 404},
		"accepts a media type with a parameter":   {"POST", path, "application/json; charset=utf-8", 200},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, patching(""))
			request, err := http.NewRequest(test.method, f.url+test.path, bytes.NewReader(reviewOf(nil)))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", test.media)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != test.status {
				t.Errorf("HTTP %d, want %d", response.StatusCode, test.status)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"":             9500 * time.Millisecond,
		"?timeout=10s": 9500 * time.Millisecond,
		"?timeout=1s":  800 * time.Millisecond,
		"?timeout=30s": 9500 * time.Millisecond,
		"?timeout=-1s": 9500 * time.Millisecond,
		"?timeout=no":  9500 * time.Millisecond,
	} {
		t.Run(query, func(t *testing.T) {
			if got := timeout(httptest.NewRequest(http.MethodPost, path+query, nil), 10*time.Second); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestCallerHangsUp(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := denialOf(ctx, errors.New("cut short")); got.reason != Cancelled {
		t.Errorf("got %+v", got)
	}
}

func FuzzParseReview(f *testing.F) {
	f.Add(reviewOf(nil))
	f.Add([]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"\ud800","operation":"CREATE","kind":{"kind":"X"},"object":{}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		review, err := parseReview(body, Route{})
		if err != nil {
			return
		}
		answer := httptest.NewRecorder()
		review.respond(answer, httptest.NewRequest(http.MethodPost, "/", nil), patched(&mutation.Result{Patch: []byte("[]")}))
		if !json.Valid(answer.Body.Bytes()) {
			t.Errorf("the answer is not JSON: %s", answer.Body)
		}
	})
}
