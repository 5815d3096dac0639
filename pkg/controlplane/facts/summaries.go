// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

// Summary says in a line what a variable is, or a field, whose name has that of its type in front: graft.Shoot.purpose.
func Summary(name string) string { return summaries[name] }

// summaries are for the reference. Each variable and each field has one.
var summaries = map[string]string{
	"shoot":           "the shoot whose control plane it is",
	"seed":            "the seed on which the control plane runs",
	"cloudProfile":    "the cloud profile of the shoot, merged where it is a NamespacedCloudProfile",
	"namespaceObject": "the namespace of the control plane",
	"garden":          "the Garden; in the namespace of a virtual garden, where shoot, seed and cloudProfile are not",
	"pool":            "the worker pool, in rules for the targets kubelet and node",
	"object":          "the object that is admitted, as it came",
	"operation":       "CREATE or UPDATE",

	"graft.Shoot.name":                 "its name in the garden",
	"graft.Shoot.namespace":            "its namespace in the garden",
	"graft.Shoot.uid":                  "its UID in the garden",
	"graft.Shoot.labels":               "its labels",
	"graft.Shoot.annotations":          "its annotations",
	"graft.Shoot.kubernetes":           "the version of the control plane",
	"graft.Shoot.region":               "spec.region",
	"graft.Shoot.provider":             "the type of the cloud, spec.provider.type",
	"graft.Shoot.cloudProfile":         "the name of the cloud profile, whatever its kind",
	"graft.Shoot.infrastructureConfig": "spec.provider.infrastructureConfig",
	"graft.Shoot.controlPlaneConfig":   "spec.provider.controlPlaneConfig",
	"graft.Shoot.networking":           "spec.networking",
	"graft.Shoot.hibernated":           "spec.hibernation.enabled",
	"graft.Shoot.workerless":           "whether it has no worker pools",
	"graft.Shoot.highAvailability":     "the failure tolerance of the control plane: \"\", node or zone",
	"graft.Shoot.purpose":              "spec.purpose, such as production",
	"graft.Shoot.technicalID":          "the name of the control plane's namespace, status.technicalID",
	"graft.Shoot.workers":              "the worker pools",
	"graft.Shoot.spec":                 "the whole spec",
	"graft.Shoot.status":               "the whole status",

	"graft.Networking.type":       "the network extension, such as calico",
	"graft.Networking.ipFamilies": "IPv4, IPv6 or both; IPv4 by default",
	"graft.Networking.nodes":      "the CIDR of the nodes",
	"graft.Networking.pods":       "the CIDR of the pods",
	"graft.Networking.services":   "the CIDR of the Services",

	"graft.Worker.name":                "its name",
	"graft.Worker.kubernetes":          "the version of its kubelets; that of the shoot by default",
	"graft.Worker.machineType":         "the type of its machines",
	"graft.Worker.machineImage":        "the name of the machine image; \"\" until Gardener has chosen one",
	"graft.Worker.machineImageVersion": "the version of the machine image; \"\" until Gardener has chosen one",
	"graft.Worker.architecture":        "amd64 (the default) or arm64",
	"graft.Worker.cri":                 "the container runtime, such as containerd",
	"graft.Worker.minimum":             "the least machines",
	"graft.Worker.maximum":             "the most machines",
	"graft.Worker.zones":               "its zones",
	"graft.Worker.labels":              "the labels of its nodes",
	"graft.Worker.annotations":         "the annotations of its nodes",
	"graft.Worker.providerConfig":      "providerConfig of the pool",

	"graft.Seed.name":           "its name",
	"graft.Seed.labels":         "its labels",
	"graft.Seed.annotations":    "its annotations",
	"graft.Seed.region":         "spec.provider.region",
	"graft.Seed.provider":       "the type of the cloud, spec.provider.type",
	"graft.Seed.providerConfig": "spec.provider.providerConfig",
	"graft.Seed.spec":           "the whole spec",

	"graft.CloudProfile.name":           "its name",
	"graft.CloudProfile.labels":         "its labels",
	"graft.CloudProfile.annotations":    "its annotations",
	"graft.CloudProfile.type":           "the type of the cloud",
	"graft.CloudProfile.providerConfig": "spec.providerConfig",
	"graft.CloudProfile.spec":           "the whole spec",

	"graft.Namespace.name":        "its name",
	"graft.Namespace.labels":      "its labels",
	"graft.Namespace.annotations": "its annotations",

	"graft.Garden.name":        "its name",
	"graft.Garden.labels":      "its labels",
	"graft.Garden.annotations": "its annotations",
	"graft.Garden.kubernetes":  "the version of the virtual garden",
	"graft.Garden.spec":        "the whole spec",

	"graft.Object.apiVersion":  "its apiVersion",
	"graft.Object.kind":        "its kind",
	"graft.Object.name":        "its name",
	"graft.Object.namespace":   "its namespace",
	"graft.Object.labels":      "its labels",
	"graft.Object.annotations": "its annotations",
	"graft.Object.metadata":    "the whole metadata",
	"graft.Object.spec":        "the whole spec",
	"graft.Object.status":      "the whole status",
	"graft.Object.data":        "the whole data, of a ConfigMap for instance",
}
