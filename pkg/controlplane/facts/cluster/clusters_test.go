// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

// counting is a client that counts the Clusters that are got, and fails the test where whole ones are listed.
func counting(t *testing.T, got *atomic.Int64, objects ...client.Object) client.WithWatch {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
			if _, ok := into.(*extensionsv1alpha1.Cluster); ok {
				got.Add(1)
			}
			return c.Get(ctx, key, into, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, ok := list.(*extensionsv1alpha1.ClusterList); ok {
				t.Error("whole Clusters are listed")
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
}

// reading returns a source that reads the versions of Clusters from the metadata.
func reading(c client.Client) *Source { return New(c, c, Options{MetadataOnly: true}) }

// TestClusterIsReadOncePerVersion checks that a Cluster is read once for each version, also while its metadata is not
// known, and that changes and deletions are noticed.
func TestClusterIsReadOncePerVersion(t *testing.T) {
	var got atomic.Int64
	c := counting(t, &got, readCluster(t), makeNamespace(namespace))
	before := New(failing(t, apierrors.NewNotFound(schema.GroupResource{}, namespace)), c, Options{MetadataOnly: true})
	for range 2 {
		if f, err := before.Read(t.Context(), namespace); err != nil || f.Kubernetes() != "1.33.4" {
			t.Fatalf("got %v of %v", err, f)
		}
	}
	if got.Load() != 2 {
		t.Errorf("%d Clusters were got before any are known, want 2", got.Load())
	}
	s := reading(c)
	version := func() string {
		t.Helper()
		f, err := s.Read(t.Context(), namespace)
		if err != nil {
			t.Fatal(err)
		}
		return f.Kubernetes()
	}
	got.Store(0)
	if a, b := version(), version(); a != "1.33.4" || b != a || got.Load() != 1 {
		t.Errorf("got %s and %s, and the Cluster %d times", a, b, got.Load())
	}
	cluster := &extensionsv1alpha1.Cluster{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: namespace}, cluster); err != nil {
		t.Fatal(err)
	}
	cluster.Spec.Shoot.Raw = []byte(strings.Replace(string(cluster.Spec.Shoot.Raw), "1.33.4", "1.34.0", 1))
	if err := c.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if got := version(); got != "1.34.0" {
		t.Errorf("got %s after a change", got)
	}
	got.Store(0)
	if version(); got.Load() != 0 {
		t.Error("a version that is known was got again")
	}
	if err := c.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), namespace); !errors.Is(err, facts.ErrNotFound) {
		t.Errorf("got %v for a Cluster that is gone", err)
	}
}

// TestConcurrentRequestsShareOneRead checks that concurrent requests for a Cluster share one read, and that waiting
// ends with the context.
func TestConcurrentRequestsShareOneRead(t *testing.T) {
	var got atomic.Int64
	s := reading(counting(t, &got, readCluster(t), makeNamespace(namespace)))
	turn := s.turn(namespace)
	if err := turn.Acquire(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Read(ended, namespace); !errors.Is(err, facts.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := s.Read(t.Context(), namespace); err != nil {
				t.Error(err)
			}
		})
	}
	turn.Release(1)
	group.Wait()
	if got.Load() != 1 {
		t.Errorf("the Cluster was got %d times", got.Load())
	}
}

// many is a seed with a Cluster for each shoot, each with a copy of a cloud profile of 300 KB.
type many struct {
	client.Reader // the namespaces

	cluster *extensionsv1alpha1.Cluster
}

func (m many) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	cluster, ok := into.(*extensionsv1alpha1.Cluster)
	if !ok {
		defer func() { into.SetName(key.Name) }()
		return m.Reader.Get(ctx, client.ObjectKey{Name: namespace}, into, options...)
	}
	*cluster = *m.cluster.DeepCopy()
	cluster.Name, cluster.UID, cluster.ResourceVersion = key.Name, types.UID(key.Name), "1"
	return nil
}

// TestKeptPartOfClusterIsSmall checks that the kept part of a Cluster is small, even with a large cloud profile.
func TestKeptPartOfClusterIsSmall(t *testing.T) {
	m := many{reader(t, makeNamespace(namespace)), readCluster(t)}
	var profile map[string]any
	if err := json.Unmarshal(m.cluster.Spec.CloudProfile.Raw, &profile); err != nil {
		t.Fatal(err)
	}
	profile["spec"].(map[string]any)["caBundle"] = strings.Repeat("x", 300_000)
	var err error
	if m.cluster.Spec.CloudProfile.Raw, err = json.Marshal(profile); err != nil {
		t.Fatal(err)
	}
	const shoots, allowed = 100, 25_000
	s := New(m, m, Options{})
	before := heap()
	for i := range shoots {
		f, err := s.Read(t.Context(), fmt.Sprint("shoot-", i))
		if err != nil {
			t.Fatal(err)
		}
		if spec := fieldOf(f, "cloudProfile", "spec"); spec.Type().TypeName() != "map" {
			t.Fatal("no cloud profile")
		}
	}
	if grown := int64(heap()-before) / shoots; grown > allowed {
		t.Errorf("each Cluster takes %d bytes, more than %d", grown, allowed)
	}
	if kept := s.facts.Len(); kept != shoots {
		t.Errorf("%d Clusters are kept", kept)
	}
}

// heap returns the heap in use.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
