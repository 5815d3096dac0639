// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/gardener/gardener/pkg/apis/core"
	gardencoreinstall "github.com/gardener/gardener/pkg/apis/core/install"
	"github.com/gardener/gardener/pkg/apis/core/validation"
	operatorv1alpha1 "github.com/gardener/gardener/pkg/apis/operator/v1alpha1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/permission"
)

// decode reads a document as Gardener's API server does, with its defaults.
func decode[T runtime.Object](t *testing.T, document []byte, into T) T {
	t.Helper()
	scheme := runtime.NewScheme()
	gardencoreinstall.Install(scheme)
	if err := runtime.DecodeInto(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), document, into); err != nil {
		t.Fatal(err)
	}
	return into
}

// TestValid checks both registrations, with and without a gate, with Gardener's own validation.
func TestValid(t *testing.T) {
	for _, gate := range []string{"", "graft", "graft-acme"} {
		t.Run("gate "+gate, func(t *testing.T) {
			out := t.TempDir()
			if err := run(folder, gate, out, ""); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join(out, "controller-registration.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			documents := strings.Split(string(data), "\n---\n")
			registration := decode(t, []byte(documents[2]), &core.ControllerRegistration{})
			if problems := validation.ValidateControllerRegistration(registration); len(problems) > 0 {
				t.Error(problems.ToAggregate())
			}
			deployment := decode(t, []byte(documents[1]), &core.ControllerDeployment{})
			if problems := validation.ValidateControllerDeployment(deployment); len(problems) > 0 {
				t.Error(problems.ToAggregate())
			}
			holdGate(t, gate, registration)
			var values map[string]any
			if err := sigsyaml.Unmarshal(deployment.Helm.Values.Raw, &values); err != nil {
				t.Fatal(err)
			}
			holdInstalled(t, gate, render(t, deployment.Helm.RawChart, values))
		})
	}
}

// holdGate checks the fields that gardenlet reads.
func holdGate(t *testing.T, gate string, registration *core.ControllerRegistration) {
	t.Helper()
	if gate == "" {
		if len(registration.Spec.Resources) != 0 {
			t.Errorf("without a gate: want no resources, got %+v", registration.Spec.Resources)
		}
		return
	}
	before, after, primary, workerless := core.BeforeKubeAPIServer, core.AfterKubeAPIServer, true, true
	want := []core.ControllerResource{{
		Kind: "Extension", Type: gate, Primary: &primary, WorkerlessSupported: &workerless,
		ClusterCompatibility: []core.ClusterType{core.ClusterTypeShoot}, AutoEnable: []core.ClusterType{core.ClusterTypeShoot},
		Lifecycle:        &core.ControllerResourceLifecycle{Reconcile: &before, Delete: &after, Migrate: &after},
		ReconcileTimeout: registration.Spec.Resources[0].ReconcileTimeout, // Gardener's default
	}}
	if diff := cmp.Diff(want, registration.Spec.Resources); diff != "" {
		t.Error(diff)
	}
}

// holdInstalled checks that the program answers the registered type with the needed permissions, and otherwise does
// neither.
func holdInstalled(t *testing.T, gate string, files map[string]string) {
	t.Helper()
	if got := strings.Contains(files["configmap.yaml"], "enabled: true\n      type: "+gate); got != (gate != "") {
		t.Errorf("the configuration is %s", files["configmap.yaml"])
	}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(files["rbac.yaml"]), 4096)
	for _, role := range permission.Roles(compile(t), permission.Options{
		Name: "gardener-extension-provider-graft", Namespace: "extension-provider-graft", Gate: gate,
	}) {
		var installed, binding rbacv1.ClusterRole
		if err := errors.Join(decoder.Decode(&installed), decoder.Decode(&binding)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sorted(role.Rules), sorted(installed.Rules)); diff != "" {
			t.Errorf("the rules of the chart are not those of graft rbac, in the namespace %q (-graft +chart)\n%s", role.Namespace, diff)
		}
	}
}

// compile makes a program of a profile that looks up nothing, and is for virtual gardens too.
func compile(t *testing.T) *mutation.Program {
	t.Helper()
	documents, findings := profile.Load(source.File{Name: "profile.yaml", Data: []byte(`{apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1, kind: ProviderProfile,
		metadata: {name: none}, providers: [acme], controlplane: {virtual-garden-kube-apiserver: [{flags: {set: {v: "3"}}}]}}`)})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	program, err := compiler.Compile(documents, compiler.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func sorted(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	rules = slices.Clone(rules)
	slices.SortFunc(rules, func(a, b rbacv1.PolicyRule) int { return strings.Compare(a.String(), b.String()) })
	return rules
}

// TestGateOfOperator checks that gardener-operator's Extension registers the same as the ControllerRegistration, and
// that the runtime cluster has no gate.
func TestGateOfOperator(t *testing.T) {
	out := t.TempDir()
	if err := run(folder, "graft", out, ""); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(out, "extension.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var extension operatorv1alpha1.Extension
	if err := sigsyaml.UnmarshalStrict(data, &extension); err != nil {
		t.Fatal(err)
	}
	registrations, err := os.ReadFile(filepath.Join(out, "controller-registration.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var registration struct{ Spec struct{ Resources any } }
	var same struct{ Spec struct{ Resources any } }
	for document, into := range map[string]any{strings.Split(string(registrations), "\n---\n")[2]: &registration, string(data): &same} {
		if err := sigsyaml.Unmarshal([]byte(document), into); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(registration, same); diff != "" {
		t.Error(diff)
	}
	archive, err := pack(folder)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := sigsyaml.Unmarshal(extension.Spec.Deployment.ExtensionDeployment.Values.Raw, &values); err != nil {
		t.Fatal(err)
	}
	holdInstalled(t, "graft", render(t, archive, values))
	// gardener-operator passes the same values for a virtual garden, if an operator sets them there.
	values["gardener"] = map[string]any{"runtimeCluster": map[string]any{"enabled": true}}
	if text := render(t, archive, values)["rbac.yaml"]; strings.Contains(text, "resources: [extensions]") {
		t.Error("the gate has permissions for a virtual garden")
	}
}
