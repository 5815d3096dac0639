// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Masterminds/semver/v3"
	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig"
	"github.com/gardener/gardener/pkg/component/extensions/worker"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/samples"
)

const (
	namespace = "shoot--acme--live"
	// before is the time of gardenlet's request, and later the time at which a member had finished it.
	before, later = "2026-03-01T10:00:00Z", "2026-03-01T10:02:30Z"
)

// TestWorker checks the Worker of gardenlet's component with the status of an extension.
func TestWorker(t *testing.T) {
	scheme := runtime.NewScheme()
	must(t, extensionsv1alpha1.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).Build()
	now := worker.TimeNow
	worker.TimeNow = func() time.Time { return timeOf(t, before).Time }
	t.Cleanup(func() { worker.TimeNow = now })
	must(t, worker.New(logr.Discard(), c, workerValues(), time.Second, time.Second, time.Second).Deploy(t.Context()))
	made := &extensionsv1alpha1.Worker{}
	must(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "live"}, made))
	made.TypeMeta = metav1.TypeMeta{APIVersion: "extensions.gardener.cloud/v1alpha1", Kind: "Worker"}
	made.ResourceVersion, made.Generation = "", 4
	compareFile(t, "worker.yaml", "", made)

	// The operation has been consumed; the timestamp stays.
	delete(made.Annotations, "gardener.cloud/operation")
	made.Annotations["resourcetemplate.karmada.io/generation"] = "4"
	made.Generation = 2
	made.Status = extensionsv1alpha1.WorkerStatus{
		DefaultStatus: extensionsv1alpha1.DefaultStatus{
			ObservedGeneration: 2,
			LastOperation: &gardencorev1beta1.LastOperation{
				Type: "Reconcile", State: "Succeeded", Progress: 100, Description: "Successfully reconciled worker",
				LastUpdateTime: timeOf(t, later),
			},
			Conditions: []gardencorev1beta1.Condition{{
				Type: "EveryNodeReady", Status: "True", Reason: "EveryNodeReady", Message: "All nodes are ready.",
				LastTransitionTime: timeOf(t, later), LastUpdateTime: timeOf(t, later),
			}},
			State: &runtime.RawExtension{Raw: []byte(`{"machineDeployments":{"live-general-z1":{"replicas":2}}}`)},
			ProviderStatus: &runtime.RawExtension{Raw: []byte(
				`{"apiVersion":"ironcore.provider.extensions.gardener.cloud/v1alpha1","kind":"WorkerStatus"}`)},
		},
		MachineDeployments: []extensionsv1alpha1.MachineDeployment{{Name: "live-general-z1", Minimum: 1,
			Maximum: 3, Priority: ptr.To[int32](0)}},
		MachineDeploymentsLastUpdateTime: ptr.To(timeOf(t, later)),
	}
	compareFile(t, "worker.member.yaml",
		"The same Worker in a member, where an extension has done what was asked for.", made)
}

// workerValues are gardenlet's values for a small shoot.
func workerValues() *worker.Values {
	return &worker.Values{
		Namespace: namespace, Name: "live", Type: "ironcore", Region: "eu-1", KubernetesVersion: semver.MustParse("1.34.2"),
		SSHPublicKey: []byte("ssh-ed25519 AAAA"),
		Workers: []gardencorev1beta1.Worker{{
			Name: "general", Minimum: 1, Maximum: 3, Zones: []string{"eu-1a"},
			Volume: &gardencorev1beta1.Volume{VolumeSize: "50Gi", Type: ptr.To("fast")},
			Machine: gardencorev1beta1.Machine{
				Type: "x3-large", Architecture: ptr.To("amd64"), Image: &gardencorev1beta1.ShootMachineImage{Name: "gardenlinux",
					Version: ptr.To("1877.5.0")},
			},
		}},
		WorkerPoolNameToOperatingSystemConfigsMap: map[string]*operatingsystemconfig.OperatingSystemConfigs{
			"general": {Init: operatingsystemconfig.Data{
				SecretName:                  ptr.To("gardener-node-agent-general-56b95-init"),
				GardenerNodeAgentSecretName: "gardener-node-agent-general-56b95",
			}}},
	}
}

// TestEtcd checks the Etcd of gardenlet's component with the status of etcd-druid.
func TestEtcd(t *testing.T) {
	all, err := sample.ControlPlane(t.Context(),
		sample.Options{Provider: "ironcore", Namespace: namespace, HighAvailability: true})
	must(t, err)
	found, ok := samples.Find(all, "Etcd", "etcd-main")
	if !ok {
		t.Fatal("the sample has no Etcd")
	}
	made := &druidcorev1alpha1.Etcd{}
	must(t, json.Unmarshal(found.JSON, made))
	made.Generation = 3
	compareFile(t, "etcd.yaml", "", made)

	delete(made.Annotations, "gardener.cloud/operation")
	made.Annotations["resourcetemplate.karmada.io/generation"] = "3"
	made.Generation = 1
	made.Status = druidcorev1alpha1.EtcdStatus{
		ObservedGeneration: ptr.To[int64](1), Replicas: 3, CurrentReplicas: 3, ReadyReplicas: 3, Ready: ptr.To(true),
		PeerUrlTLSEnabled: ptr.To(true),
		Conditions: []druidcorev1alpha1.Condition{
			{Type: druidcorev1alpha1.ConditionTypeReady, Status: druidcorev1alpha1.ConditionTrue, Reason: "Quorate",
				Message:            "The majority of members is ready",
				LastTransitionTime: timeOf(t, later), LastUpdateTime: timeOf(t, later)},
			{Type: druidcorev1alpha1.ConditionTypeBackupReady, Status: druidcorev1alpha1.ConditionFalse, Reason: "BackupFailed",
				Message:            "Stale snapshots",
				LastTransitionTime: timeOf(t, later), LastUpdateTime: timeOf(t, later)},
		},
	}
	compareFile(t, "etcd.member.yaml", "The same Etcd in a member, in which no backup was made.", made)
}

// compareFile checks that a file of `make start-interpreter` has an object as it is encoded.
func compareFile(t *testing.T, name, says string, object any) {
	t.Helper()
	raw, err := yaml.Marshal(object)
	must(t, err)
	text := "# SPDX-FileCopyrightText: The Graft authors\n#\n# SPDX-License-Identifier: Apache-2.0\n\n"
	if says == "" {
		says = "As gardenlet writes it; go test ./test/differential -update does, with Gardener's own code."
	}
	golden.Compare(t, filepath.Join("..", "..", "hack", "start", "interpreter", "objects", name),
		text+"# "+says+"\n"+strings.ReplaceAll(string(raw), "  creationTimestamp: null\n", ""))
}

func timeOf(t *testing.T, text string) metav1.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	must(t, err)
	return metav1.NewTime(parsed)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
