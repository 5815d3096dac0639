// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"github.com/google/cel-go/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

var stringMap, stringList = cel.MapType(cel.StringType, cel.StringType), cel.ListType(cel.StringType)

// The types of the variables. Text that is not set reads as "", and has() tells.
var (
	networkingType = expression.NewObject("graft.Networking", map[string]*cel.Type{
		"type":       cel.StringType,
		"ipFamilies": stringList,
		"nodes":      cel.StringType,
		"pods":       cel.StringType,
		"services":   cel.StringType,
	})
	volumeType = expression.NewObject("graft.Volume", map[string]*cel.Type{
		"name":      cel.StringType,
		"type":      cel.StringType,
		"size":      cel.StringType,
		"encrypted": cel.BoolType,
	})
	taintType = expression.NewObject("graft.Taint", map[string]*cel.Type{
		"key":    cel.StringType,
		"value":  cel.StringType,
		"effect": cel.StringType,
	})
	workerType = expression.NewObject("graft.Worker", map[string]*cel.Type{
		"name":                cel.StringType,
		"kubernetes":          apiservercel.SemverType,
		"machineType":         cel.StringType,
		"machineImage":        cel.StringType,
		"machineImageVersion": cel.StringType,
		"architecture":        cel.StringType,
		"cri":                 cel.StringType,
		"minimum":             cel.IntType,
		"maximum":             cel.IntType,
		"zones":               stringList,
		"labels":              stringMap,
		"annotations":         stringMap,
		"providerConfig":      cel.DynType,
		"volume":              volumeType.Type(),
		"dataVolumes":         cel.ListType(volumeType.Type()),
		"kubeletDataVolume":   cel.StringType,
		"taints":              cel.ListType(taintType.Type()),
		"sysctls":             stringMap,
		"containerRuntimes":   stringList,
		"systemComponents":    cel.BoolType,
		"priority":            cel.IntType,
		"updateStrategy":      cel.StringType,
		// A number or a percentage.
		"maxSurge":       cel.DynType,
		"maxUnavailable": cel.DynType,
		"caBundle":       cel.DynType,
		// What Gardener says of the pool's components.
		"kubelet":                  cel.DynType,
		"machineControllerManager": cel.DynType,
		"clusterAutoscaler":        cel.DynType,
		"controlPlane":             cel.DynType,
	}, volumeType, taintType)
	shootType = expression.NewObject("graft.Shoot", map[string]*cel.Type{
		"name":             cel.StringType,
		"namespace":        cel.StringType,
		"uid":              cel.StringType,
		"labels":           stringMap,
		"annotations":      stringMap,
		"kubernetes":       apiservercel.SemverType,
		"region":           cel.StringType,
		"provider":         cel.StringType,
		"cloudProfile":     cel.StringType,
		"networking":       networkingType.Type(),
		"hibernated":       cel.BoolType,
		"workerless":       cel.BoolType,
		"highAvailability": cel.StringType,
		"purpose":          cel.StringType,
		"technicalID":      cel.StringType,
		"workers":          cel.ListType(workerType.Type()),
		"spec":             cel.DynType,
		"status":           cel.DynType,
		// What the cloud's own API says of the shoot, from spec.provider.
		"infrastructureConfig": cel.DynType,
		"controlPlaneConfig":   cel.DynType,
	}, networkingType, workerType)
	seedType = expression.NewObject("graft.Seed", map[string]*cel.Type{
		"name":        cel.StringType,
		"labels":      stringMap,
		"annotations": stringMap,
		"region":      cel.StringType,
		"provider":    cel.StringType,
		"spec":        cel.DynType,
		// From spec.provider.
		"providerConfig": cel.DynType,
	})
	cloudProfileType = expression.NewObject("graft.CloudProfile", map[string]*cel.Type{
		"name":        cel.StringType,
		"labels":      stringMap,
		"annotations": stringMap,
		"type":        cel.StringType,
		"spec":        cel.DynType,
		// From spec.
		"providerConfig": cel.DynType,
	})
	namespaceType = expression.NewObject("graft.Namespace", map[string]*cel.Type{
		"name":        cel.StringType,
		"labels":      stringMap,
		"annotations": stringMap,
	})
	gardenType = expression.NewObject("graft.Garden", map[string]*cel.Type{
		"name":        cel.StringType,
		"labels":      stringMap,
		"annotations": stringMap,
		"kubernetes":  apiservercel.SemverType,
		"spec":        cel.DynType,
	})
	objectType = expression.NewObject("graft.Object", map[string]*cel.Type{
		"apiVersion":  cel.StringType,
		"kind":        cel.StringType,
		"name":        cel.StringType,
		"namespace":   cel.StringType,
		"labels":      stringMap,
		"annotations": stringMap,
		"metadata":    cel.DynType,
		"spec":        cel.DynType,
		"status":      cel.DynType,
		"data":        cel.DynType,
	})
)

// Variables are the variables that facts give to expressions. The namespace is namespaceObject, as in Kubernetes' admission policies, because
// CEL reserves the word namespace.
func Variables() []expression.Variable {
	return []expression.Variable{
		{Name: "shoot", Object: shootType},
		{Name: "seed", Object: seedType},
		{Name: "cloudProfile", Object: cloudProfileType},
		{Name: "namespaceObject", Object: namespaceType},
		{Name: "garden", Object: gardenType},
		// The worker pool of an OperatingSystemConfig; kubernetes is the version of its kubelets.
		{Name: "pool", Object: workerType},
		{Name: "object", Object: objectType},
		{Name: "operation", Type: cel.StringType},
	}
}
