// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/coreos/go-systemd/v22/unit"
	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	extensionscontextwebhook "github.com/gardener/gardener/extensions/pkg/webhook/context"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/embed"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

func newEnsurer(t *testing.T, rules string, source facts.Source) *embed.Ensurer {
	t.Helper()
	e, err := embed.NewEnsurer(profiles(t, rules), embed.Options{Provider: "acme", Facts: source, Kubernetes: elsewhere})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// shootContext is a GardenContext of a shoot in the region eu-1 with a pool of each version.
func shootContext(versions ...string) extensionscontextwebhook.GardenContext {
	shoot := &gardencorev1beta1.Shoot{}
	shoot.Spec.Region, shoot.Spec.Kubernetes.Version = "eu-1", "1.34.2"
	for i, version := range versions {
		shoot.Spec.Provider.Workers = append(shoot.Spec.Provider.Workers, gardencorev1beta1.Worker{
			Name: fmt.Sprint("pool-", i), Kubernetes: &gardencorev1beta1.WorkerKubernetes{Version: ptr.To(version)},
		})
	}
	return extensionscontextwebhook.NewInternalGardenContext(&extensionscontroller.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "shoot--a--b"}, Shoot: shoot, Seed: &gardencorev1beta1.Seed{}, CloudProfile: &gardencorev1beta1.CloudProfile{},
	})
}

// noContext is a GardenContext that has nothing but an error.
type noContext struct{ err error }

func (n noContext) GetCluster(context.Context) (*extensionscontroller.Cluster, error) {
	return nil, n.err
}

var version = semver.MustParse("1.33.4")

func options(flags string) []*unit.UnitOption {
	return []*unit.UnitOption{
		{Section: "Unit", Name: "Description", Value: "kubelet daemon"}, {Section: "Service", Name: "Restart", Value: "always"},
		{Section: "Service", Name: "ExecStart", Value: "/opt/bin/kubelet \\\n    " + flags + " $KUBELET_EXTRA_ARGS"},
	}
}

