// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
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
type field[T any] struct {
	name    string
	kind    *cel.Type
	summary string
	// get returns the value, or nil if it is not set.
	get func(T) any
}

// objectKind is the type of a variable with its fields.
type objectKind[T any] struct {
	object *expression.ObjectType
	fields []field[T]
}

// newKind declares a type and the summaries of its fields.
func newKind[T any](name string, nested []*expression.ObjectType, fields ...field[T]) objectKind[T] {
	kinds := make(map[string]*cel.Type, len(fields))
	for _, f := range fields {
		kinds[f.name], summaries[name+"."+f.name] = f.kind, f.summary
	}
	return objectKind[T]{expression.NewObjectType(name, kinds, nested...), fields}
}

// value returns the value of a variable.
func (k objectKind[T]) value(of T) ref.Val {
	values := make(expression.Values, len(k.fields))
	for _, f := range k.fields {
		if value := f.get(of); value != nil {
			values[f.name] = value
		}
	}
	return k.object.Value(values)
}

// text declares a string. An empty string counts as not set.
func text[T any](name, summary string, get func(T) string) field[T] {
	return field[T]{name, cel.StringType, summary, func(of T) any {
		if s := get(of); s != "" {
			return types.String(s)
		}
		return expression.Unset{Default: types.String("")}
	}}
}

func texts[T any](name, summary string, get func(T) []string) field[T] {
	return field[T]{name, cel.ListType(cel.StringType), summary, func(of T) any {
		return types.NewStringList(types.DefaultTypeAdapter, get(of))
	}}
}

func textMap[T any](name, summary string, get func(T) map[string]string) field[T] {
	return field[T]{name, stringMap, summary, func(of T) any {
		return types.NewStringStringMap(types.DefaultTypeAdapter, get(of))
	}}
}

func boolean[T any](name, summary string, get func(T) bool) field[T] {
	return field[T]{name, cel.BoolType, summary, func(of T) any { return types.Bool(get(of)) }}
}

func integer[T any](name, summary string, get func(T) int64) field[T] {
	return field[T]{name, cel.IntType, summary, func(of T) any { return types.Int(get(of)) }}
}

// optional declares a value with a default.
func optional[T, V any](name string, kind *cel.Type, summary string, unset V, get func(T) *V) field[T] {
	return field[T]{name, kind, summary, func(of T) any {
		if value := get(of); value != nil {
			return types.DefaultTypeAdapter.NativeToValue(*value)
		}
		return expression.Unset{Default: types.DefaultTypeAdapter.NativeToValue(unset)}
	}}
}

// version declares a parsed version. Decoded facts always contain valid ones; others may not.
func version[T any](summary string, get func(T) string) field[T] {
	return field[T]{"kubernetes", apiservercel.SemverType, summary, func(of T) any {
		v, err := expression.ParseVersion(get(of))
		if err != nil {
			return expression.Failure("the Kubernetes version is not a version")
		}
		return v
	}}
}

// list declares a list of values of another type.
func list[T, V any](name, summary string, of objectKind[V], get func(T) []V) field[T] {
	return field[T]{name, cel.ListType(of.object.Type()), summary, func(from T) any {
		items := get(from)
		values := make([]ref.Val, len(items))
		for i, item := range items {
			values[i] = of.value(item)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, values)
	}}
}

// whole declares a part of the whole resource.
func whole[T any](name, summary string, get func(T) any) field[T] {
	return field[T]{name, cel.DynType, summary, func(of T) any { return expression.Lazy(func() any { return get(of) }) }}
}

// metadata declares the fields that resources share.
func metadata[T any](get func(T) Metadata, more ...field[T]) []field[T] {
	return append([]field[T]{
		text("name", "its name", func(of T) string { return get(of).Name }),
		textMap("labels", "its labels", func(of T) map[string]string { return get(of).Labels }),
		textMap("annotations", "its annotations", func(of T) map[string]string { return get(of).Annotations }),
	}, more...)
}

var stringMap = cel.MapType(cel.StringType, cel.StringType)

var networkingType = newKind("graft.Networking", nil,
	text("type", "the network extension, such as calico", func(n Networking) string { return n.Type }),
	texts("ipFamilies", "IPv4, IPv6 or both; IPv4 by default", func(n Networking) []string { return n.IPFamilies }),
	text("nodes", "the CIDR of the nodes", func(n Networking) string { return n.Nodes }),
	text("pods", "the CIDR of the pods", func(n Networking) string { return n.Pods }),
	text("services", "the CIDR of the Services", func(n Networking) string { return n.Services }),
)

var volumeType = newKind("graft.Volume", nil,
	text("name", "its name", func(v Volume) string { return v.Name }),
	text("type", `its type; "" until the cloud's default is chosen`, func(v Volume) string { return v.Type }),
	text("size", "its size, such as 50Gi", func(v Volume) string { return v.Size }),
	optional("encrypted", cel.BoolType, "whether it is encrypted; false by default", false,
		func(v Volume) *bool { return v.Encrypted }),
)

