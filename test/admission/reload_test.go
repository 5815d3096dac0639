// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// TestReload changes profiles of a program that runs.
func TestReload(t *testing.T) {
	p := start(t, programOptions{
		Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "a0")},
		Config:   "profiles: {configMaps: {enabled: true}}\n",
	})
	namespace := newShoot(t, "reload", "acme")

	t.Run("under traffic", func(t *testing.T) { testReloadUnderTraffic(t, p, namespace) })
	t.Run("a wrong edit", func(t *testing.T) { testWrongEdit(t, p, namespace) })
	t.Run("a ConfigMap", func(t *testing.T) { testConfigMap(t, p) })
	t.Run("a wrong ConfigMap", func(t *testing.T) { testWrongConfigMap(t, p, namespace) })
	t.Run("versions", func(t *testing.T) {
		if got := p.counter("graft_profile_info", nil); got != 1 {
			t.Errorf("after many reloads, %v profiles are counted", got)
		}
	})
	t.Run("a file that goes", func(t *testing.T) {
		p.reload("second.yaml", setFlag("second", "second", "second", `"yes"`))
		if got, want := registered(t), []string{"controlplane.acme", "controlplane.second"}; !slices.Equal(got, want) {
			t.Errorf("registered is %q, want %q", got, want)
		}
		p.removeProfile("second.yaml")
		eventually(t, "the webhook to be unregistered", func() error { return expectRegistered(t, "controlplane.acme") })
	})
}

// testReloadUnderTraffic edits a profile while objects are admitted: each has the old or the new value, and none fails.
func testReloadUnderTraffic(t *testing.T, p *program, namespace string) {
	const (
		workers = 4
		edits   = 3
		beside  = 20    // admissions during each edit, at least
		most    = 20000 // requests of a worker, should the edits never be seen
	)
	var (
		group sync.WaitGroup
		total atomic.Int64
		last  atomic.Int64 // the newest value that was written, and then the newest that was seen
		seen  atomic.Int64
		done  atomic.Bool
	)
	denied := p.counter("graft_admission_failures_total", nil)
	for range workers {
		group.Go(func() {
			for i := 0; i < most && !done.Load() && !t.Failed(); i++ {
				newest := last.Load()
				object := deployment(namespace, "kube-controller-manager", "--v=2")
				if err := land.Client().Create(t.Context(), object, client.DryRunAll); err != nil {
					t.Errorf("an admission failed: %v", err)
					return
				}
				value, err := valueOf(object)
				if err != nil || value > last.Load() || value < newest-1 {
					t.Errorf("an object has value %d (%v), while a%d was being replaced by a%d", value, err, newest-1, newest)
					return
				}
				raise(&seen, value)
				total.Add(1)
			}
		})
	}
	for edit := int64(1); edit <= edits; edit++ {
		last.Store(edit)
		p.writeProfile("acme.yaml", setFlag("acme", "acme", "value", fmt.Sprintf("a%d", edit)))
		eventually(t, fmt.Sprintf("value a%d", edit), func() error {
			if (seen.Load() < edit || total.Load() < edit*beside) && !t.Failed() {
				return errNotYet
			}
			return nil
		})
	}
	done.Store(true)
	group.Wait()
	if seen.Load() != edits {
		t.Errorf("%d admissions, the newest value is a%d, want a%d", total.Load(), seen.Load(), edits)
	}
	if got := p.counter("graft_admission_failures_total", nil); got != denied {
		t.Errorf("%v admissions failed", got-denied)
	}
	t.Logf("%d admissions during %d edits", total.Load(), edits)
}

// raise sets a value that may only grow.
func raise(known *atomic.Int64, value int64) {
	for old := known.Load(); value > old; old = known.Load() {
		if known.CompareAndSwap(old, value) {
			return
		}
	}
}

// valueOf reads the number in the flag --value=a<number>.
func valueOf(object *unstructured.Unstructured) (int64, error) {
	containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	command, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "command")
	if err != nil || len(command) != 3 {
		return -1, fmt.Errorf("the command is %q (%w)", command, err)
	}
	var value int64
	_, err = fmt.Sscanf(command[2], "--value=a%d", &value)
	return value, err
}

