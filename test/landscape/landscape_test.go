// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package landscape_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
	"github.com/graft-provider/gardener-extension-provider-graft/test/suite"
)

// patience limits each spec.
const patience = 3 * time.Minute

func TestLandscape(t *testing.T) { suite.Run(t, "landscape", "admission") }

// The specs share one landscape, because its start takes seconds. The last one ends it.
var _ = Describe("a landscape", Ordered, func() {
	var (
		l     *landscape.Landscape
		end   context.CancelFunc
		audit string
	)

	BeforeAll(func() {
		var running context.Context
		running, end = context.WithCancel(context.Background())
		DeferCleanup(end)
		audit = filepath.Join(GinkgoT().TempDir(), "audit.log")
		var err error
		l, err = landscape.Start(running, landscape.Options{
			Without:       []landscape.CRDs{landscape.Druid},
			AuditLog:      audit,
			APIServerArgs: map[string][]string{"min-request-timeout": {"300"}},
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() error { return l.Stop() })
	})

	// A kube-apiserver that is built without a version reports v0.0.0-master, and features depend on the version.
	It("has a kube-apiserver that reports its version", func() {
		info, err := discovery.NewDiscoveryClientForConfigOrDie(l.Config()).ServerVersion()
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Major+"."+info.Minor).To(Equal("1.34"), "the version")
		Expect(info.GitVersion).To(HavePrefix("v1.34."))
	})

	It("creates the namespace and Cluster of a shoot, again without an error", func(ctx context.Context) {
		shoot := landscape.NewShoot("one", "openstack", "1.34.3")
		shoot.Spec.ControlPlane = &gardencorev1beta1.ControlPlane{HighAvailability: &gardencorev1beta1.HighAvailability{
			FailureTolerance: gardencorev1beta1.FailureTolerance{Type: gardencorev1beta1.FailureToleranceTypeZone},
		}}
		seed := landscape.NewSeed("aws")
		seed.Spec.Backup.Provider = "gcp"
		for range 2 {
			Expect(l.CreateShoot(ctx, landscape.ShootOptions{Shoot: shoot, Seed: seed, Extensions: []string{"acl"}})).
				To(Equal("shoot--sample--one"), "the namespace")
		}

		namespace := &corev1.Namespace{}
		Expect(l.Client().Get(ctx, client.ObjectKey{Name: "shoot--sample--one"}, namespace)).To(Succeed())
		Expect(namespace.Labels).To(Equal(map[string]string{
			"backup.gardener.cloud/provider":                             "gcp",
			"extensions.gardener.cloud/acl":                              "true",
			"gardener.cloud/role":                                        "shoot",
			"high-availability-config.resources.gardener.cloud/consider": "true",
			"kubernetes.io/metadata.name":                                "shoot--sample--one",
			"networking.shoot.gardener.cloud/provider":                   "calico",
			"pod-security.kubernetes.io/enforce":                         "privileged",
			"seed.gardener.cloud/provider":                               "aws",
			"shoot.gardener.cloud/provider":                              "openstack",
		}), "labels of the namespace")
		Expect(namespace.Annotations).To(Equal(map[string]string{
			"high-availability-config.resources.gardener.cloud/failure-tolerance-type": "zone",
			"high-availability-config.resources.gardener.cloud/zones":                  "region-1a,region-1b,region-1c",
			"shoot.gardener.cloud/uid":                                                 string(shoot.Status.UID),
		}), "annotations of the namespace")

		cluster := &extensionsv1alpha1.Cluster{}
		Expect(l.Client().Get(ctx, client.ObjectKey{Name: "shoot--sample--one"}, cluster)).To(Succeed())
		storedShoot, storedSeed := &gardencorev1beta1.Shoot{}, &gardencorev1beta1.Seed{}
		storedProfile := &gardencorev1beta1.CloudProfile{}
		for kind, part := range map[string]struct {
			raw  []byte
			into client.Object
		}{
			"Shoot":        {cluster.Spec.Shoot.Raw, storedShoot},
			"Seed":         {cluster.Spec.Seed.Raw, storedSeed},
			"CloudProfile": {cluster.Spec.CloudProfile.Raw, storedProfile},
		} {
			Expect(json.Unmarshal(part.raw, part.into)).To(Succeed(), "reading the %s", kind)
			Expect(part.into.GetObjectKind().GroupVersionKind()).To(
				Equal(gardencorev1beta1.SchemeGroupVersion.WithKind(kind)), "API version and kind of the %s", kind)
		}
		Expect(storedShoot.Spec.Kubernetes.Version).To(Equal("1.34.3"), "the version of the shoot")
		Expect(storedSeed.Spec.Provider.Type).To(Equal("aws"), "the provider of the seed")
		Expect(storedProfile.Spec.Type).To(Equal("openstack"), "the type of the cloud profile")
	}, SpecTimeout(patience))

	It("creates a shoot without a Cluster and without a label", func(ctx context.Context) {
		name, err := l.CreateShoot(ctx, landscape.ShootOptions{
			Shoot:          landscape.NewShoot("bare", "openstack", "1.33.0"),
			Labels:         map[string]string{"shoot.gardener.cloud/provider": ""},
			WithoutCluster: true,
		})
		Expect(err).NotTo(HaveOccurred())
		namespace := &corev1.Namespace{}
		Expect(l.Client().Get(ctx, client.ObjectKey{Name: name}, namespace)).To(Succeed())
		Expect(namespace.Labels).NotTo(HaveKey("shoot.gardener.cloud/provider"))
		Expect(l.Client().Get(ctx, client.ObjectKey{Name: name}, &extensionsv1alpha1.Cluster{})).
			To(Satisfy(apierrors.IsNotFound), "reading the Cluster")
	}, SpecTimeout(patience))

	It("refuses a shoot without a provider", func(ctx context.Context) {
		_, err := l.CreateShoot(ctx, landscape.ShootOptions{})
		Expect(err).To(HaveOccurred())
	}, SpecTimeout(patience))

	It("serves an API group whose definitions are installed later", func(ctx context.Context) {
		etcds := &druidcorev1alpha1.EtcdList{}
		Expect(l.Client().List(ctx, etcds)).To(Satisfy(meta.IsNoMatchError), "listing Etcds before")
		Expect(l.InstallCRDs(ctx, landscape.Druid)).To(Succeed())
		Expect(l.Client().List(ctx, etcds)).To(Succeed(), "listing Etcds")
		Expect(l.InstallCRDs(ctx, landscape.AllCRDs()...)).To(Succeed(), "installing all definitions again")
		Expect(l.InstallCRDs(ctx, "unknown")).NotTo(Succeed(), "installing an unknown group")
	}, SpecTimeout(patience))

	It("gives a service account its permissions, and no others", func(ctx context.Context) {
		account, err := l.CreateServiceAccount(ctx, landscape.ServiceAccountOptions{
			Namespace: "extension",
			Name:      "graft",
			ClusterRules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"},
				Verbs: []string{"list"}}},
			Rules: map[string][]rbacv1.PolicyRule{
				"extension": {{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}}},
			},
		})
		Expect(err).NotTo(HaveOccurred())
		config, err := clientcmd.BuildConfigFromFlags("", account.Kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		restricted, err := client.New(config, client.Options{})
		Expect(err).NotTo(HaveOccurred())
		Expect(restricted.List(ctx, &corev1.NamespaceList{})).To(Succeed(), "listing namespaces")
		newSecret := func(namespace string) *corev1.Secret {
			return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample"}}
		}
		Expect(restricted.Create(ctx, newSecret("extension"))).To(Succeed(), "creating a Secret in the namespace of the rule")
		Expect(restricted.Create(ctx, newSecret(target.GardenNamespace))).To(Satisfy(apierrors.IsForbidden),
			"creating a Secret in another namespace")
	}, SpecTimeout(patience))

	It("writes an audit log", func() {
		events, err := os.ReadFile(audit)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(events)).To(ContainSubstring(`"resource":"clusters","name":"shoot--sample--one"`))
	})

	It("stops with its context, and removes its folder", func() {
		folder := l.Folder()
		end()
		Eventually(l.Stopped()).Should(BeClosed())
		Expect(l.Stop()).To(Succeed())
		Expect(folder).NotTo(BeADirectory())
	})
})

var _ = Describe("the start of a landscape fails", func() {
	It("without the servers, and says how to build them", func(ctx context.Context) {
		_, err := landscape.Start(ctx, landscape.Options{Binaries: GinkgoT().TempDir()})
		Expect(err).To(And(MatchError(landscape.ErrNoBinaries), MatchError(ContainSubstring("make tools"))))
	}, SpecTimeout(patience))

	It("with an unknown flag, and shows the message of kube-apiserver", func(ctx context.Context) {
		_, err := landscape.Start(ctx, landscape.Options{APIServerArgs: map[string][]string{"no-such-flag": {"x"}}})
		Expect(err).To(MatchError(ContainSubstring("unknown flag: --no-such-flag")))
	}, SpecTimeout(patience))

	It("with a context that has ended", func(ctx context.Context) {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err := landscape.Start(ended, landscape.Options{})
		Expect(err).To(MatchError(context.Canceled))
	}, SpecTimeout(patience))
})
