// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/fieldpath"
)

// Variables returns the variables for expressions. The namespace is called namespaceObject, as in Kubernetes' admission
// policies, because CEL reserves namespace.
func Variables() []expression.Variable {
	return []expression.Variable{
		{Name: "shoot", Object: shootType.object},
		{Name: "seed", Object: seedType.object},
		{Name: "cloudProfile", Object: cloudProfileType.object},
		{Name: "namespaceObject", Object: namespaceType.object},
		{Name: "garden", Object: gardenType.object},
		{Name: "pool", Object: workerType.object},
		{Name: "object", Object: objectType.object},
		{Name: "operation", Type: cel.StringType},
	}
}

// ResolveName implements interpreter.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	var value ref.Val
	switch name {
	case "shoot":
		value = a.facts.shoot.variable()
	case "seed":
		value = a.facts.seed.value()
	case "cloudProfile":
		value = a.facts.cloudProfile.value()
	case "namespaceObject":
		value = a.facts.Namespace.value()
	case "garden":
		value = a.facts.garden.variable()
	case "pool":
		if pool := a.facts.Pool(a.object.Labels[LabelWorkerPool]); pool != nil {
			value = pool.value
		}
	case "operation":
		value = a.operation
	case "object":
		if a.fields == nil {
			a.fields = a.object.values()
		}
		value = objectType.object.Value(a.fields)
	}
	return value, value != nil
}

// summaries has a line for each variable and for each field, by its type and name, for the reference.
var summaries = map[string]string{
	"shoot":           "the shoot whose control plane it is",
	"seed":            "the seed on which the control plane runs",
	"cloudProfile":    "the cloud profile of the shoot, merged where it is a NamespacedCloudProfile",
	"namespaceObject": "the namespace of the control plane",
	"garden":          "the Garden; replaces shoot, seed and cloudProfile in a virtual garden",
	"pool":            "the worker pool, in rules for the targets kubelet and node",
	"object":          "the admitted object before any rule",
	"operation":       "CREATE or UPDATE",
}

// Summary describes a variable, or a field by the name of its type and its own name, such as graft.Shoot.purpose, in
// one line.
func Summary(name string) string { return summaries[name] }

// field is a field of a variable.
type field struct {
	name    string
	kind    *cel.Type
	summary string
	// get returns the value, or nil if it is not set.
	get func(*decodedObject) any
}

// objectKind is the type of a variable with its fields.
type objectKind struct {
	object *expression.ObjectType
	fields []field
}

// newKind declares a type and the summaries of its fields.
func newKind(name string, nested []*expression.ObjectType, fields ...field) objectKind {
	kinds := make(map[string]*cel.Type, len(fields))
	for _, f := range fields {
		kinds[f.name], summaries[name+"."+f.name] = f.kind, f.summary
	}
	return objectKind{expression.NewObjectType(name, kinds, nested...), fields}
}

// value returns the value of a variable.
func (k objectKind) value(of *decodedObject) ref.Val {
	values := make(expression.Values, len(k.fields))
	for _, f := range k.fields {
		if value := f.get(of); value != nil {
			values[f.name] = value
		}
	}
	return k.object.Value(values)
}

// text declares a string at a path, with a default. An empty string counts as not set.
func text(name, summary, path, otherwise string) field {
	return field{name, cel.StringType, summary, func(of *decodedObject) any { return textValue(cmp.Or(take(of, path, ""), otherwise)) }}
}

func textValue(s string) any {
	if s != "" {
		return types.String(s)
	}
	return expression.Unset{Default: types.String("")}
}

// texts declares a list of strings at a path, with a default.
func texts(name, summary, path string, otherwise ...string) field {
	return field{name, cel.ListType(cel.StringType), summary, func(of *decodedObject) any {
		items := takeAll[string](of, path)
		if len(items) == 0 {
			items = otherwise
		}
		return types.NewStringList(types.DefaultTypeAdapter, items)
	}}
}

func textMap(name, summary, path string) field {
	return field{name, stringMap, summary, func(of *decodedObject) any {
		members := take[map[string]any](of, path, nil)
		texts := make(map[string]string, len(members))
		for key := range members {
			member, ok := members[key].(string)
			if !ok && members[key] != nil {
				of.fail(wrongType(of.path + path))
			}
			texts[key] = member
		}
		return stringMapValue(texts)
	}}
}

