// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

func makeSecret(namespace, name string, data map[string]string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	return secret
}

// watching is a client that lists by name, as the API server does, and counts its requests.
func watching(t *testing.T, asked *[]string, objects ...client.Object) client.WithWatch {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).
		WithIndex(&corev1.Secret{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
				*asked = append(*asked, key.String())
				return c.Get(ctx, key, into, options...)
			},
		}).Build()
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for range 1000 {
		if check() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("waited in vain until " + what)
}

// TestLookupOfConstantNameIsWatched checks that an object with a constant name is read once and then watched until no program needs it.
func TestLookupOfConstantNameIsWatched(t *testing.T) {
	var asked []string
	c := watching(t, &asked, makeSecret("a", "cloudprovider", map[string]string{"region": "eu", "password": "hunter2"}), makeSecret("a", "other", nil))
	s := New(c, c, Options{Watcher: c})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = s.Start(ctx) }()
	request := facts.LookupRequest{Name: "cloud", GroupVersionKind: facts.Secret, ObjectName: "cloudprovider", Keys: []string{"region"}}
	region := func(namespace string) string {
		t.Helper()
		asked = nil
		found, err := s.Lookup(ctx, namespace, request)
		if errors.Is(err, facts.ErrNotFound) {
			return "none"
		}
		if err != nil {
			t.Fatal(err)
		}
		return found.Keys["region"]
	}
	if got := region("a"); got != "eu" || len(asked) != 1 {
		t.Errorf("before the watch: want eu and one request, got %s and %v", got, asked)
	}
	s.Serve([]facts.LookupRequest{request, {GroupVersionKind: facts.Secret, Computed: true}})
	key := keyOf(request)
	eventually(t, "the Secrets are listed", func() bool {
		s.lookups.mutex.RLock()
		defer s.lookups.mutex.RUnlock()
		return s.lookups.watchers[key].controller.HasSynced() && s.lookups.watchers[key].watches.Load()
	})
	if stored := s.lookups.watchers[key].store.List(); len(s.lookups.watchers) != 1 || len(stored) != 1 || stored[0].(*picked).found[0].Keys["password"] != "" {
		t.Errorf("the watchers %v store %v, want the key region of the Secret a/cloudprovider only", s.lookups.watchers, stored)
	}
	if got := region("a"); got != "eu" || len(asked) != 0 {
		t.Errorf("while watched: want eu and no request, got %s and %v", got, asked)
	}
	if got := region("b"); got != "none" || len(asked) != 1 {
		t.Errorf("missing object: want none and one request, got %s and %v", got, asked)
	}
	optional := request
	optional.Optional = true
	if found, err := s.Lookup(ctx, "b", optional); found != nil || err != nil || len(asked) != 1 {
		t.Errorf("missing optional object: want nothing and one request, got %v, %v, requests %v", found, err, asked)
	}
	s.lookups.watchers[key].watches.Store(false)
	if found, err := s.Lookup(ctx, "b", optional); found != nil || err != nil || len(asked) != 2 {
		t.Errorf("without a watch: want no object and two requests, got %v, %v, %v", found, err, asked)
	}
	s.lookups.watchers[key].watches.Store(true)
	if err := c.Update(ctx, makeSecret("a", "cloudprovider", map[string]string{"region": "us"})); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the change is seen", func() bool { return region("a") == "us" && len(asked) == 0 })
	if err := c.Update(ctx, makeSecret("a", "cloudprovider", map[string]string{"zone": "us"})); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the missing key is seen", func() bool { return region("a") == "none" && len(asked) == 1 })
	if err := c.Delete(ctx, makeSecret("a", "cloudprovider", nil)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deletion is seen", func() bool { return region("a") == "none" && len(s.lookups.watchers[key].store.List()) == 0 })

	more := request
	more.Keys = []string{"zone"}
	if found, absent := s.lookups.watched("b", more); found != nil || absent {
		t.Error("a watcher that lacks a requested key answered the lookup")
	}
	before := s.lookups.watchers[key]
	s.Serve([]facts.LookupRequest{request})
	if s.lookups.watchers[key] != before {
		t.Error("a watcher was replaced by the same")
	}
	s.Serve([]facts.LookupRequest{request, more})
	if w := s.lookups.watchers[key]; w == before || len(w.requests) != 2 {
		t.Error("the watcher was not replaced although the new program needs more keys")
	}
	s.Serve(nil)
	if len(s.lookups.watchers) != 0 {
		t.Error("objects that no program needs are still watched")
	}
	cancel()
	s.lookups.group.Wait()
}

