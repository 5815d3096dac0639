// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && gardener

package gardener

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/core/v1beta1/helper"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/test/env"
)

// patience bounds waits for Gardener: its flows retry after seconds, and its checks run later.
const patience = 4 * time.Minute

// root is the folder of the repository.
const root = "../../.."

var _ = Describe("Graft in Gardener", Ordered, func() {
	var g *garden

	BeforeAll(func(ctx SpecContext) {
		free := connect()
		g = startGarden(ctx, GinkgoT().TempDir())
		extension, err := env.Program(root, "gardener-extension-provider-graft")
		Expect(err).NotTo(HaveOccurred())
		m := &machine{garden: g, free: free, pods: map[types.NamespacedName][]*pod{}, programs: map[string]string{
			"resource-manager":                  filepath.Join(tools, "gardener-resource-manager"),
			"gardener-extension-provider-graft": extension,
		}}
		DeferCleanup(m.stop)
		play(g.work, m.work, cloud{g}.work)
	})

	It("starts gardener-apiserver behind kube-apiserver", func(ctx SpecContext) {
		Expect(g.gardener.List(ctx, &gardencorev1beta1.ShootList{})).To(Succeed())
	})

	It("registers a seed, which is reconciled and has the extensions of its cloud", func(ctx SpecContext) {
		g.create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "dns", Namespace: "garden"}})
		g.startControllerManager(ctx)
		g.apply(ctx, cloudRegistration(ctx, g.folder))
		g.startGardenlet(ctx)
		Eventually(func(give Gomega) {
			seed := &gardencorev1beta1.Seed{}
			give.Expect(g.gardener.Get(ctx, client.ObjectKey{Name: seedName}, seed)).To(Succeed())
			give.Expect(seed.Status.LastOperation).NotTo(BeNil())
			give.Expect(seed.Status.LastOperation.State).To(Equal(gardencorev1beta1.LastOperationStateSucceeded),
				seed.Status.LastOperation.Description)
			for _, kind := range []gardencorev1beta1.ConditionType{gardencorev1beta1.SeedExtensionsReady,
				gardencorev1beta1.GardenletReady} {
				condition := helper.GetCondition(seed.Status.Conditions, kind)
				give.Expect(condition).NotTo(BeNil(), "%s", kind)
				give.Expect(condition.Status).To(Equal(gardencorev1beta1.ConditionTrue), "%s: %s", kind, condition.Message)
			}
		}, patience, time.Second).Should(Succeed(), func() string { return g.tail("gardenlet") })
	})

	It("installs Graft through a ControllerRegistration with a single kubectl apply", func(ctx SpecContext) {
		g.label(ctx, firstLabel, "true")
		g.apply(ctx, graft(ctx, g.folder, "v1", 3))
		g.installed(ctx, "provider-graft")
	})

	It("runs the flow of a Shoot to 100 %, with the profile's changes in the objects", func(ctx SpecContext) {
		g.createShoot(ctx)
		g.reconciled(ctx, gardencorev1beta1.LastOperationTypeCreate)
		g.changed(ctx, 3)
	})

	It("leaves the objects as they are when the Shoot is reconciled again", func(ctx SpecContext) {
		g.reconcileShoot(ctx)
		before := g.generations(ctx)
		g.reconcileShoot(ctx)
		Expect(g.generations(ctx)).To(Equal(before))
		g.changed(ctx, 3)
	})

	It("changes the objects in both steps of a rotation of the Shoot's certificate authorities", func(ctx SpecContext) {
		g.rotateCA(ctx)
		g.changed(ctx, 3)
	})

	It("upgrades Graft and a profile with kubectl apply, and denies no write", func(ctx SpecContext) {
		g.apply(ctx, graft(ctx, g.folder, "v2", 4))
		Eventually(func(give Gomega) {
			g.write(ctx)
			give.Expect(g.images(ctx)).To(And(HaveLen(2), HaveEach(ContainSubstring(":v2-"))))
			give.Expect(g.ready(ctx)).To(BeTrue())
		}, patience, time.Second).Should(Succeed())
		g.installed(ctx, "provider-graft")
		g.reconcileShoot(ctx)
		g.changed(ctx, 4)
	})

	It("moves the seed to another ControllerRegistration by labels, with all objects", func(ctx SpecContext) {
		first := g.installed(ctx, "provider-graft")
		next := strings.ReplaceAll(graft(ctx, g.folder, "v2", 4), "name: provider-graft\n", "name: next\n")
		g.apply(ctx, strings.ReplaceAll(next, firstLabel, "example.com/next"))
		g.label(ctx, "example.com/next", "true")
		second := g.installed(ctx, "next")
		Expect(g.write(ctx)).To(ContainElement("--v=4"))
		g.label(ctx, firstLabel, "")
		Eventually(func(give Gomega) {
			Expect(g.write(ctx)).To(ContainElement("--v=4"))
			give.Expect(g.leftovers(ctx, first)).To(BeEmpty())
		}, patience, time.Second).Should(Succeed())
		Expect(g.leftovers(ctx, second)).NotTo(BeEmpty())
		g.reconcileShoot(ctx)
		g.changed(ctx, 4)
	})

	It("uninstalls Graft without a trace, and denies no write", func(ctx SpecContext) {
		second := g.installed(ctx, "next")
		g.remove(ctx, "next")
		g.remove(ctx, "provider-graft")
		Eventually(func(give Gomega) {
			g.write(ctx)
			give.Expect(g.leftovers(ctx, second)).To(BeEmpty())
		}, patience, time.Second).Should(Succeed())
		Expect(g.write(ctx)).NotTo(ContainElement("--v=4"))
	})
})

