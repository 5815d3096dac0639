// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
)

var versions = []string{"1.31.0", "1.32.4", "1.33.1", "1.34.2"}

// matrix is every combination of a version with the four switches.
func matrix() []Options {
	var out []Options
	for _, version := range versions {
		for bits := range 16 {
			out = append(out, Options{
				Kubernetes: version, HighAvailability: bits&1 != 0, IPv6: bits&2 != 0, Hibernated: bits&4 != 0, Workerless: bits&8 != 0,
			})
		}
	}
	return out
}

func label(o Options) string {
	return fmt.Sprintf("%s ha=%t ipv6=%t hibernated=%t workerless=%t", o.Kubernetes, o.HighAvailability, o.IPv6, o.Hibernated, o.Workerless)
}

func mustControlPlane(t *testing.T, o Options) []Object {
	t.Helper()
	objects, err := ControlPlane(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// names lists the objects that are targets, as target:kind/name.
func names(objects []Object) []string {
	var out []string
	for _, o := range objects {
		if o.Target != "" {
			out = append(out, o.Target+":"+o.Object.GetObjectKind().GroupVersionKind().Kind+"/"+o.Object.GetName())
		}
	}
	return out
}

func TestMatrix(t *testing.T) {
	for _, o := range matrix() {
		t.Run(label(o), func(t *testing.T) {
			objects := mustControlPlane(t, o)
			counted := map[string]int{}
			for _, object := range objects {
				counted[object.Target]++
				checkObject(t, object, "shoot--local--sample")
			}
			want := map[string]int{
				"kube-apiserver": 1, "kube-apiserver-service": 1, "kube-controller-manager": 1,
				"etcd-main": 1, "etcd-events": 1, "": counted[""],
			}
			if !o.Workerless {
				want["kube-scheduler"], want["cluster-autoscaler"], want["vpn-seed-server"] = 1, 1, 1
				want["machine-controller-manager"], want["machine-controller-manager-vpa"] = 1, 1
				want["operatingsystemconfig"] = 4
			}
			if diff := cmp.Diff(want, counted); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
			checkReplicas(t, objects, o)
		})
	}
}

// checkObject checks the properties of every object: kind, namespace, JSON, no fields of a server.
func checkObject(t *testing.T, o Object, namespace string) {
	t.Helper()
	gvk := o.Object.GetObjectKind().GroupVersionKind()
	if gvk.Kind == "" || gvk.Version == "" || o.Object.GetNamespace() != namespace {
		t.Errorf("%s: kind %v, namespace %q", o.Object.GetName(), gvk, o.Object.GetNamespace())
	}
	created := o.Object.GetCreationTimestamp()
	if o.Object.GetResourceVersion() != "" || o.Object.GetUID() != "" || !created.IsZero() || o.Object.GetManagedFields() != nil {
		t.Errorf("%s %s has fields that only an API server sets", gvk.Kind, o.Object.GetName())
	}
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(o.JSON, &meta); err != nil {
		t.Fatalf("%s %s: %v", gvk.Kind, o.Object.GetName(), err)
	}
	if meta.GroupVersionKind() != gvk || meta.Name != o.Object.GetName() || meta.Namespace != namespace {
		t.Errorf("JSON is of %v %s/%s", meta.GroupVersionKind(), meta.Namespace, meta.Name)
	}
}

func checkReplicas(t *testing.T, objects []Object, o Options) {
	t.Helper()
	for _, object := range objects {
		var got int32
		switch typed := object.Object.(type) {
		case *appsv1.Deployment:
			got = *typed.Spec.Replicas
		case *appsv1.StatefulSet:
			got = *typed.Spec.Replicas
		default:
			continue
		}
		if (got == 0) != o.Hibernated {
			t.Errorf("%s has %d replicas", object.Object.GetName(), got)
		}
	}
}

func TestVPNSeedServerKind(t *testing.T) {
	for _, test := range []struct {
		options Options
		kind    string
	}{{Options{}, "Deployment"}, {Options{HighAvailability: true}, "StatefulSet"}} {
		objects := mustControlPlane(t, test.options)
		if _, ok := find(objects, test.kind, "vpn-seed-server"); !ok {
			t.Errorf("no %s vpn-seed-server among %v", test.kind, names(objects))
		}
	}
}

func TestStableBytes(t *testing.T) {
	ctx := context.Background()
	makers := map[string]func() ([]Object, error){
		"a shoot with all components":            func() ([]Object, error) { return ControlPlane(ctx, Options{}) },
		"a highly available shoot with IPv6":     func() ([]Object, error) { return ControlPlane(ctx, Options{HighAvailability: true, IPv6: true}) },
		"a virtual garden":                       func() ([]Object, error) { return VirtualGarden(ctx, Options{}) },
		"a shoot of the older contract":          func() ([]Object, error) { return Legacy(LegacyOptions{}) },
		"a shoot of the older contract with SNI": func() ([]Object, error) { return Legacy(LegacyOptions{SNI: true}) },
	}
	for name, build := range makers {
		t.Run(name, func(t *testing.T) {
			want, err := build()
			if err != nil {
				t.Fatal(err)
			}
			var group sync.WaitGroup
			results := make([]string, 4)
			for i := range results {
				group.Go(func() {
					got, err := build()
					if err != nil {
						results[i] = err.Error()
						return
					}
					results[i] = joined(got)
				})
			}
			group.Wait()
			for i, got := range results {
				if got != joined(want) {
					t.Errorf("call %d differs:\n%s", i, cmp.Diff(joined(want), got))
				}
			}
		})
	}
}

// find returns the object of a kind and name, and false if there is none.
func find(objects []Object, kind, name string) (Object, bool) {
	i := slices.IndexFunc(objects, func(o Object) bool {
		return o.Object.GetObjectKind().GroupVersionKind().Kind == kind && o.Object.GetName() == name
	})
	if i < 0 {
		return Object{}, false
	}
	return objects[i], true
}

func joined(objects []Object) string {
	var b strings.Builder
	for _, o := range objects {
		b.Write(o.JSON)
		b.WriteByte('\n')
	}
	return b.String()
}

func TestVirtualGarden(t *testing.T) {
	objects, err := VirtualGarden(context.Background(), Options{Hibernated: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"kube-apiserver:Deployment/virtual-garden-kube-apiserver",
		"kube-controller-manager:Deployment/virtual-garden-kube-controller-manager",
		"etcd-events:Etcd/virtual-garden-etcd-events",
		"etcd-main:Etcd/virtual-garden-etcd-main",
	}
	if diff := cmp.Diff(want, names(objects)); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	for _, object := range objects {
		checkObject(t, object, "garden")
	}
	checkReplicas(t, objects, Options{})
}

func TestEdit(t *testing.T) {
	objects := mustControlPlane(t, Options{Edit: func(shoot *gardencorev1beta1.Shoot) {
		shoot.Spec.Kubernetes.KubeAPIServer.FeatureGates = map[string]bool{"VolumeAttributesClass": true}
		shoot.Spec.Kubernetes.KubeAPIServer.AdmissionPlugins = []gardencorev1beta1.AdmissionPlugin{{Name: "PodNodeSelector"}}
	}})
	flags := flagsOf(t, objects, "kube-apiserver", "kube-apiserver")
	want := map[string][]string{
		"feature-gates": {"VolumeAttributesClass=true"}, "enable-admission-plugins": {"NodeRestriction,PodNodeSelector"},
	}
	for flag, values := range want {
		if diff := cmp.Diff(values, flags[flag]); diff != "" {
			t.Errorf("--%s:\n%s", flag, diff)
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"a version that is a word":         {Kubernetes: "newest"},
		"a version older than supported":   {Kubernetes: "1.30.4"},
		"a version newer than supported":   {Kubernetes: "1.35.0"},
		"a version without a patch number": {Kubernetes: "1.34"},
		"a namespace that is no shoot's":   {Namespace: "default"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ControlPlane(context.Background(), o)
			_, clusterErr := Cluster(o)
			_, namespaceErr := Namespace(o)
			for _, err := range []error{err, clusterErr, namespaceErr} {
				if !errors.Is(err, ErrOptions) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
	for name, o := range map[string]LegacyOptions{"version": {Kubernetes: "x"}} {
		if _, err := Legacy(o); !errors.Is(err, ErrOptions) {
			t.Errorf("legacy %s: got %v", name, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ControlPlane(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkControlPlane(b *testing.B) {
	for b.Loop() {
		if _, err := ControlPlane(context.Background(), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