var taintType = newKind("graft.Taint", nil,
	text("key", "its key", func(t Taint) string { return t.Key }),
	text("value", "its value", func(t Taint) string { return t.Value }),
	text("effect", "NoSchedule, PreferNoSchedule or NoExecute", func(t Taint) string { return t.Effect }),
)

// workerOf is a worker pool with its shoot.
type workerOf struct {
	*Worker

	shoot *Shoot
	index int
}

// wholeWorker declares a part of a pool that is read from the whole Shoot.
func wholeWorker(name, summary string, path ...string) field[workerOf] {
	if path == nil {
		path = []string{name}
	}
	return whole(name, summary, func(w workerOf) any { return w.shoot.inWorker(w.index, path) })
}

var workerType = newKind("graft.Worker", []*expression.ObjectType{volumeType.object, taintType.object},
	text("name", "its name", func(w workerOf) string { return w.Name }),
	version("the version of its kubelets; that of the shoot by default", func(w workerOf) string { return w.Kubernetes.Version }),
	text("machineType", "the type of its machines", func(w workerOf) string { return w.Machine.Type }),
	text("machineImage", `the name of the machine image; "" until Gardener has chosen one`,
		func(w workerOf) string { return w.Machine.Image.Name }),
	text("machineImageVersion", `the version of the machine image; "" until Gardener has chosen one`,
		func(w workerOf) string { return w.Machine.Image.Version }),
	text("architecture", "amd64 (the default) or arm64", func(w workerOf) string { return w.Machine.Architecture }),
	text("cri", "the container runtime, such as containerd", func(w workerOf) string { return w.CRI.Name }),
	integer("minimum", "the least machines", func(w workerOf) int64 { return w.Minimum }),
	integer("maximum", "the most machines", func(w workerOf) int64 { return w.Maximum }),
	texts("zones", "its zones", func(w workerOf) []string { return w.Zones }),
	textMap("labels", "the labels of its nodes", func(w workerOf) map[string]string { return w.Labels }),
	textMap("annotations", "the annotations of its nodes", func(w workerOf) map[string]string { return w.Annotations }),
	field[workerOf]{"volume", volumeType.object.Type(), "the volume of the operating system; not set where the pool names none",
		func(w workerOf) any {
			if w.Volume == nil {
				return nil
			}
			return volumeType.value(*w.Volume)
		}},
	list("dataVolumes", "the data volumes, without the volume of the operating system", volumeType,
		func(w workerOf) []Volume { return w.DataVolumes }),
	text("kubeletDataVolume", `the name of the data volume for the kubelet's files; "" without one`,
		func(w workerOf) string { return w.KubeletDataVolumeName }),
	list("taints", "the taints of its nodes", taintType, func(w workerOf) []Taint { return w.Taints }),
	textMap("sysctls", "the kernel settings of its nodes", func(w workerOf) map[string]string { return w.Sysctls }),
	texts("containerRuntimes", "the types of further container runtimes, such as gvisor",
		func(w workerOf) []string {
			var types []string
			for _, runtime := range w.CRI.ContainerRuntimes {
				types = append(types, runtime.Type)
			}
			return types
		}),
	boolean("systemComponents", "whether system components may run on its nodes, which is the default",
		func(w workerOf) bool { return w.SystemComponents == nil || w.SystemComponents.Allow }),
	optional("priority", cel.IntType, "its priority for the cluster-autoscaler; 0 by default", int64(0),
		func(w workerOf) *int64 { return w.Priority }),
	text("updateStrategy", `how its machines are updated, such as AutoRollingUpdate; "" by default`,
		func(w workerOf) string { return w.UpdateStrategy }),
	wholeWorker("providerConfig", "providerConfig of the pool"),
	wholeWorker("maxSurge", "how many more machines an update may have: a number or a percentage"),
	wholeWorker("maxUnavailable", "how many machines an update may lack: a number or a percentage"),
	wholeWorker("caBundle", "the certificate authorities of its nodes, as PEM"),
	wholeWorker("kubelet", "kubernetes.kubelet of the pool", "kubernetes", "kubelet"),
	wholeWorker("machineControllerManager", "machineControllerManager of the pool"),
	wholeWorker("clusterAutoscaler", "clusterAutoscaler of the pool"),
	wholeWorker("controlPlane", "controlPlane of the pool, in self-hosted shoots"),
)

// shootOf is a shoot with the values of its workers.
type shootOf struct {
	*Shoot

	workers []ref.Val
}