// testWrongEdit writes a profile that is wrong: the one before stays, and everybody is told where the mistake is.
func testWrongEdit(t *testing.T, p *program, namespace string) {
	p.reload("acme.yaml", setFlag("acme", "acme", "value", "before"))
	failures := p.counter("graft_profile_reloads_total", labels{"result": "failure"})
	for name, wrong := range map[string]struct{ text, where, what string }{
		"typo":     {strings.Replace(setFlag("acme", "acme", "value", "after"), "flags:", "flagz:", 1), "7:5", `did you mean \"flags\"?`},
		"CEL":      {setFlag("acme", "acme", "value", `"${ shoot.regoin }"`), "7:36", `did you mean \"region\"?`},
		"reserved": {setFlag("acme", "acme", "secure-port", `"1"`), "7:32", "contract kube-controller-manager/ports"},
		"no YAML":  {"apiVersion: [\n", ":", "not YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			p.writeProfile("acme.yaml", wrong.text)
			failures++
			eventually(t, "the failure to be counted", func() error {
				if got := p.counter("graft_profile_reloads_total", labels{"result": "failure"}); got != failures {
					return fmt.Errorf("%v failures, want %v", got, failures)
				}
				return nil
			})
			if got := p.counter("graft_profile_reload_failed", nil); got != 1 {
				t.Errorf("the gauge is %v", got)
			}
			place := filepath.Join(p.profiles, "acme.yaml") + ":"
			if wrong.where != ":" {
				place += wrong.where + ": "
			}
			p.log.waitFor(t, place)
			p.log.waitFor(t, wrong.what)
			object := create(t, deployment(namespace, "kube-controller-manager"))
			expectFlags(t, object, map[string]bool{"--value=before": true, "--value=after": false})
			if err := land.Client().Delete(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			p.waitReady()
		})
	}
	p.reload("acme.yaml", setFlag("acme", "acme", "value", "fixed"))
	if got := p.counter("graft_profile_reload_failed", nil); got != 0 {
		t.Errorf("after it was fixed, the gauge is %v", got)
	}
	object := create(t, deployment(namespace, "kube-controller-manager"))
	expectFlags(t, object, map[string]bool{"--value=fixed": true, "--value=before": false})
}

// configMap holds a profile in the namespace of the program.
func configMap(p *program, name, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name, Labels: map[string]string{webhook.ProfileLabel: "true"}},
		Data:       map[string]string{"profile.yaml": text},
	}
}

// testConfigMap adds a profile of a provider and a set that were not there, changes it, and removes it.
func testConfigMap(t *testing.T, p *program) {
	namespace := newShoot(t, "config-map", "late")
	early := create(t, deployment(namespace, "kube-controller-manager"))
	expectFlags(t, early, map[string]bool{"--late=1": false})

	profile := configMap(p, "late", setFlag("late", "late", "late", `"1"`)+"controlplanebackup:\n  etcd-main:\n  - annotations: {set: {late: \"1\"}}\n")
	unlabelled := configMap(p, "unlabelled", "no profile at all")
	unlabelled.Labels = nil
	for _, object := range []client.Object{unlabelled, profile} {
		if err := land.Client().Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the webhooks to be registered", func() error {
		return expectRegistered(t, "controlplane.acme", "controlplane.late", "controlplanebackup.late")
	})
	p.waitReady()
	syncWebhooks(t)
	if err := land.Client().Update(t.Context(), early); err != nil {
		t.Fatal(err)
	}
	expectFlags(t, early, map[string]bool{"--late=1": true})
	if main := create(t, etcd(namespace, "etcd-main")); main.GetAnnotations()["late"] != "1" {
		t.Errorf("the annotations of the etcd are %v", main.GetAnnotations())
	}

	profile.Data["profile.yaml"] = setFlag("late", "late", "late", `"2"`)
	if err := land.Client().Update(t.Context(), profile); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the set to be unregistered", func() error { return expectRegistered(t, "controlplane.acme", "controlplane.late") })
	syncWebhooks(t)
	if err := land.Client().Update(t.Context(), early); err != nil {
		t.Fatal(err)
	}
	expectFlags(t, early, map[string]bool{"--late=1": false, "--late=2": true})

	if err := land.Client().Delete(t.Context(), profile); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the provider to be unregistered", func() error { return expectRegistered(t, "controlplane.acme") })
	syncWebhooks(t)
	p.expectCount(t, 0, "graft_admissions_total", nil, func() {
		create(t, deployment(newShoot(t, "config-map-2", "late"), "kube-controller-manager"))
	})
}

// testWrongConfigMap holds that a ConfigMap with a mistake is refused with the place of it, and that everything stays active.
func testWrongConfigMap(t *testing.T, p *program, namespace string) {
	late := setFlag("late", "late", "late", `"1"`)
	for name, wrong := range map[string]struct{ text, place string }{
		"unknown":   {strings.Replace(late, "providers", "provider", 1), "4:1: "},
		"duplicate": {strings.Replace(late, "providers", "providers: [late]\nproviders: [late, later]\nobserve", 1), "5:1: "},
	} {
		t.Run(name, func(t *testing.T) { testOneWrongConfigMap(t, p, namespace, wrong.text, wrong.place) })
	}
}

