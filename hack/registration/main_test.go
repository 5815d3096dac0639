// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	gardencorev1 "github.com/gardener/gardener/pkg/apis/core/v1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	operatorv1alpha1 "github.com/gardener/gardener/pkg/apis/operator/v1alpha1"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const folder = "../../charts/gardener-extension-provider-graft"

// render returns the installed files of the chart, from the archive in the registration.
func render(t *testing.T, archive []byte, values map[string]any) map[string]string {
	t.Helper()
	loaded, err := loader.LoadArchive(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(loaded, values, chartutil.ReleaseOptions{Name: "provider-graft", Namespace: "extension-provider-graft"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Engine{Strict: true}.Render(loaded, all)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, text := range files {
		out[filepath.Base(name)] = text
	}
	return out
}

func TestRegistration(t *testing.T) {
	out := t.TempDir()
	written := func() map[string][]byte {
		if err := run(folder, "", out, ""); err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for _, name := range []string{"controller-registration.yaml", "extension.yaml"} {
			data, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = data
		}
		return files
	}
	all := written()
	for name, second := range written() {
		if !bytes.Equal(all[name], second) {
			t.Errorf("%s: two runs differ", name)
		}
		committed, err := os.ReadFile("../../example/" + name)
		if err != nil || !bytes.Equal(second, committed) {
			t.Errorf("example/%s is not current: run `make generate` (%v)", name, err)
		}
	}
	holdExtension(t, all["extension.yaml"])
	first := all["controller-registration.yaml"]
	documents := strings.Split(string(first), "\n---\n")
	var deployment gardencorev1.ControllerDeployment
	var registration gardencorev1beta1.ControllerRegistration
	if err := sigsyaml.UnmarshalStrict([]byte(documents[1]), &deployment); err != nil {
		t.Fatal(err)
	}
	if err := sigsyaml.UnmarshalStrict([]byte(documents[2]), &registration); err != nil {
		t.Fatal(err)
	}
	if policy := registration.Spec.Deployment.Policy; *policy != gardencorev1beta1.ControllerDeploymentPolicyAlways || len(registration.Spec.Resources) != 0 {
		t.Errorf("the registration is %+v", registration.Spec)
	}
	files := render(t, deployment.Helm.RawChart, nil)
	if !strings.Contains(files["deployment.yaml"], "kind: Deployment") {
		t.Errorf("the archive renders no Deployment: %v", files)
	}
}

// holdExtension reads the object for gardener-operator as it does.
func holdExtension(t *testing.T, data []byte) {
	t.Helper()
	var extension operatorv1alpha1.Extension
	if err := sigsyaml.UnmarshalStrict(data, &extension); err != nil {
		t.Fatal(err)
	}
	deployment := extension.Spec.Deployment.ExtensionDeployment
	if *deployment.Policy != gardencorev1beta1.ControllerDeploymentPolicyAlways || !strings.Contains(deployment.Helm.OCIRepository.GetURL(), "/charts/") {
		t.Errorf("the extension is %+v", deployment)
	}
	for name, values := range map[string][]byte{"values": deployment.Values.Raw, "runtimeClusterValues": deployment.RuntimeClusterValues.Raw} {
		var given map[string]any
		if err := sigsyaml.Unmarshal(values, &given); err != nil {
			t.Fatal(err)
		}
		archive, err := pack(folder)
		if err != nil {
			t.Fatal(err)
		}
		if files := render(t, archive, given); !strings.Contains(files["deployment.yaml"], "image: registry.example.com/graft/") {
			t.Errorf("%s render %s", name, files["deployment.yaml"])
		}
	}
}

func TestArchive(t *testing.T) {
	out := filepath.Join(t.TempDir(), "chart.tgz")
	if err := run("../../charts/graft-profiles", "", "", out); err != nil {
		t.Fatal(err)
	}
	loaded, err := loader.LoadFile(out)
	if err != nil || loaded.Name() != "graft-profiles" || loaded.Schema == nil {
		t.Errorf("the archive has %v, %v", loaded, err)
	}
}

// TestConfiguration reads the configuration in the rendered ConfigMap as the program does.
func TestConfiguration(t *testing.T) {
	archive, err := pack(folder)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{"config": map[string]any{
		"webhook":    map[string]any{"failurePolicy": "Ignore"},
		"parameters": map[string]any{"openstack": map[string]any{"etcdStorageClass": "fast"}},
	}}
	var configMap struct{ Data map[string]string }
	if err := sigsyaml.Unmarshal([]byte(render(t, archive, values)["configmap.yaml"]), &configMap); err != nil {
		t.Fatal(err)
	}
	config, err := configv1alpha1.DecodeControllerConfiguration(source.File{Name: "config.yaml", Data: []byte(configMap.Data["config.yaml"])})
	if err != nil {
		t.Fatal(err)
	}
	if config.Webhook.FailurePolicy != "Ignore" || config.Server.WebhookPort != 10250 || !config.Profiles.ConfigMaps.Enabled ||
		config.Parameters["openstack"]["etcdStorageClass"].Value != "fast" {
		t.Errorf("the configuration is %+v", config)
	}
}

// byName reports whether a rule is for named objects, and for reading only.
func byName(rule rbacv1.PolicyRule) bool {
	return len(rule.ResourceNames) > 0 && !slices.ContainsFunc(rule.Verbs, func(verb string) bool {
		return !slices.Contains([]string{"get", "list", "watch"}, verb)
	})
}

func TestPermissions(t *testing.T) {
	archive, err := pack(folder)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{
		"lookups":  map[string]any{"secrets": []any{"cloudprovider"}},
		"profiles": map[string]any{"openstack": "kind: ProviderProfile\n"},
		"gardener": map[string]any{"runtimeCluster": map[string]any{"enabled": true}},
	}
	files := render(t, archive, values)
	if !strings.Contains(files["profiles.yaml"], `graft.provider.extensions.gardener.cloud/profile: "true"`) {
		t.Errorf("the profile is %s", files["profiles.yaml"])
	}
	if !strings.Contains(files["service.yaml"], "name: gardener-extension-provider-graft-runtime\n") {
		t.Errorf("the Service is %s", files["service.yaml"])
	}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(files["rbac.yaml"]), 4096)
	var role rbacv1.ClusterRole
	if err := decoder.Decode(&role); err != nil {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			if (resource == "secrets" || resource == "configmaps") && !byName(rule) {
				t.Errorf("the whole cluster's %s may be read: %+v", resource, rule)
			}
			for _, verb := range rule.Verbs {
				if verb == "*" || resource == "*" || (verb == "update" && len(rule.ResourceNames) == 0) {
					t.Errorf("too much is allowed: %+v", rule)
				}
			}
		}
	}
}
