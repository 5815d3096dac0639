// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
)

const namespace = "shoot--garden--blue"

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(s), extensionsv1alpha1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	s.AddKnownTypeWithName(gardenKind, &unstructured.Unstructured{})
	s.AddKnownTypeWithName(gardenKind.GroupVersion().WithKind("GardenList"), &unstructured.UnstructuredList{})
	return s
}

func readCluster(t *testing.T) *extensionsv1alpha1.Cluster {
	t.Helper()
	raw, err := os.ReadFile("../testdata/cluster.json")
	if err != nil {
		t.Fatal(err)
	}
	var cluster extensionsv1alpha1.Cluster
	if err := json.Unmarshal(raw, &cluster); err != nil {
		t.Fatal(err)
	}
	return &cluster
}

func readGarden(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile("../testdata/garden.json")
	if err != nil {
		t.Fatal(err)
	}
	var garden unstructured.Unstructured
	if err := garden.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return &garden
}

func makeNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"a": "b"}}}
}

// failing is a reader with calls that all fail.
func failing(t *testing.T, err error) client.Client {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return err },
	}).Build()
}

func reader(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()
}

func TestRead(t *testing.T) {
	broken := readCluster(t)
	broken.Spec.Shoot.Raw = []byte(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Seed"}`)
	forbidden := apierrors.NewForbidden(corev1.Resource("clusters"), namespace, errors.New("no"))
	for _, c := range []struct {
		name           string
		cached, direct client.Reader
		want           error
	}{
		{"reads from the cache", reader(t, readCluster(t), makeNamespace(namespace)), failing(t, errors.New("asked")), nil},
		{"not yet cached", reader(t), reader(t, readCluster(t), makeNamespace(namespace)), nil},
		{"reports a Cluster that does not exist", reader(t), reader(t), facts.ErrNotFound},
		{"without its namespace", reader(t, readCluster(t)), reader(t), facts.ErrNotFound},
		{"reports a request without permission", failing(t, forbidden), reader(t), facts.ErrUnavailable},
		{"reports a direct read without permission", reader(t), failing(t, forbidden), facts.ErrUnavailable},
		{"out of time", failing(t, context.DeadlineExceeded), reader(t), context.DeadlineExceeded},
		{"reports a Cluster that cannot be decoded", reader(t, broken, makeNamespace(namespace)), reader(t), facts.ErrUndecodable},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := New(c.cached, c.direct, Options{}).Read(context.Background(), namespace)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err != nil {
				return
			}
			if nameOf(f, "shoot") != "blue" || nameOf(f, "seed") != "seed-eu" || nameOf(f, "cloudProfile") != "metal" || variable(f, "garden") != nil {
				t.Errorf("got %+v", f)
			}
			if diff := cmp.Diff(facts.Namespace{Name: namespace, Labels: map[string]string{"a": "b"}}, f.Namespace); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadGarden(t *testing.T) {
	second := readGarden(t)
	second.SetName("second")
	for _, c := range []struct {
		name           string
		cached, direct client.Reader
		want           error
	}{
		{"reads from the cache", reader(t, readGarden(t), makeNamespace("garden")), failing(t, errors.New("asked")), nil},
		{"not yet cached", reader(t), reader(t, readGarden(t), makeNamespace("garden")), nil},
		{"reports that there is no Garden", reader(t), reader(t), facts.ErrNotFound},
		{"rejects two Gardens", reader(t, readGarden(t), second), reader(t), facts.ErrUndecodable},
		{"reports a server that does not answer", failing(t, errors.New("down")), reader(t), facts.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := New(c.cached, c.direct, Options{}).Read(context.Background(), "garden")
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil && (f.Kubernetes() != "1.34.1" || variable(f, "shoot") != nil || f.Namespace.Labels["a"] != "b") {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// TestRefresh checks that the cached reader is not used for possibly outdated objects, and that a known version is not
// decoded again.
func TestRefresh(t *testing.T) {
	ctx, newest := context.Background(), readCluster(t)
	newest.ResourceVersion = "2"
	newest.Spec.Shoot.Raw = []byte(strings.Replace(string(newest.Spec.Shoot.Raw), "1.33.4", "1.34.0", 1))
	cached := reader(t, readCluster(t), readGarden(t), makeNamespace(namespace), makeNamespace("garden"))
	s := New(cached, reader(t, newest), Options{})
	before, err := s.Read(ctx, namespace)
	if err != nil || before.Kubernetes() != "1.33.4" {
		t.Fatalf("got %v of %v", err, before)
	}
	after, err := s.Refresh(ctx, namespace)
	if err != nil || after.Kubernetes() != "1.34.0" || after.Namespace.Labels["a"] != "b" {
		t.Fatalf("got %v of %v", err, after)
	}
	if again, err := s.Refresh(ctx, namespace); err != nil || again != after {
		t.Errorf("the same version was decoded twice: %v", err)
	}
	if garden, err := s.Read(ctx, "garden"); err != nil || garden.Kubernetes() != "1.34.1" {
		t.Errorf("got %v of %v", err, garden)
	}
	if _, err := s.Refresh(ctx, "garden"); !errors.Is(err, facts.ErrNotFound) {
		t.Errorf("want ErrNotFound for the Garden, got %v", err)
	}
}

func TestFactsAreKeptForAVersion(t *testing.T) {
	ctx, c := context.Background(), reader(t, readCluster(t), makeNamespace(namespace))
	s := New(c, c, Options{})
	read := func() *facts.Facts {
		f, err := s.Read(ctx, namespace)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first := read()
	if read() != first {
		t.Error("the same version was decoded twice")
	}

	var cluster extensionsv1alpha1.Cluster
	if err := c.Get(ctx, client.ObjectKey{Name: namespace}, &cluster); err != nil {
		t.Fatal(err)
	}
	cluster.Spec.Shoot.Raw = []byte(strings.Replace(string(cluster.Spec.Shoot.Raw), "1.33.4", "1.34.0", 1))
	if err := c.Update(ctx, &cluster); err != nil {
		t.Fatal(err)
	}
	second := read()
	if second.Kubernetes() != "1.34.0" {
		t.Errorf("got Kubernetes %s after the update", second.Kubernetes())
	}
	if variable(second, "cloudProfile") != variable(first, "cloudProfile") || variable(second, "seed") != variable(first, "seed") {
		t.Error("a cloud profile or seed that did not change was decoded again")
	}

	var ns corev1.Namespace
	if err := c.Get(ctx, client.ObjectKey{Name: namespace}, &ns); err != nil {
		t.Fatal(err)
	}
	ns.Labels["a"] = "c"
	if err := c.Update(ctx, &ns); err != nil {
		t.Fatal(err)
	}
	if got := read().Namespace.Labels["a"]; got != "c" {
		t.Errorf("got label %s after the update of the namespace", got)
	}
}

func TestLookup(t *testing.T) {
	objects := []client.Object{
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloudprovider"},
			Data:       map[string][]byte{"region": []byte("eu-1"), "password": []byte("hunter2")},
		},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "acr"}, Data: map[string]string{"conf": "x"}},
	}
	for _, c := range []struct {
		name    string
		direct  client.Reader
		request facts.LookupRequest
		want    map[string]string
		err     error
	}{
		{"reads a named key of a Secret", reader(t, objects...), facts.LookupRequest{GroupVersionKind: facts.Secret, ObjectName: "cloudprovider", Keys: []string{"region"}}, map[string]string{"region": "eu-1"}, nil},
		{"reads a named key of a ConfigMap", reader(t, objects...), facts.LookupRequest{GroupVersionKind: facts.ConfigMap, ObjectName: "acr", Keys: []string{"conf"}}, map[string]string{"conf": "x"}, nil},
		{"reports an object that does not exist", reader(t), facts.LookupRequest{GroupVersionKind: facts.Secret, ObjectName: "cloudprovider"}, nil, facts.ErrNotFound},
		{"returns nothing for an optional object", reader(t), facts.LookupRequest{GroupVersionKind: facts.ConfigMap, ObjectName: "acr", Optional: true}, nil, nil},
		{"reports a key that does not exist", reader(t, objects...), facts.LookupRequest{GroupVersionKind: facts.Secret, ObjectName: "cloudprovider", Keys: []string{"nope"}}, nil, facts.ErrNotFound},
		{"absent key, optional", reader(t, objects...), facts.LookupRequest{GroupVersionKind: facts.Secret, ObjectName: "cloudprovider", Keys: []string{"nope", "region"}, Optional: true}, map[string]string{"region": "eu-1"}, nil},
		{"reports a failure for an optional object", failing(t, errors.New("down")), facts.LookupRequest{GroupVersionKind: facts.Secret, ObjectName: "cloudprovider", Optional: true}, nil, facts.ErrUnavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := New(failing(t, errors.New("asked")), c.direct, Options{}).Lookup(context.Background(), namespace, c.request)
			if !errors.Is(err, c.err) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			var keys map[string]string
			if got != nil {
				keys = got.Keys
			}
			if diff := cmp.Diff(c.want, keys); diff != "" {
				t.Error(diff)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Error("the error contains a secret")
			}
		})
	}
}

func TestConcurrentReads(t *testing.T) {
	objects := []client.Object{}
	for i := range 8 {
		cluster := readCluster(t)
		cluster.Name, cluster.UID = fmt.Sprint("ns", i), ""
		objects = append(objects, cluster, makeNamespace(cluster.Name))
	}
	c := reader(t, objects...)
	s := New(c, c, Options{Clusters: 3})
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 40 {
				f, err := s.Read(context.Background(), fmt.Sprint("ns", (i+worker)%8))
				if err != nil || types.IsError(fieldOf(f, "shoot", "spec")) || types.IsError(fieldOf(f, "cloudProfile", "spec")) {
					t.Errorf("got %+v, %v", f, err)
					return
				}
			}
		})
	}
	group.Wait()
	if kept := s.facts.Len(); kept != 3 {
		t.Errorf("%d Clusters are kept, want 3", kept)
	}
}

// TestContentIsSharedByKind checks that a Cluster with the Seed in place of the CloudProfile does not affect others.
func TestContentIsSharedByKind(t *testing.T) {
	wrong, right := readCluster(t), readCluster(t)
	wrong.Name, wrong.UID = "wrong", ""
	right.Name, right.UID = "right", ""
	wrong.Spec.CloudProfile.Raw = wrong.Spec.Seed.Raw
	c := reader(t, wrong, right, makeNamespace("wrong"), makeNamespace("right"))
	s := New(c, c, Options{})
	for _, name := range []string{"wrong", "right"} {
		f, err := s.Read(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Decode(true, false); err != nil {
			t.Errorf("the seed of %s: %v", name, err)
		}
		if err := f.Decode(false, true); errors.Is(err, facts.ErrUndecodable) != (name == "wrong") {
			t.Errorf("the cloud profile of %s: %v", name, err)
		}
	}
}

// variable returns the value of a variable for the facts, or nil.
func variable(f *facts.Facts, name string) ref.Val {
	value, _ := f.Activation(facts.AdmittedObject{}, "CREATE").ResolveName(name)
	known, _ := value.(ref.Val)
	return known
}

// fieldOf returns a field of a variable, or an error value for an unknown variable.
func fieldOf(f *facts.Facts, name, field string) ref.Val {
	resource, ok := variable(f, name).(traits.Indexer)
	if !ok {
		return types.NewErr("%s is unknown", name)
	}
	return resource.Get(types.String(field))
}

// nameOf returns the name of a resource in the facts, or an empty string.
func nameOf(f *facts.Facts, variableName string) string {
	name, _ := fieldOf(f, variableName, "name").Value().(string)
	return name
}