func stringMapValue(members map[string]string) ref.Val {
	return types.NewStringStringMap(types.DefaultTypeAdapter, members)
}

// scalarAt declares a value at a path that is always set. Its default is zero.
func scalarAt[T bool | int64](name string, kind *cel.Type, summary, path string) field {
	return field{name, kind, summary, func(of *decodedObject) any {
		var zero T
		return types.DefaultTypeAdapter.NativeToValue(take(of, path, zero))
	}}
}

// optional declares a value at the path of its name that need not be set. Its default is zero.
func optional[T bool | int64](name string, kind *cel.Type, summary string) field {
	return field{name, kind, summary, func(of *decodedObject) any {
		var zero T
		value := types.DefaultTypeAdapter.NativeToValue(take(of, name, zero))
		if of.find(name) == nil {
			return expression.Unset{Default: value}
		}
		return value
	}}
}

// version declares the version of Kubernetes at a path. An invalid one is an error of the object.
func version(summary, path string) field {
	return field{"kubernetes", apiservercel.SemverType, summary, func(of *decodedObject) any {
		v, err := expression.ParseVersion(take(of, path, ""))
		if err != nil {
			of.fail(fmt.Errorf("%s%s: %w: %w", of.path, path, err, ErrUndecodable))
		}
		return v
	}}
}

// list declares a list of objects at the path of its name.
func list(name, summary string, kind objectKind) field {
	return field{name, cel.ListType(kind.object.Type()), summary, func(from *decodedObject) any {
		items := from.items(name)
		values := make([]ref.Val, len(items))
		for i, item := range items {
			values[i] = kind.value(item)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, values)
	}}
}

// whole declares the value at a path of the whole resource.
func whole(name, summary, path string) field {
	return field{name, cel.DynType, summary, func(of *decodedObject) any {
		whole, path := of.manifest, of.path+path
		return expression.Lazy(func() any {
			steps, err := fieldpath.Parse(path)
			if err != nil {
				return err
			}
			return steps.In(whole())
		})
	}}
}

// metadata declares the fields that resources share.
func metadata(more ...field) []field {
	return append([]field{
		text("name", "its name", "metadata.name", ""),
		textMap("labels", "its labels", "metadata.labels"),
		textMap("annotations", "its annotations", "metadata.annotations"),
	}, more...)
}

var stringMap = cel.MapType(cel.StringType, cel.StringType)

var networkingType = newKind("graft.Networking", nil,
	text("type", "the network extension, such as calico", "type", ""),
	texts("ipFamilies", "IPv4, IPv6 or both; IPv4 by default", "ipFamilies", "IPv4"),
	text("nodes", "the CIDR of the nodes", "nodes", ""),
	text("pods", "the CIDR of the pods", "pods", ""),
	text("services", "the CIDR of the Services", "services", ""),
)

var volumeType = newKind("graft.Volume", nil,
	text("name", "its name", "name", ""),
	text("type", `its type; "" until the cloud's default is chosen`, "type", ""),
	text("size", "its size, such as 50Gi", "size", ""),
	optional[bool]("encrypted", cel.BoolType, "whether it is encrypted; false by default"),
)

var taintType = newKind("graft.Taint", nil,
	text("key", "its key", "key", ""),
	text("value", "its value", "value", ""),
	text("effect", "NoSchedule, PreferNoSchedule or NoExecute", "effect", ""),
)