// testOneWrongConfigMap tries to create the ConfigMap of a profile that is wrong at a place, and has an object admitted.
func testOneWrongConfigMap(t *testing.T, p *program, namespace, text, place string) {
	err := land.Client().Create(t.Context(), configMap(p, "wrong", text))
	expectDenied(t, err, 403, "configmap/"+p.namespace+"/wrong/profile.yaml:"+place)
	object := deployment(namespace, "kube-controller-manager")
	if err := land.Client().Create(t.Context(), object, client.DryRunAll); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	if got := p.counter("graft_profile_reload_failed", nil); got != 0 {
		t.Errorf("the gauge is %v", got)
	}
}

func expectRegistered(t *testing.T, want ...string) error {
	t.Helper()
	if got := registered(t); !slices.Equal(got, want) {
		return fmt.Errorf("registered is %q, want %q", got, want)
	}
	return nil
}

// TestNoProfiles starts with no profile at all, as the chart does by default, and gets one later.
func TestNoProfiles(t *testing.T) {
	p := start(t, programOptions{Config: "profiles: {configMaps: {enabled: true}}\n"})
	if got := registered(t); len(got) != 0 {
		t.Errorf("registered is %q", got)
	}
	profile := configMap(p, "first", setFlag("first", "first", "first", `"1"`))
	if err := land.Client().Create(t.Context(), profile); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the webhook to be registered", func() error { return expectRegistered(t, "controlplane.first") })
	syncWebhooks(t)
	object := create(t, deployment(newShoot(t, "first", "first"), "kube-controller-manager"))
	expectFlags(t, object, map[string]bool{"--first=1": true})
	p.waitReady()
}

// TestMissingDefinitions starts the program in a seed without the definitions of Etcd, VerticalPodAutoscaler and Cluster, and
// brings them later.
func TestMissingDefinitions(t *testing.T) {
	removeDefinitions(t, "etcds.druid.gardener.cloud", "verticalpodautoscalers.autoscaling.k8s.io", "clusters.extensions.gardener.cloud")
	p := start(t, programOptions{Profiles: map[string]string{"openstack": "", "more": setFlag("more", "openstack", "region", `"${ shoot.region }"`)}})
	namespace, err := land.CreateShoot(t.Context(), landscape.ShootOptions{Shoot: landscape.NewShoot("missing", "openstack", "1.33.6"), WithoutCluster: true})
	if err != nil {
		t.Fatal(err)
	}
	// Objects that need a Cluster wait for it.
	object := deployment(namespace, "kube-controller-manager")
	expectDenied(t, land.Client().Create(t.Context(), object.DeepCopy()), 503, "FactsUnavailable", "Cluster")

	if err := land.InstallCRDs(t.Context(), landscape.AllCRDs()...); err != nil {
		t.Fatal(err)
	}
	if _, err := land.CreateShoot(t.Context(), landscape.ShootOptions{Shoot: landscape.NewShoot("missing", "openstack", "1.33.6")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Cluster to be found", func() error { return land.Client().Create(t.Context(), object) })
	expectFlags(t, object, map[string]bool{"--cloud-provider=external": true, "--region=region-1": true})
	p.expectCount(t, 1, "graft_admissions_total", labels{"target": "etcd-main", "result": "patched"}, func() {
		created := create(t, etcd(namespace, "etcd-main"))
		if class, _, _ := unstructured.NestedString(created.Object, "spec", "storageClass"); class != "gardener.cloud-fast" {
			t.Errorf("the storage class is %q", class)
		}
	})
	p.expectCount(t, 1, "graft_admissions_total", labels{"target": "machine-controller-manager-vpa", "result": "patched"}, func() {
		create(t, vpa(namespace, "machine-controller-manager-vpa"))
	})
}

// removeDefinitions deletes definitions with all their objects; at the end of the test they are there again.
func removeDefinitions(t *testing.T, names ...string) {
	t.Helper()
	t.Cleanup(func() {
		if err := land.InstallCRDs(context.Background(), landscape.AllCRDs()...); err != nil {
			t.Error(err)
		}
	})
	for _, name := range names {
		definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := land.Client().Delete(t.Context(), definition); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		eventually(t, name+" to be gone", func() error {
			err := land.Client().Get(t.Context(), client.ObjectKey{Name: name}, &apiextensionsv1.CustomResourceDefinition{})
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there (%w)", err)
			}
			return nil
		})
	}
}