// firstLabel is the label of seeds that the registration of Graft selects.
const firstLabel = "example.com/first"

// label sets a label of the seed; without a value it removes the label.
func (g *garden) label(ctx context.Context, key, value string) {
	GinkgoHelper()
	seed := &gardencorev1beta1.Seed{}
	Expect(g.gardener.Get(ctx, client.ObjectKey{Name: seedName}, seed)).To(Succeed())
	patch := client.MergeFrom(seed.DeepCopy())
	delete(seed.Labels, key)
	if value != "" {
		metav1.SetMetaDataLabel(&seed.ObjectMeta, key, value)
	}
	Expect(g.gardener.Patch(ctx, seed, patch)).To(Succeed())
}

// remove deletes a registration of Graft, as operators do.
func (g *garden) remove(ctx context.Context, name string) {
	GinkgoHelper()
	out, err := g.kubectl(ctx, "", "delete", "--wait=false",
		"controllerregistration.core.gardener.cloud/"+name, "controllerdeployment.core.gardener.cloud/"+name)
	Expect(err).NotTo(HaveOccurred(), out)
}

// write tries a write of kube-controller-manager without the flag that the profile sets, and returns the flags it gets.
func (g *garden) write(ctx context.Context) []string {
	GinkgoHelper()
	d := &appsv1.Deployment{}
	Expect(g.client.Get(ctx, client.ObjectKey{Namespace: controlPlane, Name: "kube-controller-manager"}, d)).To(Succeed())
	patch := client.MergeFrom(d.DeepCopy())
	container := &d.Spec.Template.Spec.Containers[0]
	container.Command = slices.DeleteFunc(container.Command, func(s string) bool { return strings.HasPrefix(s, "--v=") })
	Expect(g.client.Patch(ctx, d, patch, client.DryRunAll)).To(Succeed())
	return flags(d)
}

// images returns the images of Graft's Pods.
func (g *garden) images(ctx context.Context) (all []string) {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(g.client.List(ctx, pods)).To(Succeed())
	for i := range pods.Items {
		if image := pods.Items[i].Spec.Containers[0].Image; strings.Contains(image, "/gardener-extension-provider-graft:") {
			all = append(all, image)
		}
	}
	return all
}

// ready reports whether all replicas of Graft are ready.
func (g *garden) ready(ctx context.Context) bool {
	GinkgoHelper()
	list := &appsv1.DeploymentList{}
	Expect(g.client.List(ctx, list)).To(Succeed())
	return !slices.ContainsFunc(list.Items, func(d appsv1.Deployment) bool {
		return strings.Contains(d.Name, "provider-graft") &&
			(d.Status.ReadyReplicas < 2 || d.Status.ObservedGeneration < d.Generation)
	})
}

// leftovers returns the namespace of an installation and the cluster-wide objects that have its name in theirs.
func (g *garden) leftovers(ctx context.Context, installation string) (all []string) {
	GinkgoHelper()
	for _, list := range []client.ObjectList{
		&corev1.NamespaceList{}, &admissionregistrationv1.MutatingWebhookConfigurationList{},
		&admissionregistrationv1.ValidatingWebhookConfigurationList{}, &rbacv1.ClusterRoleList{},
		&rbacv1.ClusterRoleBindingList{},
	} {
		Expect(g.client.List(ctx, list)).To(Succeed())
		Expect(meta.EachListItem(list, func(o runtime.Object) error {
			if name := o.(client.Object).GetName(); strings.Contains(name, installation) {
				all = append(all, fmt.Sprintf("%T %s", o, name))
			}
			return nil
		})).To(Succeed())
	}
	return all
}