var workerType = newKind("graft.Worker", []*expression.ObjectType{volumeType.object, taintType.object},
	text("name", "its name", "name", ""),
	version("the version of its kubelets; that of the shoot by default", "kubernetes.version"),
	text("machineType", "the type of its machines", "machine.type", ""),
	text("machineImage", `the name of the machine image; "" until Gardener has chosen one`, "machine.image.name", ""),
	text("machineImageVersion", `the version of the machine image; "" until Gardener has chosen one`, "machine.image.version", ""),
	text("architecture", "amd64 (the default) or arm64", architecturePath, defaultArchitecture),
	text("cri", "the container runtime, such as containerd", "cri.name", ""),
	scalarAt[int64]("minimum", cel.IntType, "the least machines", "minimum"),
	scalarAt[int64]("maximum", cel.IntType, "the most machines", "maximum"),
	texts("zones", "its zones", "zones"),
	textMap("labels", "the labels of its nodes", "labels"),
	textMap("annotations", "the annotations of its nodes", "annotations"),
	field{"volume", volumeType.object.Type(), "the volume of the operating system; not set where the pool names none",
		func(w *decodedObject) any {
			if w.find("volume") == nil {
				return nil
			}
			return volumeType.value(w.child("volume"))
		}},
	list("dataVolumes", "the data volumes, without the volume of the operating system", volumeType),
	text("kubeletDataVolume", `the name of the data volume for the kubelet's files; "" without one`, "kubeletDataVolumeName", ""),
	list("taints", "the taints of its nodes", taintType),
	textMap("sysctls", "the kernel settings of its nodes", "sysctls"),
	field{"containerRuntimes", cel.ListType(cel.StringType), "the types of further container runtimes, such as gvisor",
		func(w *decodedObject) any {
			var names []string
			for _, runtime := range w.items("cri.containerRuntimes") {
				names = append(names, take(runtime, "type", ""))
			}
			return types.NewStringList(types.DefaultTypeAdapter, names)
		}},
	field{"systemComponents", cel.BoolType, "whether system components may run on its nodes, which is the default",
		func(w *decodedObject) any {
			// Gardener's type has no default for allow: an empty mapping forbids them.
			return types.Bool(take(w, "systemComponents.allow", w.find("systemComponents") == nil))
		}},
	optional[int64]("priority", cel.IntType, "its priority for the cluster-autoscaler; 0 by default"),
	text("updateStrategy", `how its machines are updated, such as AutoRollingUpdate; "" by default`, "updateStrategy", ""),
	whole("providerConfig", "providerConfig of the pool", "providerConfig"),
	whole("maxSurge", "how many more machines an update may have: a number or a percentage", "maxSurge"),
	whole("maxUnavailable", "how many machines an update may lack: a number or a percentage", "maxUnavailable"),
	whole("caBundle", "the certificate authorities of its nodes, as PEM", "caBundle"),
	whole("kubelet", "kubernetes.kubelet of the pool", "kubernetes.kubelet"),
	whole("machineControllerManager", "machineControllerManager of the pool", "machineControllerManager"),
	whole("clusterAutoscaler", "clusterAutoscaler of the pool", "clusterAutoscaler"),
	whole("controlPlane", "controlPlane of the pool, in self-hosted shoots", "controlPlane"),
)

// The architecture of a pool defaults to amd64, as in Gardener.
const (
	architecturePath    = "machine.architecture"
	defaultArchitecture = "amd64"
)

// workersOf returns the values of a shoot's worker pools, and sets the pools of the object. The version of a pool's
// kubelets defaults to the shoot's.
func workersOf(shoot *decodedObject) any {
	shoot.pools = map[string]*WorkerPool{}
	var values []ref.Val
	for _, w := range shoot.items("spec.provider.workers") {
		version := take(w, "kubernetes.version", "")
		if version == "" {
			version = take(shoot, shootVersion, "")
			kubernetes := maps.Clone(take[map[string]any](w, "kubernetes", nil))
			if kubernetes == nil {
				kubernetes = map[string]any{}
			}
			kubernetes["version"] = version
			w.members["kubernetes"] = kubernetes
		}
		p := &WorkerPool{Kubernetes: version, Architecture: cmp.Or(take(w, architecturePath, ""), defaultArchitecture), value: workerType.value(w)}
		shoot.pools[take(w, "name", "")] = p
		values = append(values, p.value)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values)
}

// shootVersion is the path of the version of a shoot's control plane.
const shootVersion = "spec.kubernetes.version"

