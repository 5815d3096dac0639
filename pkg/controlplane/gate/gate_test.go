// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/utils/kubernetes/health"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/gate"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// world is a gate over a fake API server that counts writes.
type world struct {
	gate   *gate.Gate
	client client.WithWatch
	writes []string
	// between is called before a write.
	between func()
	problem error
}

func newWorld(t *testing.T, extension *extensionsv1alpha1.Extension) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, extensionsv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{between: func() {}}
	wrote := func(what string) {
		w.writes = append(w.writes, what)
		w.between()
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shoot--acme--app", Labels: map[string]string{"shoot.gardener.cloud/provider": "acme"}}}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(namespace, extension).WithStatusSubresource(extension).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
				wrote("object")
				return c.Patch(ctx, o, p, options...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
				wrote(name)
				return c.SubResource(name).Patch(ctx, o, p, options...)
			},
		}).Build()
	w.gate = &gate.Gate{
		Type: "graft", Extensions: w.client, Namespaces: w.client, Writer: w.client, Clock: testclock.NewFakePassiveClock(now),
		Serve: func(_ context.Context, namespace metav1.Object) error {
			if namespace.GetLabels()["shoot.gardener.cloud/provider"] != "acme" {
				return errors.New("the gate was given another namespace")
			}
			return w.problem
		},
	}
	return w
}

func (w *world) reconcile(t *testing.T, e *extensionsv1alpha1.Extension) reconcile.Result {
	t.Helper()
	result, err := w.gate.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e)})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (w *world) read(t *testing.T, e *extensionsv1alpha1.Extension) *extensionsv1alpha1.Extension {
	t.Helper()
	found := &extensionsv1alpha1.Extension{}
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(e), found); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestAnswerToEachExtension checks the answer to each kind of Extension.
func TestAnswerToEachExtension(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "cases.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name      string
		Extension extensionsv1alpha1.Extension
		Problem   string
		// Writes are the writes in order, State and Type describe the last operation, and Left is the operation that is
		// still requested.
		Writes            []string
		State, Type, Left string
		Again             bool
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			e := &c.Extension
			e.Namespace = "shoot--acme--app"
			w := newWorld(t, e)
			if c.Problem != "" {
				w.problem = errors.New(c.Problem)
			}
			if again := w.reconcile(t, e).RequeueAfter > 0; again != c.Again {
				t.Errorf("it is tried again: %v, want %v", again, c.Again)
			}
			if diff := cmp.Diff(c.Writes, w.writes); diff != "" {
				t.Errorf("writes (-want +got)\n%s", diff)
			}
			found := w.read(t, e)
			if left := found.Annotations["gardener.cloud/operation"]; left != c.Left {
				t.Errorf("what is asked for is %q, want %q", left, c.Left)
			}
			if len(found.Finalizers) != len(e.Finalizers) {
				t.Errorf("the finalizers are %q", found.Finalizers)
			}
			if last := found.Status.LastOperation; c.State != "" && (last == nil || string(last.State) != c.State || string(last.Type) != c.Type) {
				t.Errorf("the last operation is %+v, want %s %s", last, c.Type, c.State)
			}
			if c.State == "Succeeded" && c.Type != "Migrate" && health.CheckExtensionObject(found) != nil {
				t.Errorf("gardenlet would go on waiting: %v", health.CheckExtensionObject(found))
			}
			if c.Problem != "" && c.State == "Error" {
				if err := health.CheckExtensionObject(found); err == nil || !strings.Contains(err.Error(), c.Problem) {
					t.Errorf("gardenlet would show %v, want %q", err, c.Problem)
				}
			}
		})
	}
}

func waiting() *extensionsv1alpha1.Extension {
	return &extensionsv1alpha1.Extension{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shoot--acme--app", Name: "graft", Generation: 1, Annotations: map[string]string{
				"gardener.cloud/operation": "reconcile", "gardener.cloud/timestamp": now.Format(time.RFC3339Nano),
			},
		},
		Spec: extensionsv1alpha1.ExtensionSpec{DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "graft"}},
	}
}

// TestGateOpensAfterTwoReasons follows a gate that is closed for one reason, then for another one, and then open.
func TestGateOpensAfterTwoReasons(t *testing.T) {
	e := waiting()
	w := newWorld(t, e)
	for _, step := range []struct {
		problem string
		writes  int // so far
	}{{"not registered: a", 1}, {"not registered: a", 1}, {"not registered: b", 2}, {"", 4}, {"", 4}} {
		w.problem = nil
		if step.problem != "" {
			w.problem = errors.New(step.problem)
		}
		w.reconcile(t, e)
		if len(w.writes) != step.writes {
			t.Errorf("after %q: the writes are %q, want %d", step.problem, w.writes, step.writes)
		}
		found := w.read(t, e)
		if shut := found.Status.LastError != nil; shut != (step.problem != "") || shut && !strings.HasSuffix(found.Status.LastError.Description, step.problem) {
			t.Errorf("after %q: the error is %+v", step.problem, found.Status.LastError)
		}
	}
}

// TestAnswerKeepsNewerRequest checks that an answer does not overwrite a newer request, and that gardenlet never finds an old
// success for it.
func TestAnswerKeepsNewerRequest(t *testing.T) {
	for _, nth := range []int{1, 2} {
		e := waiting()
		w := newWorld(t, e)
		w.between = func() {
			if len(w.writes) != nth {
				return
			}
			w.between = func() {}
			fresh := w.read(t, e)
			fresh.Annotations["gardener.cloud/operation"] = "migrate"
			if err := w.client.Update(t.Context(), fresh); err != nil {
				t.Fatal(err)
			}
		}
		if w.reconcile(t, e).RequeueAfter == 0 {
			t.Errorf("write %d failed and is not retried", nth)
		}
		if found := w.read(t, e); found.Annotations["gardener.cloud/operation"] != "migrate" {
			t.Errorf("write %d: the newer operation annotation was removed: %+v", nth, found.Annotations)
		}
		w.reconcile(t, e)
		if last := w.read(t, e).Status.LastOperation; last.Type != "Migrate" || last.State != "Succeeded" {
			t.Errorf("write %d: the last operation is %+v", nth, last)
		}
	}
}

// TestMissingExtensionIsNoError checks that a missing Extension or namespace is not an error that would be logged repeatedly.
func TestMissingExtensionIsNoError(t *testing.T) {
	e := waiting()
	w := newWorld(t, e)
	other := waiting()
	other.Name = "gone"
	w.reconcile(t, other)
	if err := w.client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}}); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, e)
	if last := w.read(t, e).Status.LastError; last == nil || !strings.Contains(last.Description, "reading the namespace") {
		t.Errorf("the error is %+v", last)
	}
	w.between = func() { _ = w.client.Delete(context.Background(), e) }
	w.writes, w.problem = nil, errors.New("another")
	w.reconcile(t, e)
}
