// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gardener_test

import (
	"slices"

	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	"github.com/gardener/gardener/pkg/utils/kubernetes/health"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// statuses are those that conditions have; nil: the condition is not there.
var statuses = []any{nil, "True", "False", "Unknown", "Progressing"}

// conditions are the variants of conditions.
func conditions(names ...string) []variants {
	var fields []variants
	for _, name := range names {
		fields = append(fields, variants{[]string{"status", "conditions", name}, statuses})
	}
	return fields
}

var (
	generation         = variants{[]string{"metadata", "generation"}, []any{nil, 1, 2}}
	observedGeneration = variants{[]string{"status", "observedGeneration"}, []any{nil, 1, 2}}
)

// extensionFields are all fields that health.CheckExtensionObject reads.
var extensionFields = []variants{
	generation,
	observedGeneration,
	{[]string{"status", "lastError"}, []any{nil, object{"description": ""}, object{"description": "broken", "codes": []string{"ERR_INFRA_QUOTA_EXCEEDED"}}}},
	{[]string{"status", "lastOperation", "state"}, []any{nil, "Succeeded", "Processing", "Failed", "Error", "Pending", "Aborted", ""}},
	{[]string{"status", "lastOperation", "lastUpdateTime"}, []any{nil, "2026-03-01T10:00:00Z", "2026-03-01T12:00:00+02:00", "2026-03-01T09:59:59Z"}},
	{[]string{"metadata", "annotations", "gardener.cloud/operation"}, []any{nil, "", "reconcile"}},
	{[]string{"metadata", "annotations", "gardener.cloud/timestamp"}, []any{
		nil, "2026-03-01T10:00:00Z", "2026-03-01T10:00:00.999999999Z", "2026-03-01T10:00:01Z", "2026-03-01T09:00:00+01:00", "2026-03-01T11:00:01+01:00",
		"2026-02-30T10:00:00Z", "2026-03-01", "", "soon", "2026-03-01T25:00:00Z", "2026-03-01T10:00:60Z", "2026-03-01 10:00:00Z",
	}},
}

// fewExtensionFields are the same with fewer values, for all kinds that have the rules of the first.
var fewExtensionFields = []variants{
	generation,
	observedGeneration,
	{[]string{"status", "lastError"}, []any{nil, object{"description": "broken"}}},
	{[]string{"status", "lastOperation", "state"}, []any{nil, "Succeeded", "Processing", "Error"}},
	{[]string{"status", "lastOperation", "lastUpdateTime"}, []any{nil, "2026-03-01T10:00:00Z", "2026-03-01T09:59:59Z"}},
	{[]string{"metadata", "annotations", "gardener.cloud/operation"}, []any{nil, "reconcile"}},
	{[]string{"metadata", "annotations", "gardener.cloud/timestamp"}, []any{nil, "2026-03-01T10:00:00.5Z", "2026-03-01T10:00:01Z", "soon"}},
}

func resourcesAreHealthy(o client.Object) bool {
	r, ok := o.(*resourcesv1alpha1.ManagedResource)
	return ok && health.CheckManagedResource(r) == nil && health.CheckManagedResourceProgressing(r) == nil
}

func resourceFields() []variants {
	return append(conditions("ResourcesApplied", "ResourcesHealthy", "ResourcesProgressing", "Other"), generation, observedGeneration)
}

func machinesAreHealthy(o client.Object) bool {
	d, ok := o.(*machinev1alpha1.MachineDeployment)
	return ok && health.CheckMachineDeployment(d) == nil
}

func machineFields() []variants {
	manual := object{"type": "InPlaceUpdate", "inPlaceUpdate": object{"orchestrationType": "Manual"}}
	return append(conditions("Available", "Progressing"), generation, observedGeneration,
		variants{[]string{"status", "conditions", "ReplicaFailure"}, statuses[:4]},
		variants{[]string{"status", "conditions", "Frozen"}, statuses[:4]},
		variants{[]string{"spec", "strategy"}, []any{nil, object{"type": "InPlaceUpdate"}, manual}},
		variants{[]string{"status", "updatedReplicas"}, []any{nil, 1}},
	)
}

// etcdIsHealthy wants the generation to be observed, too.
func etcdIsHealthy(o client.Object) bool {
	e, ok := o.(*druidcorev1alpha1.Etcd)
	return ok && health.CheckEtcd(e) == nil && ptr.Deref(e.Status.ObservedGeneration, 0) == e.Generation
}

func etcdFields() []variants {
	return append(conditions("BackupReady", "Ready"), generation, observedGeneration, variants{[]string{"status", "ready"}, []any{nil, true, false}})
}

// shootIsHealthy wants an operation that has succeeded for the generation, too, and no nodes of a shoot that sleeps.
func shootIsHealthy(o client.Object) bool {
	shoot, ok := o.(*gardencorev1beta1.Shoot)
	if !ok || shoot.Generation != shoot.Status.ObservedGeneration || shoot.Status.LastOperation == nil ||
		shoot.Status.LastOperation.State != gardencorev1beta1.LastOperationStateSucceeded {
		return false
	}
	awake := slices.DeleteFunc(slices.Clone(shoot.Status.Conditions), func(c gardencorev1beta1.Condition) bool {
		return shoot.Status.IsHibernated && (c.Type == gardencorev1beta1.ShootEveryNodeReady || c.Type == gardencorev1beta1.ShootSystemComponentsHealthy)
	})
	return gardenerutils.ComputeShootStatus(shoot.Status.LastOperation, shoot.Status.LastErrors, awake...) == gardenerutils.ShootStatusHealthy
}

func shootFields() []variants {
	return append(conditions("APIServerAvailable"), generation, observedGeneration,
		variants{[]string{"status", "conditions", "EveryNodeReady"}, []any{nil, "True", "Unknown"}},
		variants{[]string{"status", "conditions", "SystemComponentsHealthy"}, []any{nil, "True", "False"}},
		variants{[]string{"status", "hibernated"}, []any{nil, true}},
		variants{[]string{"status", "lastOperation", "state"}, []any{nil, "Succeeded", "Processing", "Failed"}},
		variants{[]string{"status", "lastOperation", "type"}, []any{nil, "Create", "Reconcile", "Delete"}},
		variants{[]string{"status", "lastErrors"}, []any{nil, []object{{"description": "broken"}}}},
	)
}
