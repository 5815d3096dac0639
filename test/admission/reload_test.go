// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

var _ = Describe("a change of profiles of a running program", Ordered, func() {
	var (
		p         *program
		namespace string
	)

	BeforeAll(func(ctx SpecContext) {
		p = start(ctx, programOptions{
			Profiles: map[string]string{"acme": setFlag("acme", "acme", "value", "a0")},
			Config:   "profiles: {configMaps: {enabled: true}}\n",
		})
		namespace = newShoot(ctx, "reload", "acme")

	})

	It("fails no admission, and each has the old or the new value", func(ctx SpecContext) {
		testReloadUnderTraffic(ctx, p, namespace)
	})

	edits := map[string]struct{ text, where, what string }{
		"typo": {strings.Replace(setFlag("acme", "acme", "value", "after"), "flags:", "flagz:", 1), "7:5",
			`did you mean \"flags\"?`},
		"CEL":      {setFlag("acme", "acme", "value", `"${ shoot.regoin }"`), "7:36", `did you mean \"region\"?`},
		"reserved": {setFlag("acme", "acme", "secure-port", `"1"`), "7:19", "contract kube-controller-manager/ports"},
		"no YAML":  {"apiVersion: [\n", ":", "not YAML"},
	}
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		It("keeps the version before, and reports the place of the mistake: "+name, func(ctx SpecContext) {
			wrong := edits[name]
			p.reload("acme.yaml", setFlag("acme", "acme", "value", "before"))
			failure := labels{"result": "failure"}
			failures := p.counter("graft_profile_reloads_total", failure)
			p.writeProfile("acme.yaml", wrong.text)
			Eventually(p.counter).WithArguments("graft_profile_reloads_total", failure).
				Should(BeNumerically("==", failures+1), "failed attempts to load profiles")
			Eventually(p.counter).WithArguments("graft_profile_reload_failed", labels(nil)).
				Should(BeNumerically("==", 1), "graft_profile_reload_failed")
			place := filepath.Join(p.profiles, "acme.yaml") + ":"
			if wrong.where != ":" {
				place += wrong.where + ": "
			}
			p.log.waitFor(place)
			p.log.waitFor(wrong.what)
			object := create(ctx, deployment(namespace, "kube-controller-manager"))
			expectFlags(object, map[string]bool{"--value=before": true, "--value=after": false})
			Expect(land.Client().Delete(ctx, object)).To(Succeed())
			p.waitReady()
			p.reload("acme.yaml", setFlag("acme", "acme", "value", "fixed"))
			Eventually(p.counter).WithArguments("graft_profile_reload_failed", labels(nil)).
				Should(BeNumerically("==", 0), "graft_profile_reload_failed after the correction")
			object = create(ctx, deployment(namespace, "kube-controller-manager"))
			expectFlags(object, map[string]bool{"--value=fixed": true, "--value=before": false})
			Expect(land.Client().Delete(ctx, object)).To(Succeed())
		})
	}

	It("registers, changes and unregisters a provider with its ConfigMap", func(ctx SpecContext) { testConfigMap(ctx, p) })

	late := setFlag("late", "late", "late", `"1"`)
	configMaps := map[string]struct{ text, place string }{
		"unknown":   {strings.Replace(late, "providers", "provider", 1), "4:1: "},
		"duplicate": {strings.Replace(late, "providers", "providers: [late]\nproviders: [late, later]\nobserve", 1), "5:1: "},
	}
	for _, name := range slices.Sorted(maps.Keys(configMaps)) {
		It("is refused by the webhook for ConfigMaps with the place of the mistake: "+name, func(ctx SpecContext) {
			testOneWrongConfigMap(ctx, p, namespace, configMaps[name].text, configMaps[name].place)
		})
	}

	It("leaves one version of each profile in the metrics", func() {
		Expect(p.counter("graft_profile_info", nil)).To(BeNumerically("==", 1), "profiles after many reloads")
	})

	It("unregisters the webhook of a file that is removed", func(ctx SpecContext) {
		p.reload("second.yaml", setFlag("second", "second", "second", `"yes"`))
		Expect(registered(ctx)).To(Equal([]string{"controlplane.acme", "controlplane.second"}), "registered webhooks")
		p.removeProfile("second.yaml")
		Eventually(expectRegistered).WithArguments(ctx, "controlplane.acme").
			Should(Succeed(), "waiting for the webhook to be unregistered")
	})
})