// graft returns the registration of Graft as operators apply it, with a tag of the image and the profile of the cloud.
func graft(ctx context.Context, folder, tag string, verbosity int) string {
	GinkgoHelper()
	registration(ctx, folder, "-chart", filepath.Join(root, "charts", "gardener-extension-provider-graft"), "-out", folder)
	raw, err := os.ReadFile(filepath.Join(folder, "controller-registration.yaml"))
	Expect(err).NotTo(HaveOccurred())
	const empty, image, policy = "    profiles: \"\"\n", "/gardener-extension-provider-graft:", "    policy: Always\n"
	manifests := string(raw)
	Expect(manifests).To(And(ContainSubstring(empty), ContainSubstring(image), ContainSubstring(policy)))
	manifests = strings.Replace(manifests, empty, indented(profiles(verbosity)), 1)
	manifests = strings.Replace(manifests, policy,
		policy+"    seedSelector: {matchLabels: {"+firstLabel+": \"true\"}}\n", 1)
	return strings.Replace(manifests, image, image+tag+"-", 1)
}

// installed returns the namespace of a registration's installation when it is healthy and its webhooks are registered.
func (g *garden) installed(ctx context.Context, name string) (namespace string) {
	GinkgoHelper()
	Eventually(func(give Gomega) {
		list := &gardencorev1beta1.ControllerInstallationList{}
		give.Expect(g.gardener.List(ctx, list)).To(Succeed())
		namespace = ""
		for i := range list.Items {
			if one := &list.Items[i]; one.Spec.RegistrationRef.Name == name {
				namespace = "extension-" + one.Name
				give.Expect(helper.IsControllerInstallationSuccessful(*one)).To(BeTrue(), "%+v", one.Status.Conditions)
			}
		}
		give.Expect(namespace).NotTo(BeEmpty(), "there is no ControllerInstallation")
		give.Expect(g.client.Get(ctx, client.ObjectKey{Name: "gardener-extension-provider-graft." + namespace},
			&admissionregistrationv1.MutatingWebhookConfiguration{})).To(Succeed())
	}, patience, time.Second).Should(Succeed())
	return namespace
}

// profiles returns the chart values for the profile of the cloud.
func profiles(verbosity int) string {
	return fmt.Sprintf(`profiles: |
  acme: |
    apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
    kind: ProviderProfile
    metadata: {name: acme}
    providers: [acme]
    controlplane:
      kube-apiserver:
      - flags: {set: {v: "%[1]d"}}
      kube-controller-manager:
      - flags: {set: {cloud-provider: external, v: "%[1]d"}}
      kubelet:
      - flags: {set: {cloud-provider: external}}
      - configuration: {set: {maxPods: 100}}
`, verbosity)
}

// indented returns values as they stand in a ControllerDeployment.
func indented(values string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(values), "\n", "\n    ") + "\n"
}

// registration runs hack/registration.
func registration(ctx context.Context, folder string, arguments ...string) {
	GinkgoHelper()
	program := filepath.Join(folder, "registration")
	if _, err := os.Stat(program); err != nil {
		build := exec.CommandContext(ctx, "go", "build", "-o", program, "./hack/registration")
		build.Dir = root
		out, err := build.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
	}
	out, err := exec.CommandContext(ctx, program, arguments...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
}

// cloudRegistration returns the registration of the cloud's extension, which installs only a ConfigMap.
func cloudRegistration(ctx context.Context, folder string) string {
	GinkgoHelper()
	chart, archive := filepath.Join(folder, "cloud"), filepath.Join(folder, "cloud.tgz")
	Expect(os.MkdirAll(filepath.Join(chart, "templates"), 0o700)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(chart, "Chart.yaml"), []byte("{apiVersion: v1, name: cloud, version: 0.1.0}"),
		0o600)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(chart, "templates", "config.yaml"),
		[]byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: cloud, namespace: {{ .Release.Namespace }}}}"),
		0o600)).To(Succeed())
	registration(ctx, folder, "-chart", chart, "-archive", archive)
	packed, err := os.ReadFile(archive)
	Expect(err).NotTo(HaveOccurred())
	var resources strings.Builder
	for _, kind := range []string{"ControlPlane", "DNSRecord", "Infrastructure", "Network", "OperatingSystemConfig",
		"Worker"} {
		fmt.Fprintf(&resources, "  - {kind: %s, type: %s}\n", kind, provider)
	}
	return fmt.Sprintf(`apiVersion: core.gardener.cloud/v1
kind: ControllerDeployment
metadata: {name: cloud}
helm: {rawChart: %s}
---
apiVersion: core.gardener.cloud/v1beta1
kind: ControllerRegistration
metadata: {name: cloud}
spec:
  deployment: {policy: Always, deploymentRefs: [{name: cloud}]}
  resources:
%s`, encoded(packed), resources.String())
}

// play repeats a function once a second until the specs end.
func play(works ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for _, work := range works {
				if err := work(ctx); err != nil && ctx.Err() == nil {
					GinkgoWriter.Printf("playing: %v\n", err)
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	DeferCleanup(func() {
		cancel()
		<-done
	})
}
