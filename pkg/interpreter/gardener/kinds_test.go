// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gardener_test

import (
	"cmp"
	"reflect"
	"slices"
	"testing"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	"github.com/gardener/gardener/pkg/utils/kubernetes/health"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
)

// typed is a kind as the code of Gardener has it.
type typed struct {
	interpreter.Kind
	object client.Object
	// check is Gardener's own check and additional conditions of the profile; checks names the functions.
	check  func(client.Object) bool
	checks string
	// fields are all fields that the check reads, each with its relevant values.
	fields []variants
	// dropped are the fields of the status that are not reflected on purpose.
	dropped []string
}

// newObject makes an empty object.
func (k typed) newObject() client.Object {
	made, ok := reflect.New(reflect.TypeOf(k.object).Elem()).Interface().(client.Object)
	if !ok {
		panic("no object")
	}
	return made
}

// extension is a kind of extensions.gardener.cloud.
func extension(kind string, object client.Object, fields []variants, dropped ...string) typed {
	return typed{
		Kind: interpreter.Kind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: kind}, object: object,
		check: func(o client.Object) bool { return health.CheckExtensionObject(o) == nil }, checks: "health.CheckExtensionObject",
		fields: fields, dropped: append(dropped, "state", "resources"),
	}
}

// kinds returns all kinds with rules in the profiles.
func kinds() []typed {
	return []typed{
		extension("BackupBucket", &extensionsv1alpha1.BackupBucket{}, fewExtensionFields),
		extension("BackupEntry", &extensionsv1alpha1.BackupEntry{}, fewExtensionFields),
		extension("Bastion", &extensionsv1alpha1.Bastion{}, fewExtensionFields),
		extension("ContainerRuntime", &extensionsv1alpha1.ContainerRuntime{}, fewExtensionFields),
		extension("ControlPlane", &extensionsv1alpha1.ControlPlane{}, fewExtensionFields),
		extension("DNSRecord", &extensionsv1alpha1.DNSRecord{}, fewExtensionFields),
		extension("Extension", &extensionsv1alpha1.Extension{}, fewExtensionFields),
		extension("Infrastructure", &extensionsv1alpha1.Infrastructure{}, fewExtensionFields),
		extension("Network", &extensionsv1alpha1.Network{}, fewExtensionFields),
		extension("OperatingSystemConfig", &extensionsv1alpha1.OperatingSystemConfig{}, fewExtensionFields, "extensionFiles.content.inline"),
		extension("Worker", &extensionsv1alpha1.Worker{}, extensionFields),
		{
			Kind:   interpreter.Kind{Group: "druid.gardener.cloud", Version: "v1alpha1", Kind: "Etcd"},
			object: &druidcorev1alpha1.Etcd{}, check: etcdIsHealthy, checks: "health.CheckEtcd, and the generation", fields: etcdFields(),
		},
		{
			Kind:   interpreter.Kind{Group: "machine.sapcloud.io", Version: "v1alpha1", Kind: "MachineDeployment"},
			object: &machinev1alpha1.MachineDeployment{}, check: machinesAreHealthy, checks: "health.CheckMachineDeployment", fields: machineFields(),
		},
		{
			Kind:   interpreter.Kind{Group: "resources.gardener.cloud", Version: "v1alpha1", Kind: "ManagedResource"},
			object: &resourcesv1alpha1.ManagedResource{}, check: resourcesAreHealthy,
			checks: "health.CheckManagedResource and health.CheckManagedResourceProgressing", fields: resourceFields(), dropped: []string{"resources"},
		},
		{
			Kind:   interpreter.Kind{Group: "core.gardener.cloud", Version: "v1beta1", Kind: "Shoot"},
			object: &gardencorev1beta1.Shoot{}, check: shootIsHealthy, checks: "gardenerutils.ComputeShootStatus, and that an operation has succeeded",
			fields: shootFields(),
		},
	}
}

// load compiles the profiles, with those optional ones that are named.
func load(t testing.TB, optional ...string) *rule.Program {
	t.Helper()
	documents, err := gardener.Profiles(optional...)
	if err != nil {
		t.Fatal(err)
	}
	program, findings := rule.Compile(documents)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return program
}

// TestKinds checks that this test has the kinds of the profiles, that each has health and status, and that extensions
// have retain.
func TestKinds(t *testing.T) {
	var want, got []string
	for _, k := range kinds() {
		want = append(want, k.String())
		if k.checks == "" || len(k.fields) == 0 {
			t.Errorf("%s has no check", k)
		}
	}
	for _, k := range load(t).Kinds() {
		got = append(got, k.String())
		needed := []interpreter.Operation{interpreter.Health, interpreter.Status, interpreter.Aggregate}
		if k.Group == "extensions.gardener.cloud" {
			needed = append(needed, interpreter.Retain)
		}
		for _, o := range needed {
			if !slices.Contains(k.Operations, o) {
				t.Errorf("%s has no rules of %s", k, o)
			}
		}
	}
	slices.SortFunc(want, cmp.Compare)
	slices.SortFunc(got, cmp.Compare)
	if !slices.Equal(want, got) {
		t.Errorf("got the kinds %v, want %v", got, want)
	}
}

// TestOptional checks that an optional profile is inactive by default, and that all can be active together.
func TestOptional(t *testing.T) {
	if _, err := gardener.Profiles("none"); err == nil {
		t.Error("Profiles accepts the unknown name none")
	}
	if all, err := gardener.Profiles(append(gardener.Optional(), gardener.Optional()...)...); err != nil || len(all) != 6+len(gardener.Optional()) {
		t.Errorf("the profiles are %d: %v", len(all), err)
	}
	worker := interpreter.Kind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "Worker"}
	network := interpreter.Kind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "Network"}
	for _, c := range []struct {
		optional  []string
		kind      interpreter.Kind
		operation interpreter.Operation
		want      bool
	}{
		{nil, worker, interpreter.Replicas, false},
		{nil, worker, interpreter.Revise, false},
		{nil, worker, interpreter.Components, false},
		{[]string{"worker-replicas"}, worker, interpreter.Replicas, true},
		{[]string{"worker-replicas"}, worker, interpreter.Revise, true},
		{[]string{"worker-replicas"}, worker, interpreter.Components, false},
		{nil, network, interpreter.Dependencies, false},
		{[]string{"cluster"}, network, interpreter.Dependencies, true},
		{[]string{"other-namespaces"}, network, interpreter.Dependencies, false},
		{gardener.Optional(), network, interpreter.Dependencies, true},
	} {
		if got := load(t, c.optional...).Supports(c.kind, c.operation); got != c.want {
			t.Errorf("with %v, %s of %s is known: %t", c.optional, c.operation, c.kind, got)
		}
	}
}
