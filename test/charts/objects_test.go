// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// one is a chart with values.
type one struct{ chart, values string }

func (o one) String() string { return o.chart + "/" + o.values }

// all are all charts with all their values.
func all(t *testing.T) []one {
	t.Helper()
	files, err := filepath.Glob(root + "/hack/charts/values/*/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %v (%v)", files, err)
	}
	var out []one
	for _, file := range files {
		out = append(out, one{chart: filepath.Base(filepath.Dir(file)), values: strings.TrimSuffix(filepath.Base(file), ".yaml")})
	}
	return out
}

// render gives what a chart installs in a namespace, as Helm renders it.
func (o one) render(t *testing.T, namespace string) []*unstructured.Unstructured {
	t.Helper()
	loaded, err := loader.LoadDir(filepath.Join(root, "charts", o.chart))
	if err != nil {
		t.Fatal(err)
	}
	given, err := chartutil.ReadValuesFile(fmt.Sprintf("%s/hack/charts/values/%s.yaml", root, o))
	if err != nil {
		t.Fatal(err)
	}
	values, err := chartutil.ToRenderValues(loaded, given, chartutil.ReleaseOptions{Name: o.chart, Namespace: namespace, Revision: 1, IsInstall: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Engine{Strict: true}.Render(loaded, values)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, text := range files {
		out = append(out, parse(t, text)...)
	}
	return sorted(out)
}

// parse reads manifests. Documents of comments alone are left out.
func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, manifest := range releaseutil.SplitManifests(text) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			out = append(out, object)
		}
	}
	return out
}

// sorted puts objects in the order in which Helm installs their kinds.
func sorted(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return slices.Index(releaseutil.InstallOrder, a.GetKind()) - slices.Index(releaseutil.InstallOrder, b.GetKind())
	})
	return objects
}

// apply installs objects, or what has changed in them. A field that the API server does not know is an error.
func apply(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		if err := patch(t, object.DeepCopy()); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// patch is Kubernetes' own way to install an object, or what has changed in it.
func patch(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	return seed.Client().Patch(t.Context(), object, client.Apply, client.FieldOwner("helm"), client.ForceOwnership, client.FieldValidation("Strict"))
}

// remove takes objects away again; those in namespaces go with nobody, as there are no controllers, but hurt nobody either.
func remove(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		if err := client.IgnoreNotFound(seed.Client().Delete(t.Context(), object.DeepCopy())); err != nil {
			t.Errorf("removing %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// newNamespace makes a namespace that takes in Pods of the standard that is named, and no others.
func newNamespace(t *testing.T, standard string) string {
	t.Helper()
	namespace := &corev1.Namespace{}
	namespace.GenerateName, namespace.Labels = "charts-", map[string]string{"pod-security.kubernetes.io/enforce": standard}
	if err := seed.Client().Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

func mustRead(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