// testReloadUnderTraffic edits a profile while objects are admitted: each has the old or the new value, and none fails.
func testReloadUnderTraffic(ctx context.Context, p *program, namespace string) {
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
			defer done.Store(true) // ends the other workers after a failure
			defer GinkgoRecover()
			for i := 0; i < most && !done.Load(); i++ {
				newest := last.Load()
				object := deployment(namespace, "kube-controller-manager", "--v=2")
				Expect(land.Client().Create(ctx, object, client.DryRunAll)).To(Succeed(), "creating an object during a reload")
				value, err := valueOf(object)
				Expect(err).NotTo(HaveOccurred(), "reading the value of the object")
				Expect(value).To(And(BeNumerically(">=", newest-1), BeNumerically("<=", last.Load())), "the value of the object")
				raise(&seen, value)
				total.Add(1)
			}
		})
	}
	for edit := int64(1); edit <= edits; edit++ {
		last.Store(edit)
		p.writeProfile("acme.yaml", setFlag("acme", "acme", "value", fmt.Sprintf("a%d", edit)))
		Eventually(func() error {
			if (seen.Load() < edit || total.Load() < edit*beside) && !done.Load() {
				return errNotYet
			}
			return nil
		}).Should(Succeed(), "value a%d", edit)
	}
	done.Store(true)
	group.Wait()
	Expect(seen.Load()).To(BeNumerically("==", edits), "the newest value that an object had")
	Expect(p.counter("graft_admission_failures_total", nil)).To(BeNumerically("==", denied), "failed admissions")
	AddReportEntry("admissions", fmt.Sprintf("%d during %d edits", total.Load(), edits))
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

// configMap holds a profile in the namespace of the program.
func configMap(p *program, name, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name,
			Labels: map[string]string{webhook.ProfileLabel: "true"}},
		Data: map[string]string{"profile.yaml": text},
	}
}

// testConfigMap adds a profile of a provider and a set that were not there, changes it, and removes it.
func testConfigMap(ctx context.Context, p *program) {
	namespace := newShoot(ctx, "config-map", "late")
	early := create(ctx, deployment(namespace, "kube-controller-manager"))
	expectFlags(early, map[string]bool{"--late=1": false})

	profile := configMap(p, "late",
		setFlag("late", "late", "late", `"1"`)+"controlplanebackup:\n  etcd-main:\n  - annotations: {set: {late: \"1\"}}\n")
	unlabelled := configMap(p, "unlabelled", "no profile at all")
	unlabelled.Labels = nil
	for _, object := range []client.Object{unlabelled, profile} {
		Expect(land.Client().Create(ctx, object)).To(Succeed())
	}
	Eventually(func() error {
		return expectRegistered(ctx, "controlplane.acme", "controlplane.late", "controlplanebackup.late")
	}).Should(Succeed(), "waiting for the webhooks to be registered")
	p.waitReady()
	syncWebhooks(ctx)
	Expect(land.Client().Update(ctx, early)).To(Succeed())
	expectFlags(early, map[string]bool{"--late=1": true})
	Expect(create(ctx, etcd(namespace, "etcd-main")).GetAnnotations()["late"]).
		To(Equal("1"), "the annotations of the etcd")

	// The program annotates the ConfigMap.
	patch := client.MergeFrom(profile.DeepCopy())
	profile.Data["profile.yaml"] = setFlag("late", "late", "late", `"2"`)
	Expect(land.Client().Patch(ctx, profile, patch)).To(Succeed(), "changing the profile")
	Eventually(expectRegistered).WithArguments(ctx, "controlplane.acme", "controlplane.late").
		Should(Succeed(), "waiting for the set to be unregistered")
	syncWebhooks(ctx)
	Expect(land.Client().Update(ctx, early)).To(Succeed())
	expectFlags(early, map[string]bool{"--late=1": false, "--late=2": true})

	Expect(land.Client().Delete(ctx, profile)).To(Succeed())
	Eventually(expectRegistered).WithArguments(ctx, "controlplane.acme").
		Should(Succeed(), "waiting for the provider to be unregistered")
	syncWebhooks(ctx)
	p.expectCount(0, "graft_admissions_total", nil, func() {
		create(ctx, deployment(newShoot(ctx, "config-map-2", "late"), "kube-controller-manager"))
	})
}

