// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsyaml "sigs.k8s.io/yaml"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// each calls f for every manifest of every chart with all values that there are.
func each(t *testing.T, f func(t *testing.T, chart, values, kind, manifest string)) {
	t.Helper()
	for _, name := range names(t) {
		loaded := load(t, name)
		for values, given := range cases(t, name) {
			t.Run(name+"/"+values, func(t *testing.T) {
				manifests, err := render(loaded, given)
				if err != nil {
					t.Fatal(err)
				}
				for _, manifest := range manifests {
					var head metav1.TypeMeta
					if err := sigsyaml.Unmarshal([]byte(manifest), &head); err != nil {
						t.Fatal(err)
					}
					f(t, name, values, head.Kind, manifest)
				}
			})
		}
	}
}

// TestHardened checks the security settings of every Pod.
func TestHardened(t *testing.T) {
	found := 0
	each(t, func(t *testing.T, _, values, kind, manifest string) {
		var workload appsv1.Deployment // a DaemonSet has its template at the same place
		if kind != "Deployment" && kind != "DaemonSet" {
			return
		}
		found++
		if err := sigsyaml.Unmarshal([]byte(manifest), &workload); err != nil {
			t.Fatal(err)
		}
		pod := workload.Spec.Template.Spec
		docker := values == "node"
		if pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: no seccomp profile", kind)
		}
		// Folders that the kubelet creates are owned by root.
		if root := *pod.SecurityContext.RunAsUser == 0; root == *pod.SecurityContext.RunAsNonRoot || (root && kind != "DaemonSet") {
			t.Errorf("%s runs as %d", kind, *pod.SecurityContext.RunAsUser)
		}
		if pod.HostNetwork != docker || pod.HostPID || pod.HostIPC {
			t.Errorf("%s shares namespaces of the machine; host network: %t", kind, pod.HostNetwork)
		}
		for _, c := range pod.Containers {
			security := &corev1.SecurityContext{AllowPrivilegeEscalation: new(bool), ReadOnlyRootFilesystem: new(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
			if docker {
				security.Capabilities.Add = []corev1.Capability{"NET_ADMIN"}
			}
			if diff := cmp.Diff(security, c.SecurityContext); diff != "" {
				t.Error(diff)
			}
			if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.Resources.Requests.Memory().IsZero() {
				t.Errorf("%s has no probes or no requests", c.Name)
			}
		}
	})
	if found < 10 {
		t.Errorf("%d workloads were looked at", found)
	}
}

// TestRoles checks that no role has wildcards, or may write all objects of a kind outside of its namespace.
func TestRoles(t *testing.T) {
	each(t, func(t *testing.T, _, values, kind, manifest string) {
		if kind != "ClusterRole" && kind != "Role" {
			return
		}
		var role rbacv1.ClusterRole
		if err := sigsyaml.Unmarshal([]byte(manifest), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			wild := func(s string) bool { return s == "*" }
			if slices.ContainsFunc(rule.Verbs, wild) || slices.ContainsFunc(rule.Resources, wild) || slices.ContainsFunc(rule.APIGroups, wild) {
				t.Errorf("%s asks for everything: %+v", role.Name, rule)
			}
			writes := slices.ContainsFunc(rule.Verbs, func(verb string) bool { return slices.Contains([]string{"update", "patch", "delete"}, verb) })
			if kind == "ClusterRole" && writes && len(rule.ResourceNames) == 0 {
				t.Errorf("%s may write all %v", role.Name, rule.Resources)
			}
			if kind == "ClusterRole" && slices.Contains(rule.Resources, "secrets") && len(rule.ResourceNames) == 0 {
				t.Errorf("%s may read all Secrets", role.Name)
			}
		}
	})
}

// interpreterConfiguration returns the configuration of a resource interpreter, and checks some of its values.
func interpreterConfiguration(t *testing.T, file source.File, values string) error {
	t.Helper()
	c, err := configv1alpha1.DecodeResourceInterpreterConfiguration(file)
	if err != nil {
		return err
	}
	if values == "cert-manager" && c.Certificate.Overlap.String() != "25m0s" {
		t.Errorf("a certificate of files waits for %s", c.Certificate.Overlap)
	}
	if c.Registration == nil {
		return nil
	}
	var without []string
	if values == "everything" {
		without = []string{"components", "dependencies"}
	}
	if diff := cmp.Diff(without, c.Registration.Without); diff != "" {
		t.Errorf("unexpected list of unregistered operations: %s", diff)
	}
	return nil
}

// TestOperations checks that the chart value of the resource interpreter permits the same omitted operations as the
// configuration.
func TestOperations(t *testing.T) {
	var schema struct {
		Properties struct {
			Registration struct {
				Properties struct {
					Without struct {
						Items struct{ Enum []string }
					}
				}
			}
		}
	}
	if err := sigsyaml.Unmarshal(mustRead(t, "charts/graft-resource-interpreter/values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(configv1alpha1.RegisteredOperations(), schema.Properties.Registration.Properties.Without.Items.Enum); diff != "" {
		t.Error(diff)
	}
}

// TestConfigurations reads the configurations in the ConfigMaps as the programs do.
func TestConfigurations(t *testing.T) {
	found := map[string]int{}
	each(t, func(t *testing.T, chart, values, kind, manifest string) {
		var configMap corev1.ConfigMap
		if kind != "ConfigMap" || !strings.Contains(manifest, "config.yaml:") {
			return
		}
		if err := sigsyaml.Unmarshal([]byte(manifest), &configMap); err != nil {
			t.Fatal(err)
		}
		file := source.File{Name: "config.yaml", Data: []byte(configMap.Data["config.yaml"])}
		var err error
		switch chart {
		case "gardener-extension-provider-graft":
			_, err = configv1alpha1.DecodeControllerConfiguration(file)
		case "graft-network-provider":
			_, err = configv1alpha1.DecodeNetworkProviderConfiguration(file)
		case "graft-resource-interpreter":
			err = interpreterConfiguration(t, file, values)
		}
		if err != nil {
			t.Errorf("%v in\n%s", err, file.Data)
		}
		found[chart]++
	})
	if len(found) != 3 {
		t.Errorf("configurations of %v were read", found)
	}
}

// TestNetworkProfiles checks which ConfigMaps the network provider's Pods mount and read: those in the values, or by
// default that of the chart graft-profiles.
func TestNetworkProfiles(t *testing.T) {
	const chart = "graft-network-provider"
	want := map[string][]string{
		"defaults": {"graft-network-profiles"}, "profile-images": nil, "profiles-inline": {chart + "-profiles"}, "node": {"acme", "other.example", chart + "-profiles"},
	}
	loaded, given := load(t, chart), cases(t, chart)
	for values, want := range want {
		t.Run(values, func(t *testing.T) {
			manifests, err := render(loaded, given[values])
			if err != nil {
				t.Fatal(err)
			}
			var mounted, read []string
			for _, manifest := range manifests {
				var workload appsv1.Deployment // a DaemonSet has its template at the same place
				var configMap corev1.ConfigMap
				if err := errors.Join(sigsyaml.Unmarshal([]byte(manifest), &workload), sigsyaml.Unmarshal([]byte(manifest), &configMap)); err != nil {
					t.Fatal(err)
				}
				for _, volume := range workload.Spec.Template.Spec.Volumes {
					if volume.ConfigMap != nil && volume.Name != "config" {
						mounted = append(mounted, volume.ConfigMap.Name)
					}
				}
				for line := range strings.Lines(configMap.Data["config.yaml"]) {
					if _, name, ok := strings.Cut(strings.TrimSpace(line), "/etc/graft/profiles/"); ok {
						read = append(read, name)
					}
				}
			}
			if diff := cmp.Diff([][]string{want, want}, [][]string{mounted, read}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
