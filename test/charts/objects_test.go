// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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

// all returns all charts with all their values. It runs while the specs are declared.
func all() []one {
	files, err := filepath.Glob(root + "/hack/charts/values/*/*.yaml")
	if err != nil {
		panic(err)
	}
	var out []one
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		out = append(out, one{chart: filepath.Base(filepath.Dir(file)), values: name})
	}
	return out
}

// render returns the objects that a chart installs in a namespace, as Helm renders them.
func (o one) render(namespace string) []*unstructured.Unstructured {
	GinkgoHelper()
	loaded, err := loader.LoadDir(filepath.Join(root, "charts", o.chart))
	Expect(err).NotTo(HaveOccurred(), "loading the chart %s", o.chart)
	given, err := chartutil.ReadValuesFile(fmt.Sprintf("%s/hack/charts/values/%s.yaml", root, o))
	Expect(err).NotTo(HaveOccurred(), "reading the values of %s", o)
	release := chartutil.ReleaseOptions{Name: o.chart, Namespace: namespace, Revision: 1, IsInstall: true}
	values, err := chartutil.ToRenderValues(loaded, given, release, nil)
	Expect(err).NotTo(HaveOccurred(), "checking the values of %s", o)
	files, err := engine.Engine{Strict: true}.Render(loaded, values)
	Expect(err).NotTo(HaveOccurred(), "rendering %s", o)
	var out []*unstructured.Unstructured
	for _, text := range files {
		out = append(out, parse(text)...)
	}
	return sorted(out)
}

// parse reads manifests. It leaves out documents that have only comments.
func parse(text string) []*unstructured.Unstructured {
	GinkgoHelper()
	var out []*unstructured.Unstructured
	for _, manifest := range releaseutil.SplitManifests(text) {
		object := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(manifest), &object.Object)).To(Succeed(), "reading the manifest:\n%s", manifest)
		if len(object.Object) > 0 {
			out = append(out, object)
		}
	}
	return out
}

// sorted sorts objects in the order in which Helm installs their kinds.
func sorted(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return slices.Index(releaseutil.InstallOrder, a.GetKind()) - slices.Index(releaseutil.InstallOrder, b.GetKind())
	})
	return objects
}

// apply creates or updates objects. It fails for a field that kube-apiserver does not know.
func apply(ctx context.Context, objects []*unstructured.Unstructured) {
	GinkgoHelper()
	for _, object := range objects {
		Expect(patch(ctx, object.DeepCopy())).To(Succeed(), "applying %s %s", object.GetKind(), object.GetName())
	}
}

// patch sends a server-side apply.
func patch(ctx context.Context, object *unstructured.Unstructured) error {
	return seed.Client().Patch(ctx, object,
		client.Apply, client.FieldOwner("helm"), client.ForceOwnership, client.FieldValidation("Strict"))
}

// remove deletes objects at the end of the spec.
func remove(objects []*unstructured.Unstructured) {
	DeferCleanup(func(ctx SpecContext) {
		for _, object := range objects {
			err := client.IgnoreNotFound(seed.Client().Delete(ctx, object.DeepCopy()))
			Expect(err).NotTo(HaveOccurred(), "deleting %s %s", object.GetKind(), object.GetName())
		}
	})
}

// newNamespace creates a namespace that enforces a Pod security standard.
func newNamespace(ctx context.Context, standard string) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{}
	namespace.GenerateName = "charts-"
	namespace.Labels = map[string]string{"pod-security.kubernetes.io/enforce": standard}
	Expect(seed.Client().Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

func mustRead(name string) string {
	GinkgoHelper()
	data, err := os.ReadFile(name)
	Expect(err).NotTo(HaveOccurred())
	return string(data)
}