var shootType = newKind("graft.Shoot", []*expression.ObjectType{networkingType.object, workerType.object},
	text("name", "its name in the garden", "metadata.name", ""),
	text("namespace", "its namespace in the garden", "metadata.namespace", ""),
	text("uid", "its UID in the garden", "metadata.uid", ""),
	textMap("labels", "its labels", "metadata.labels"),
	textMap("annotations", "its annotations", "metadata.annotations"),
	version("the version of the control plane", shootVersion),
	text("region", "spec.region", "spec.region", ""),
	text("provider", "the type of the cloud, spec.provider.type", "spec.provider.type", ""),
	field{"cloudProfile", cel.StringType, "the name of the cloud profile of any kind", func(s *decodedObject) any {
		// The second one is its former place.
		return textValue(cmp.Or(take(s, "spec.cloudProfile.name", ""), take(s, "spec.cloudProfileName", "")))
	}},
	field{"networking", networkingType.object.Type(), "spec.networking",
		func(s *decodedObject) any { return networkingType.value(s.child("spec.networking")) }},
	scalarAt[bool]("hibernated", cel.BoolType, "spec.hibernation.enabled", "spec.hibernation.enabled"),
	field{"workerless", cel.BoolType, "whether it has no worker pools",
		func(s *decodedObject) any { return types.Bool(len(s.items("spec.provider.workers")) == 0) }},
	text("highAvailability", `the failure tolerance of the control plane: "", node or zone`,
		"spec.controlPlane.highAvailability.failureTolerance.type", ""),
	text("purpose", "spec.purpose, such as production", "spec.purpose", ""),
	text("technicalID", "the name of the control plane's namespace, status.technicalID", "status.technicalID", ""),
	field{"workers", cel.ListType(workerType.object.Type()), "the worker pools", workersOf},
	whole("spec", "the whole spec", "spec"),
	whole("status", "the whole status", "status"),
	whole("infrastructureConfig", "spec.provider.infrastructureConfig", "spec.provider.infrastructureConfig"),
	whole("controlPlaneConfig", "spec.provider.controlPlaneConfig", "spec.provider.controlPlaneConfig"),
)

var seedType = newKind("graft.Seed", nil, metadata(
	text("region", "spec.provider.region", "spec.provider.region", ""),
	text("provider", "the type of the cloud, spec.provider.type", "spec.provider.type", ""),
	whole("spec", "the whole spec", "spec"),
	whole("providerConfig", "spec.provider.providerConfig", "spec.provider.providerConfig"),
)...)

var cloudProfileType = newKind("graft.CloudProfile", nil, metadata(
	text("type", "the type of the cloud", "spec.type", ""),
	whole("spec", "the whole spec", "spec"),
	whole("providerConfig", "spec.providerConfig", "spec.providerConfig"),
)...)

// namespaceType is the type of the control plane's namespace.
var namespaceType = newKind("graft.Namespace", nil, metadata()...)

func (n Namespace) value() ref.Val {
	return namespaceType.object.Value(expression.Values{
		"name": textValue(n.Name), "labels": stringMapValue(n.Labels), "annotations": stringMapValue(n.Annotations),
	})
}

var gardenType = newKind("graft.Garden", nil, metadata(
	version("the version of the virtual garden", gardenVersionPath),
	whole("spec", "the whole spec", "spec"),
)...)

// gardenVersionPath is the path of the version of a virtual garden.
const gardenVersionPath = "spec.virtualCluster.kubernetes.version"

// objectType is the type of the object that is admitted; Object.values has the values.
var objectType = newKind("graft.Object", nil,
	field{name: "apiVersion", kind: cel.StringType, summary: "its apiVersion"},
	field{name: "kind", kind: cel.StringType, summary: "its kind"},
	field{name: "name", kind: cel.StringType, summary: "its name"},
	field{name: "namespace", kind: cel.StringType, summary: "its namespace"},
	field{name: "labels", kind: stringMap, summary: "its labels"},
	field{name: "annotations", kind: stringMap, summary: "its annotations"},
	field{name: "metadata", kind: cel.DynType, summary: "the whole metadata"},
	field{name: "spec", kind: cel.DynType, summary: "the whole spec"},
	field{name: "status", kind: cel.DynType, summary: "the whole status"},
	field{name: "data", kind: cel.DynType, summary: "the whole data, of a ConfigMap for instance"},
)
