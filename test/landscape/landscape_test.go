// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package landscape_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/extensions"
	"github.com/google/go-cmp/cmp"
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
)

// TestLandscape shares one landscape between its cases: a start costs seconds.
func TestLandscape(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	audit := filepath.Join(t.TempDir(), "audit.log")
	l, err := landscape.Start(ctx, landscape.Options{
		Without:       []landscape.CRDs{landscape.Druid},
		AuditLog:      audit,
		APIServerArgs: map[string][]string{"min-request-timeout": {"300"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})

	t.Run("the server has a version", func(t *testing.T) { checkVersion(t, l) })
	t.Run("a shoot", func(t *testing.T) { checkShoot(t, l) })
	t.Run("a shoot without a cluster", func(t *testing.T) { checkShootWithoutCluster(t, l) })
	t.Run("an API group that is served later", func(t *testing.T) { checkLaterGroup(t, l) })
	t.Run("a service account", func(t *testing.T) { checkServiceAccount(t, l) })
	t.Run("the audit log", func(t *testing.T) {
		events, err := os.ReadFile(audit)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(events), `"resource":"clusters","name":"shoot--sample--one"`) {
			t.Error("the audit log does not mention the Cluster that was created")
		}
	})
	t.Run("the end of the context", func(t *testing.T) {
		folder := l.Folder()
		cancel()
		<-l.Stopped()
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder of a stopped landscape must be gone, got %v", err)
		}
	})
}

// checkVersion: without its version, kube-apiserver would be v0.0.0-master, and all that depends on versions would be
// tested against nothing.
func checkVersion(t *testing.T, l *landscape.Landscape) {
	info, err := discovery.NewDiscoveryClientForConfigOrDie(l.Config()).ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if info.Major != "1" || info.Minor != "34" || !strings.HasPrefix(info.GitVersion, "v1.34.") {
		t.Errorf("got version %s.%s (%s), want 1.34", info.Major, info.Minor, info.GitVersion)
	}
}

func checkShoot(t *testing.T, l *landscape.Landscape) {
	shoot := landscape.NewShoot("one", "openstack", "1.34.3")
	shoot.Spec.ControlPlane = &gardencorev1beta1.ControlPlane{HighAvailability: &gardencorev1beta1.HighAvailability{
		FailureTolerance: gardencorev1beta1.FailureTolerance{Type: gardencorev1beta1.FailureToleranceTypeZone},
	}}
	seed := landscape.NewSeed("aws")
	seed.Spec.Backup.Provider = "gcp"
	options := landscape.ShootOptions{Shoot: shoot, Seed: seed, Extensions: []string{"acl"}}
	for range 2 { // the second time over what is there
		name, err := l.CreateShoot(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		if want := "shoot--sample--one"; name != want {
			t.Fatalf("got namespace %q, want %q", name, want)
		}
	}

	namespace := &corev1.Namespace{}
	if err := l.Client().Get(t.Context(), client.ObjectKey{Name: "shoot--sample--one"}, namespace); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"backup.gardener.cloud/provider":                             "gcp",
		"extensions.gardener.cloud/acl":                              "true",
		"gardener.cloud/role":                                        "shoot",
		"high-availability-config.resources.gardener.cloud/consider": "true",
		"kubernetes.io/metadata.name":                                "shoot--sample--one",
		"networking.shoot.gardener.cloud/provider":                   "calico",
		"pod-security.kubernetes.io/enforce":                         "privileged",
		"seed.gardener.cloud/provider":                               "aws",
		"shoot.gardener.cloud/provider":                              "openstack",
	}
	if diff := cmp.Diff(want, namespace.Labels); diff != "" {
		t.Errorf("labels of the namespace (-want +got):\n%s", diff)
	}
	want = map[string]string{
		"high-availability-config.resources.gardener.cloud/failure-tolerance-type": "zone",
		"high-availability-config.resources.gardener.cloud/zones":                  "region-1a,region-1b,region-1c",
		"shoot.gardener.cloud/uid":                                                 string(shoot.Status.UID),
	}
	if diff := cmp.Diff(want, namespace.Annotations); diff != "" {
		t.Errorf("annotations of the namespace (-want +got):\n%s", diff)
	}

	cluster, err := extensions.GetCluster(t.Context(), l.Client(), "shoot--sample--one")
	if err != nil {
		t.Fatal(err)
	}
	if cluster.Shoot == nil || cluster.Shoot.Spec.Kubernetes.Version != "1.34.3" ||
		cluster.Seed == nil || cluster.Seed.Spec.Provider.Type != "aws" ||
		cluster.CloudProfile == nil || cluster.CloudProfile.Spec.Type != "openstack" {
		t.Errorf("the Cluster lacks its cloud profile, seed or shoot: %+v", cluster)
	}
}

