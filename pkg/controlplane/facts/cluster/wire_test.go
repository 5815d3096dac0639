// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/rest/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// answering asks an API server that answers so.
func answering(t *testing.T, answer func(*http.Request) (status int, body io.Reader)) rest.Interface {
	t.Helper()
	return &fake.RESTClient{
		NegotiatedSerializer: serializer.NewCodecFactory(scheme(t)).WithoutConversion(), GroupVersion: extensionsv1alpha1.SchemeGroupVersion,
		VersionedAPIPath: "/apis/extensions.gardener.cloud/v1alpha1",
		Client: fake.CreateHTTPClient(func(r *http.Request) (*http.Response, error) {
			status, body := answer(r)
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body)}, nil
		}),
	}
}

// requests returns the REST client of a client.
func requests(t *testing.T, c client.WithWatch) rest.Interface {
	t.Helper()
	return answering(t, func(r *http.Request) (int, io.Reader) {
		cluster := &extensionsv1alpha1.Cluster{}
		if err := c.Get(r.Context(), client.ObjectKey{Name: path.Base(r.URL.Path)}, cluster); err != nil {
			return statusOf(err)
		}
		raw, err := json.Marshal(cluster)
		if err != nil {
			t.Error(err)
		}
		return http.StatusOK, bytes.NewReader(raw)
	})
}

// statusOf is how an API server says an error.
func statusOf(err error) (int, io.Reader) {
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	raw, _ := json.Marshal(status)
	return int(status.Code), bytes.NewReader(raw)
}

// big is a Cluster with a cloud profile of 300 KB and a word of its own in shoot and cloud profile.
func big(t *testing.T, word string) []byte {
	t.Helper()
	cluster := readCluster(t)
	cluster.ResourceVersion = word
	for _, raw := range []*[]byte{&cluster.Spec.Shoot.Raw, &cluster.Spec.CloudProfile.Raw} {
		var tree map[string]any
		if err := json.Unmarshal(*raw, &tree); err != nil {
			t.Fatal(err)
		}
		spec := tree["spec"].(map[string]any)
		spec["word"] = word
		if tree["kind"] == "CloudProfile" {
			spec["caBundle"] = strings.Repeat("x", 300_000)
		}
		var err error
		if *raw, err = json.Marshal(tree); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := json.Marshal(cluster)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestBuffer checks that a Cluster is read into reused memory without changing kept parts of earlier ones.
func TestBuffer(t *testing.T) {
	one, other := big(t, "1"), big(t, "2")
	next := one
	w := &wire{client: answering(t, func(*http.Request) (int, io.Reader) { return http.StatusOK, bytes.NewReader(next) })}
	shared := newSharedResources()
	get := func(raw []byte) *facts.Facts {
		t.Helper()
		next = raw
		found := shared.newResult(namespace, facts.AllParts())
		if _, err := w.get(t.Context(), namespace, found); err != nil {
			t.Fatal(err)
		}
		return found.facts
	}
	first, second := get(one), get(other)
	for word, f := range map[string]*facts.Facts{"1": first, "2": second} {
		if got := []any{f.Shoot.Manifest.In("word"), part(t, f.CloudProfile).Manifest.In("word")}; got[0] != word || got[1] != word {
			t.Errorf("got %v, want %s", got, word)
		}
	}
	if first.CloudProfile == second.CloudProfile || get(one).CloudProfile != first.CloudProfile {
		t.Error("a cloud profile is not kept once for each content")
	}
	// Sometimes a pool is empty, because the garbage collector and the race detector clear it: the median decides.
	each := make([]uint64, 101)
	for i := range each {
		before := allocated()
		get(one)
		each[i] = allocated() - before
	}
	slices.Sort(each)
	if median := each[len(each)/2]; median > uint64(len(one))/2 {
		t.Errorf("each time, %d bytes are allocated for a Cluster of %d", median, len(one))
	}
}

// allocated is how many bytes were allocated so far.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// TestAnswers checks the handling of answers that are not Clusters.
func TestAnswers(t *testing.T) {
	whole := string(big(t, "1"))
	for _, test := range []struct {
		name   string
		status int
		body   io.Reader
		want   error
	}{
		{"reports an object that does not exist", http.StatusNotFound, strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`), facts.ErrNotFound},
		{"reports a request without permission", http.StatusForbidden, strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`), facts.ErrUnavailable},
		{"without its definition", http.StatusNotFound, strings.NewReader("404 page not found\n"), facts.ErrUnavailable},
		{"no answer of an API server", http.StatusBadGateway, strings.NewReader("secret"), facts.ErrUnavailable},
		{"ends in the middle", http.StatusOK, io.MultiReader(strings.NewReader(whole[:1000]), broken{}), facts.ErrUnavailable},
		{"only half of the body", http.StatusOK, strings.NewReader(whole[:1000]), facts.ErrUndecodable},
		{"rejects metadata of a wrong type", http.StatusOK, strings.NewReader(`{"metadata":["secret"]}`), facts.ErrUndecodable},
		{"a shoot of another kind", http.StatusOK, strings.NewReader(strings.Replace(whole, `"kind":"Shoot"`, `"kind":"Seed"`, 1)), facts.ErrUndecodable},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &wire{client: answering(t, func(*http.Request) (int, io.Reader) { return test.status, test.body })}
			shared := newSharedResources()
			_, err := w.get(t.Context(), namespace, shared.newResult(namespace, facts.AllParts()))
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if test.want != facts.ErrNotFound && errors.Is(err, facts.ErrNotFound) {
				t.Errorf("want an error other than ErrNotFound, got %v", err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error contains the server's answer: %v", err)
			}
		})
	}
}

// broken is a connection that breaks.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// FuzzDecodeCluster compares the streaming decoder with the decoder of whole Clusters.
func FuzzDecodeCluster(f *testing.F) {
	raw, err := os.ReadFile("../testdata/cluster.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{string(raw), `{"spec":{"shoot":null}}`, `{"spec":{"shoot":{"kind":"Seed"}}}`, `{"spec":1}`, `{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		shared := newSharedResources()
		found := shared.newResult(namespace, facts.AllParts())
		_, err := decodeCluster(raw, found)
		if err != nil {
			if !errors.Is(err, facts.ErrUndecodable) {
				t.Fatal(err)
			}
			return
		}
		want, err := facts.FromCluster(raw)
		if err != nil {
			return // it is of another kind: the API server is believed
		}
		if (want.Shoot == nil) != (found.facts.Shoot == nil) {
			t.Fatalf("got %+v, want %+v", found.facts.Shoot, want.Shoot)
		}
		if want.Shoot != nil && want.Shoot.Kubernetes != found.facts.Shoot.Kubernetes {
			t.Errorf("got %s, want %s", found.facts.Shoot.Kubernetes, want.Shoot.Kubernetes)
		}
	})
}