// testOneWrongConfigMap tries to create the ConfigMap of a profile that is wrong at a place, and has an object
// admitted.
func testOneWrongConfigMap(ctx context.Context, p *program, namespace, text, place string) {
	err := land.Client().Create(ctx, configMap(p, "wrong", text))
	expectDenied(err, 403, "configmap/"+p.namespace+"/wrong/profile.yaml:"+place)
	object := deployment(namespace, "kube-controller-manager")
	Expect(land.Client().Create(ctx, object, client.DryRunAll)).To(Succeed(), "creating an object with the profile before")
	Expect(p.counter("graft_profile_reload_failed", nil)).To(BeNumerically("==", 0), "graft_profile_reload_failed")
}

func expectRegistered(ctx context.Context, want ...string) error {
	GinkgoHelper()
	if got := registered(ctx); !slices.Equal(got, want) {
		return fmt.Errorf("registered is %q, want %q", got, want)
	}
	return nil
}

var _ = Describe("a program without profiles", func() {
	It("starts, and serves the first profile that is created", func(ctx SpecContext) {
		p := start(ctx, programOptions{Config: "profiles: {configMaps: {enabled: true}}\n"})
		Expect(registered(ctx)).To(BeEmpty(), "registered webhooks")
		profile := configMap(p, "first", setFlag("first", "first", "first", `"1"`))
		Expect(land.Client().Create(ctx, profile)).To(Succeed())
		Eventually(expectRegistered).WithArguments(ctx, "controlplane.first").
			Should(Succeed(), "waiting for the webhook to be registered")
		syncWebhooks(ctx)
		object := create(ctx, deployment(newShoot(ctx, "first", "first"), "kube-controller-manager"))
		expectFlags(object, map[string]bool{"--first=1": true})
		p.waitReady()
	})
})

var _ = Describe("a seed without the definitions of Etcd, VerticalPodAutoscaler and Cluster", func() {
	It("is served as soon as they are installed", func(ctx SpecContext) {
		removeDefinitions(ctx, "etcds.druid.gardener.cloud", "verticalpodautoscalers.autoscaling.k8s.io",
			"clusters.extensions.gardener.cloud")
		p := start(ctx, programOptions{Profiles: map[string]string{"openstack": "",
			"more": setFlag("more", "openstack", "region", `"${ shoot.region }"`)}})
		namespace, err := land.CreateShoot(ctx,
			landscape.ShootOptions{Shoot: landscape.NewShoot("missing", "openstack", "1.33.6"), WithoutCluster: true})
		Expect(err).NotTo(HaveOccurred())
		// Objects that need a Cluster wait for it.
		object := deployment(namespace, "kube-controller-manager")
		expectDenied(land.Client().Create(ctx, object.DeepCopy()), 503, "FactsUnavailable", "Cluster")

		Expect(land.InstallCRDs(ctx, landscape.AllCRDs()...)).To(Succeed())
		Expect(land.CreateShoot(ctx, landscape.ShootOptions{Shoot: landscape.NewShoot("missing", "openstack",
			"1.33.6")})).Error().NotTo(HaveOccurred())
		Eventually(func() error { return land.Client().Create(ctx, object) }).
			Should(Succeed(), "waiting for the Cluster to be found")
		expectFlags(object, map[string]bool{"--cloud-provider=external": true, "--region=region-1": true})
		p.expectCount(1, "graft_admissions_total", labels{"target": "etcd-main", "result": "patched"}, func() {
			created := create(ctx, etcd(namespace, "etcd-main"))
			class, _, _ := unstructured.NestedString(created.Object, "spec", "storageClass")
			Expect(class).To(Equal("gardener.cloud-fast"), "the storage class")
		})
		p.expectCount(1, "graft_admissions_total", labels{"target": "machine-controller-manager-vpa", "result": "patched"},
			func() {
				create(ctx, vpa(namespace, "machine-controller-manager-vpa"))
			})
	})
})

// removeDefinitions deletes definitions with all their objects; at the end of the test they are there again.
func removeDefinitions(ctx context.Context, names ...string) {
	GinkgoHelper()
	DeferCleanup(func() {
		Expect(land.InstallCRDs(context.Background(), landscape.AllCRDs()...)).To(Succeed())
	})
	for _, name := range names {
		definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Expect(land.Client().Delete(ctx, definition)).To(Succeed())
	}
	for _, name := range names {
		Eventually(func() error {
			err := land.Client().Get(ctx, client.ObjectKey{Name: name}, &apiextensionsv1.CustomResourceDefinition{})
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("it is there (%w)", err)
			}
			return nil
		}).Should(Succeed(), name+" to be gone")
	}
}