func checkShootWithoutCluster(t *testing.T, l *landscape.Landscape) {
	name, err := l.CreateShoot(t.Context(), landscape.ShootOptions{
		Shoot:          landscape.NewShoot("bare", "openstack", "1.33.0"),
		Labels:         map[string]string{"shoot.gardener.cloud/provider": ""},
		WithoutCluster: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{}
	if err := l.Client().Get(t.Context(), client.ObjectKey{Name: name}, namespace); err != nil {
		t.Fatal(err)
	}
	if value, found := namespace.Labels["shoot.gardener.cloud/provider"]; found {
		t.Errorf("the label was to be removed, got %q", value)
	}
	if _, err := extensions.GetCluster(t.Context(), l.Client(), name); !apierrors.IsNotFound(err) {
		t.Errorf("got error %v, want not found", err)
	}
	if _, err := l.CreateShoot(t.Context(), landscape.ShootOptions{}); err == nil {
		t.Error("no error for a shoot without a provider, want one")
	}
}

func checkLaterGroup(t *testing.T, l *landscape.Landscape) {
	etcds := &druidcorev1alpha1.EtcdList{}
	if err := l.Client().List(t.Context(), etcds); !meta.IsNoMatchError(err) {
		t.Fatalf("got error %v, want that Etcd is not known", err)
	}
	if err := l.InstallCRDs(t.Context(), landscape.Druid); err != nil {
		t.Fatal(err)
	}
	if err := l.Client().List(t.Context(), etcds); err != nil {
		t.Errorf("listing Etcds: %v", err)
	}
	if err := l.InstallCRDs(t.Context(), landscape.AllCRDs()...); err != nil {
		t.Errorf("installing the definitions a second time fails: %v", err)
	}
	if err := l.InstallCRDs(t.Context(), "unknown"); err == nil {
		t.Error("no error for an unknown group, want one")
	}
}

func checkServiceAccount(t *testing.T, l *landscape.Landscape) {
	account, err := l.CreateServiceAccount(t.Context(), landscape.ServiceAccountOptions{
		Namespace:    "extension",
		Name:         "graft",
		ClusterRules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list"}}},
		Rules: map[string][]rbacv1.PolicyRule{
			"extension": {{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", account.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	restricted, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := restricted.List(t.Context(), &corev1.NamespaceList{}); err != nil {
		t.Errorf("listing namespaces is granted: %v", err)
	}
	newSecret := func(namespace string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample"}}
	}
	if err := restricted.Create(t.Context(), newSecret("extension")); err != nil {
		t.Errorf("creating a secret in its own namespace is granted: %v", err)
	}
	if err := restricted.Create(t.Context(), newSecret(target.GardenNamespace)); !apierrors.IsForbidden(err) {
		t.Errorf("got error %v for a secret elsewhere, want forbidden", err)
	}
}

func TestStartFails(t *testing.T) {
	t.Run("without the servers", func(t *testing.T) {
		_, err := landscape.Start(t.Context(), landscape.Options{Binaries: t.TempDir()})
		if !errors.Is(err, landscape.ErrNoBinaries) || !strings.Contains(err.Error(), "make tools") {
			t.Errorf("got error %v, want one that says what to run", err)
		}
	})
	t.Run("with an unknown flag", func(t *testing.T) {
		_, err := landscape.Start(t.Context(), landscape.Options{APIServerArgs: map[string][]string{"no-such-flag": {"x"}}})
		if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
			t.Errorf("got error %v, want what kube-apiserver said", err)
		}
	})
	t.Run("with a context that has ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := landscape.Start(ctx, landscape.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want canceled", err)
		}
	})
}