// TestLookupOfComputedNameIsNotCached checks that an object with a computed name is neither watched nor cached, and that a timeout is an
// error with its name.
func TestLookupOfComputedNameIsNotCached(t *testing.T) {
	var asked []string
	c := watching(t, &asked, makeSecret("a", "x", map[string]string{"k": "v"}))
	s := New(c, c, Options{Watcher: c})
	request := facts.LookupRequest{GroupVersionKind: facts.Secret, ObjectName: "x", Keys: []string{"k"}, Computed: true}
	s.Serve([]facts.LookupRequest{request})
	for range 2 {
		if found, err := s.Lookup(t.Context(), "a", request); err != nil || found.Keys["k"] != "v" {
			t.Fatalf("got %v, %v", found, err)
		}
	}
	if len(asked) != 2 || len(s.lookups.watchers) != 0 {
		t.Errorf("want two requests and no watcher, got requests %v, watchers %v", asked, s.lookups.watchers)
	}
	slow := interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			<-ctx.Done()
			return errors.New("client rate limiter Wait returned an error")
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := New(c, slow, Options{}).Lookup(ctx, "a", request)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "reading the Secret a/x") {
		t.Errorf("got %v", err)
	}
}

// BenchmarkLookups measures the memory of three lookups for each of 2,000 control planes: named keys, compared with a
// cache of whole Secrets.
func BenchmarkLookups(b *testing.B) {
	const shoots = 2000
	names := []string{"cloudprovider", "cloud-provider-config", "acme-extra"}
	object := func(name string, shoot int) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
			"metadata": map[string]any{
				"namespace": fmt.Sprintf("shoot--project%d--cluster%d", shoot%100, shoot), "name": name, "resourceVersion": "1", "uid": fmt.Sprint(shoot),
				"labels": map[string]any{"gardener.cloud/purpose": "cloudprovider", "shoot.gardener.cloud/name": fmt.Sprint(shoot)},
			},
			"data": map[string]any{
				"region": "ZXUtY2VudHJhbC0x", "authURL": "aHR0cHM6Ly9leGFtcGxlLmNvbQ==", "password": strings.Repeat("aHVudGVy", 16),
				"cloudprovider.conf": fmt.Sprint(shoot) + strings.Repeat("W0dsb2JhbF0K", 150),
			},
		}}
	}
	used := func(keep func() any) float64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		kept := keep()
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(kept)
		return float64(after.HeapAlloc) - float64(before.HeapAlloc)
	}
	for b.Loop() {
		picked := used(func() any {
			watchers := make([]*lookupWatcher, len(names))
			for i, name := range names {
				request := facts.LookupRequest{
					GroupVersionKind: facts.Secret, Keys: []string{"region"}, Labels: []string{"gardener.cloud/purpose"}, Checksum: i == 0,
				}
				watchers[i] = newLookupWatcher(watched{}, []facts.LookupRequest{request}, nil)
				for shoot := range shoots {
					_ = watchers[i].store.Add(pick(object(name, shoot).DeepCopy(), watchers[i].requests))
				}
			}
			return watchers
		})
		whole := used(func() any {
			var objects []*unstructured.Unstructured
			for _, name := range names {
				for shoot := range shoots {
					objects = append(objects, object(name, shoot).DeepCopy())
				}
			}
			return objects
		})
		b.ReportMetric(picked/(1<<20), "MiB/kept")
		b.ReportMetric(whole/(1<<20), "MiB/whole")
		b.ReportMetric(picked/shoots, "B/shoot")
	}
}