var shootType = newKind("graft.Shoot", []*expression.ObjectType{networkingType.object, workerType.object},
	text("name", "its name in the garden", func(s shootOf) string { return s.Metadata.Name }),
	text("namespace", "its namespace in the garden", func(s shootOf) string { return s.Metadata.Namespace }),
	text("uid", "its UID in the garden", func(s shootOf) string { return s.Metadata.UID }),
	textMap("labels", "its labels", func(s shootOf) map[string]string { return s.Metadata.Labels }),
	textMap("annotations", "its annotations", func(s shootOf) map[string]string { return s.Metadata.Annotations }),
	version("the version of the control plane", func(s shootOf) string { return s.Spec.Kubernetes.Version }),
	text("region", "spec.region", func(s shootOf) string { return s.Spec.Region }),
	text("provider", "the type of the cloud, spec.provider.type", func(s shootOf) string { return s.Spec.Provider.Type }),
	text("cloudProfile", "the name of the cloud profile of any kind", func(s shootOf) string { return s.Spec.CloudProfile.Name }),
	field[shootOf]{"networking", networkingType.object.Type(), "spec.networking",
		func(s shootOf) any { return networkingType.value(s.Spec.Networking) }},
	boolean("hibernated", "spec.hibernation.enabled", func(s shootOf) bool { return s.Spec.Hibernation.Enabled }),
	boolean("workerless", "whether it has no worker pools", func(s shootOf) bool { return len(s.Spec.Provider.Workers) == 0 }),
	text("highAvailability", `the failure tolerance of the control plane: "", node or zone`,
		func(s shootOf) string { return s.Spec.ControlPlane.HighAvailability.FailureTolerance.Type }),
	text("purpose", "spec.purpose, such as production", func(s shootOf) string { return s.Spec.Purpose }),
	text("technicalID", "the name of the control plane's namespace, status.technicalID",
		func(s shootOf) string { return s.Status.TechnicalID }),
	field[shootOf]{"workers", cel.ListType(workerType.object.Type()), "the worker pools",
		func(s shootOf) any { return types.NewRefValList(types.DefaultTypeAdapter, s.workers) }},
	whole("spec", "the whole spec", func(s shootOf) any { return s.Manifest.Spec() }),
	whole("status", "the whole status", func(s shootOf) any { return s.Manifest.Status() }),
	whole("infrastructureConfig", "spec.provider.infrastructureConfig",
		func(s shootOf) any { return s.Manifest.In("provider", "infrastructureConfig") }),
	whole("controlPlaneConfig", "spec.provider.controlPlaneConfig",
		func(s shootOf) any { return s.Manifest.In("provider", "controlPlaneConfig") }),
)

var seedType = newKind("graft.Seed", nil, metadata(
	func(s *Seed) Metadata { return s.Metadata },
	text("region", "spec.provider.region", func(s *Seed) string { return s.Spec.Provider.Region }),
	text("provider", "the type of the cloud, spec.provider.type", func(s *Seed) string { return s.Spec.Provider.Type }),
	whole("spec", "the whole spec", func(s *Seed) any { return s.Manifest.Spec() }),
	whole("providerConfig", "spec.provider.providerConfig",
		func(s *Seed) any { return s.Manifest.In("provider", "providerConfig") }),
)...)

var cloudProfileType = newKind("graft.CloudProfile", nil, metadata(
	func(c *CloudProfile) Metadata { return c.Metadata },
	text("type", "the type of the cloud", func(c *CloudProfile) string { return c.Spec.Type }),
	whole("spec", "the whole spec", func(c *CloudProfile) any { return c.Manifest.Spec() }),
	whole("providerConfig", "spec.providerConfig", func(c *CloudProfile) any { return c.Manifest.In("providerConfig") }),
)...)

var namespaceType = newKind("graft.Namespace", nil, metadata(
	func(n Namespace) Metadata { return n },
)...)

var gardenType = newKind("graft.Garden", nil, metadata(
	func(g *Garden) Metadata { return g.Metadata },
	version("the version of the virtual garden", func(g *Garden) string { return g.Spec.VirtualCluster.Kubernetes.Version }),
	whole("spec", "the whole spec", func(g *Garden) any { return g.Manifest.Spec() }),
)...)

// objectType is the type of the object that is admitted; objectFields has the values.
var objectType = newKind("graft.Object", nil,
	field[*objectFields]{name: "apiVersion", kind: cel.StringType, summary: "its apiVersion"},
	field[*objectFields]{name: "kind", kind: cel.StringType, summary: "its kind"},
	field[*objectFields]{name: "name", kind: cel.StringType, summary: "its name"},
	field[*objectFields]{name: "namespace", kind: cel.StringType, summary: "its namespace"},
	field[*objectFields]{name: "labels", kind: stringMap, summary: "its labels"},
	field[*objectFields]{name: "annotations", kind: stringMap, summary: "its annotations"},
	field[*objectFields]{name: "metadata", kind: cel.DynType, summary: "the whole metadata"},
	field[*objectFields]{name: "spec", kind: cel.DynType, summary: "the whole spec"},
	field[*objectFields]{name: "status", kind: cel.DynType, summary: "the whole status"},
	field[*objectFields]{name: "data", kind: cel.DynType, summary: "the whole data, of a ConfigMap for instance"},
)