// TestUnitOptions holds that flags and options get into the kubelet's unit, and nothing else changes.
func TestUnitOptions(t *testing.T) {
	e := newEnsurer(t, `controlplane:
  kubelet:
  - flags: {set: {cloud-provider: external, region: "${ shoot.region }"}}
  - featureGates: {A: true}
    when: ${ pool.kubernetes.satisfies("< 1.34") }
  - unit: {section: Service, add: {ExecStartPre: /bin/true}}
  - configuration: {set: {maxPods: 7}}
`, nil)
	came := options("--v=2 --feature-gates=B=true")
	got, err := e.EnsureKubeletServiceUnitOptions(t.Context(), shootContext("1.34.2", "1.33.4"), version, came, came)
	if err != nil {
		t.Fatal(err)
	}
	want := []*unit.UnitOption{came[0], came[1], {Section: "Service", Name: "ExecStartPre", Value: "/bin/true"}, {
		Section: "Service", Name: "ExecStart",
		Value: "/opt/bin/kubelet \\\n    --v=2 --feature-gates=B=true,A=true --cloud-provider=external --region=eu-1 $KUBELET_EXTRA_ARGS",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	again, err := e.EnsureKubeletServiceUnitOptions(t.Context(), shootContext("1.34.2", "1.33.4"), version, got, nil)
	if diff := cmp.Diff(got, again); diff != "" || err != nil {
		t.Errorf("the second time (-first +second): %v\n%s", err, diff)
	}
	two := append(options("--v=2"), options("--v=3")...)
	if _, err := e.EnsureKubeletServiceUnitOptions(t.Context(), shootContext("1.33.4"), version, two, nil); err == nil ||
		!strings.HasPrefix(err.Error(), "NestedUnreadable: ") {
		t.Errorf("with two commands: got %v", err)
	}
	if _, err := e.EnsureKubeletServiceUnitOptions(t.Context(), shootContext("1.33.4"), version, nil, nil); err == nil ||
		!strings.HasPrefix(err.Error(), "NestedUnreadable: ") {
		t.Errorf("without a command: got %v", err)
	}
}

// TestConfiguration holds that the kubelet's configuration gets its fields, and keeps those that it has.
func TestConfiguration(t *testing.T) {
	e := newEnsurer(t, `controlplane:
  kubelet:
  - configuration: {set: {maxPods: 7, kubeReserved: {cpu: 80m}, syncFrequency: 2m}, remove: [resolvConf]}
  - featureGates: {A: true}
`, nil)
	came := &kubeletconfigv1beta1.KubeletConfiguration{
		ResolverConfig: ptr.To("/etc/resolv.conf"), FeatureGates: map[string]bool{"B": false}, KubeReserved: map[string]string{"memory": "1Gi"},
		EnforceNodeAllocatable: []string{"pods"}, ClusterDomain: "cluster.local",
	}
	if err := e.EnsureKubeletConfiguration(t.Context(), shootContext(), version, came, nil); err != nil {
		t.Fatal(err)
	}
	want := &kubeletconfigv1beta1.KubeletConfiguration{
		FeatureGates: map[string]bool{"B": false, "A": true}, KubeReserved: map[string]string{"memory": "1Gi", "cpu": "80m"},
		EnforceNodeAllocatable: []string{"pods"}, ClusterDomain: "cluster.local", MaxPods: 7, SyncFrequency: metav1.Duration{Duration: 120e9},
	}
	if diff := cmp.Diff(want, came); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// TestConfigurationTellsNoValue holds that a value which the kubelet's type cannot hold is not told, as the decoder's own error would.
func TestConfigurationTellsNoValue(t *testing.T) {
	e := newEnsurer(t, "controlplane:\n  kubelet:\n  - configuration: {set: {syncFrequency: '${ shoot.region }'}}\n", nil)
	err := e.EnsureKubeletConfiguration(t.Context(), shootContext(), version, &kubeletconfigv1beta1.KubeletConfiguration{}, nil)
	if !errors.Is(err, embed.ErrFieldType) || strings.Contains(err.Error(), "eu-1") || !strings.HasSuffix(err.Error(), ": syncFrequency") {
		t.Errorf("got %v", err)
	}
}

const nodeRules = `controlplane:
  node:
  - file: {path: /a, permissions: 0755, content: "${ shoot.region } ${ operation }"}
  - file: {path: /first, content: boot}
    purposes: [provision]
  - unit: {name: a.service, content: "[Service]\nExecStart=/a\n"}
  - unit: {name: b.service, dropIns: {b.conf: "[Service]\nNice=1\n"}}
  - unit: {name: first.service, content: "[Service]\nExecStart=/first\n"}
    purposes: [provision]
  - sysctl: {set: {net.ipv4.ip_forward: 1}}
  - cri: {set: {containerd: {sandboxImage: pause}}}
`

// TestFilesAndUnits holds what is added to files and units of each purpose.
func TestFilesAndUnits(t *testing.T) {
	e, gctx := newEnsurer(t, nodeRules, nil), shootContext()
	inline := func(data string) extensionsv1alpha1.FileContent {
		return extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{Data: data}}
	}
	kept := extensionsv1alpha1.File{Path: "/kept", Content: extensionsv1alpha1.FileContent{
		ImageRef: &extensionsv1alpha1.FileContentImageRef{Image: "i", FilePathInImage: "/kept"},
	}}
	files := []extensionsv1alpha1.File{kept}
	if err := e.EnsureAdditionalFiles(t.Context(), gctx, &files, &[]extensionsv1alpha1.File{}); err != nil {
		t.Fatal(err)
	}
	const kernel = "/etc/sysctl.d/99-k8s-general.conf"
	want := []extensionsv1alpha1.File{
		kept, {Path: "/a", Permissions: ptr.To[uint32](0o755), Content: inline("eu-1 UPDATE")},
		{Path: kernel, Permissions: ptr.To[uint32](0o644), Content: inline("net.ipv4.ip_forward = 1\n")},
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	var units []extensionsv1alpha1.Unit
	if err := e.EnsureAdditionalUnits(t.Context(), gctx, &units, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]extensionsv1alpha1.Unit{
		{Name: "a.service", Content: ptr.To("[Service]\nExecStart=/a\n")},
		{Name: "b.service", DropIns: []extensionsv1alpha1.DropIn{{Name: "b.conf", Content: "[Service]\nNice=1\n"}}},
	}, units); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
	files, units = nil, nil
	if err := errors.Join(e.EnsureAdditionalProvisionFiles(t.Context(), gctx, &files, nil), e.EnsureAdditionalProvisionUnits(t.Context(), gctx, &units, nil)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]extensionsv1alpha1.File{{Path: "/first", Content: inline("boot")}}, files); diff != "" {
		t.Errorf("files for provisioning (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]extensionsv1alpha1.Unit{{Name: "first.service", Content: ptr.To("[Service]\nExecStart=/first\n")}}, units); diff != "" {
		t.Errorf("units for provisioning (-want +got):\n%s", diff)
	}
}

// TestSettingsAndRuntime holds the settings of the kernel and the container runtime's configuration.
func TestSettingsAndRuntime(t *testing.T) {
	e, gctx := newEnsurer(t, nodeRules, nil), shootContext()
	settings := "# why\nvm.max_map_count = 1\n"
	if err := e.EnsureKubernetesGeneralConfiguration(t.Context(), gctx, &settings, ptr.To("")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("# why\nvm.max_map_count = 1\nnet.ipv4.ip_forward = 1\n", settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	config := &extensionsv1alpha1.CRIConfig{Name: "containerd", CgroupDriver: ptr.To(extensionsv1alpha1.CgroupDriverSystemd)}
	if err := e.EnsureCRIConfig(t.Context(), gctx, config, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&extensionsv1alpha1.CRIConfig{
		Name: "containerd", CgroupDriver: ptr.To(extensionsv1alpha1.CgroupDriverSystemd), Containerd: &extensionsv1alpha1.ContainerdConfig{SandboxImage: "pause"},
	}, config); diff != "" {
		t.Errorf("container runtime (-want +got):\n%s", diff)
	}
	if err := e.EnsureCRIConfig(t.Context(), gctx, nil, nil); !errors.Is(err, embed.ErrNoCRIConfig) {
		t.Errorf("without a configuration: got %v", err)
	}
	if e.ShouldProvisionKubeletCloudProviderConfig(t.Context(), gctx, version) || e.EnsureKubeletCloudProviderConfig(t.Context(), gctx, version, nil, "") != nil {
		t.Error("there is a file for the in-tree cloud provider")
	}
}

// TestPools holds that the version of the pool is that which the method is told, that a Cluster that does not know it is read again,
// and that the namespace is that of the context.
func TestPools(t *testing.T) {
	const rules = "controlplane:\n  kubelet:\n  - flags: {set: {minor: \"${ string(pool.kubernetes.minor()) }\"}}\n"
	pool := func(version string) *facts.Facts {
		return &facts.Facts{Shoot: &facts.Shoot{Kubernetes: "1.34.2", Workers: []facts.Worker{{Name: "a", Kubernetes: version}}}}
	}
	for name, test := range map[string]struct {
		cached, fresh string
		refreshes     int
		want          string
	}{
		"known":  {"1.33.4", "", 0, "--minor=33"},
		"behind": {"1.32.1", "1.33.4", 1, "--minor=33"},
		"never":  {"1.32.1", "1.32.1", 1, "ExpressionFailed: "},
	} {
		t.Run(name, func(t *testing.T) {
			source := &lagging{Static: facts.Static{Facts: pool(test.cached)}, fresh: pool(test.fresh)}
			got, err := newEnsurer(t, rules, source).EnsureKubeletServiceUnitOptions(t.Context(), shootContext(), version, options("--v=2"), nil)
			text := fmt.Sprint(err)
			if err == nil {
				text = got[2].Value
			}
			if !strings.Contains(text, test.want) || source.refreshes != test.refreshes {
				t.Errorf("got %s after %d refreshes", text, source.refreshes)
			}
			for _, namespace := range source.namespaces {
				if namespace != "shoot--a--b" {
					t.Errorf("the facts of %q were read", namespace)
				}
			}
		})
	}
}

// TestWithoutCluster holds how a GardenContext fails, for whole objects and for parts, and that nobody asks it without need.
func TestWithoutCluster(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "clusters"}, "shoot--a--b")
	for name, test := range map[string]struct {
		err  error
		want mutation.Reason
	}{
		"not found":    {fmt.Errorf("could not get cluster: %w", notFound), mutation.ClusterMissing},
		"down":         {errors.New("refused"), mutation.FactsUnavailable},
		"late":         {context.DeadlineExceeded, mutation.DeadlineExceeded},
		"an empty one": {nil, mutation.ClusterMissing},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnsurer(t, setRegion+nodeRules[len("controlplane:\n"):], nil)
			object, files := into[appsv1.Deployment](t, scheduler), []extensionsv1alpha1.File{}
			for what, err := range map[string]error{
				"a Deployment": e.EnsureKubeSchedulerDeployment(t.Context(), noContext{test.err}, object, nil),
				"files":        e.EnsureAdditionalFiles(t.Context(), noContext{test.err}, &files, nil),
			} {
				var failure *mutation.Failure
				if !errors.As(err, &failure) || failure.Reason != test.want || !strings.HasPrefix(err.Error(), string(test.want)+": ") {
					t.Errorf("%s: got %v", what, err)
				}
			}
			if len(files) != 0 {
				t.Errorf("there are files: %v", files)
			}
			var units []extensionsv1alpha1.Unit
			if err := e.EnsureAdditionalUnits(t.Context(), noContext{test.err}, &units, nil); err != nil || len(units) != 2 {
				t.Errorf("units need no facts: %v, %v", units, err)
			}
		})
	}
}

const setRegion = "controlplane:\n  kube-scheduler:\n  - flags: {set: {region: \"${ shoot.region }\"}}\n"

// TestNothingToDo holds that what has no rule is returned as it is, and nobody is asked for facts.
func TestNothingToDo(t *testing.T) {
	e, gctx := newEnsurer(t, setRegion, nil), noContext{errors.New("asked")}
	came := options("--v=2")
	got, err := e.EnsureKubeletServiceUnitOptions(t.Context(), gctx, version, came, nil)
	if err != nil || &got[0] != &came[0] {
		t.Errorf("got %v, %v", got, err)
	}
	configuration, settings := &kubeletconfigv1beta1.KubeletConfiguration{}, "a = b\n"
	if err := errors.Join(
		e.EnsureKubeletConfiguration(t.Context(), gctx, version, configuration, nil), e.EnsureKubernetesGeneralConfiguration(t.Context(), gctx, &settings, nil),
		e.EnsureCRIConfig(t.Context(), gctx, nil, nil), e.EnsureKubeAPIServerDeployment(t.Context(), gctx, &appsv1.Deployment{}, nil),
	); err != nil {
		t.Error(err)
	}
}
