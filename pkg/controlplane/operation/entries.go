// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// entries compiles set and remove for the entries at a fixed path of the object: the members of a mapping, or the items
// of a list that one of their members identifies.
type entries struct {
	kind Kind
	// path is the path of the mapping or list. by is the member that identifies an item; it is empty for a mapping.
	path fieldPath
	by   string
	// value compiles a value.
	value func(c *Context, n source.Node, path string) (Value, source.Findings)
	// check returns the problem of a name; nil accepts every name that is not empty.
	check func(name string) string
	// known lists the possible names, and entry describes an entry for the finding about another name. If known is nil,
	// any name of the right form is possible.
	known []string
	entry string
	// keeps reports that rules can keep the values of the old object.
	keeps bool
}

func (e entries) compile(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	k := compiler{
		place: Place{Kind: e.kind}, value: c.with(e.value), check: e.check, known: e.known, entry: e.entry, unknown: source.UnknownField,
		apply: func(o *target.Object, name string, v Resolved) error {
			if e.kind == Container || e.kind == InitContainer {
				defer o.ForgetCommandLines()
			}
			return e.at(name).write(o.Document.Root(), v)
		},
		path: e.at,
	}
	if e.keeps {
		k.keep = func(name string) func(*target.Object) error { return e.at(name).keep }
	}
	return k.compileEdits(arguments, path)
}

// at returns the path of an entry.
func (e entries) at(name string) fieldPath {
	if e.by == "" {
		return e.path.with(name)
	}
	return e.path.item(e.by, name)
}

// objectsBy returns the compiler of values that Kubernetes decodes as a T. The member key identifies each, so that the
// value must not repeat it.
func objectsBy[T any](key string, checks []check) func(*Context, source.Node, string) (Value, source.Findings) {
	return func(c *Context, n source.Node, path string) (Value, source.Findings) {
		if n.Node == nil || n.Kind != yaml.MappingNode {
			return Value{}, source.Findings{n.Finding(path, "must be a mapping of fields").Of(source.WrongType)}
		}
		for _, field := range n.Fields() {
			if field.Key.Value == key {
				return Value{}, source.Findings{field.Key.Finding(path, "%s is the key of this mapping; remove it here", key).Of(MisplacedField)}
			}
		}
		return typed[T](c, n, path, checks)
	}
}

// mapEntries returns the definition of an operation for the entries of a map of strings, such as labels.
func mapEntries(name, owner string, parts target.Part, e entries, example string, examples ...string) Definition {
	entry := e.path[len(e.path)-1].Key
	e.value, e.check, e.keeps = (*Context).Text, checkKey, true
	if entry == "labels" {
		e.value = labelValue
	}
	return Definition{
		Name: name, Summary: "sets and removes " + entry + " of " + owner, Example: example, Examples: examples,
		Arguments: setAndRemove(entry, mappingOf(anyText)), Parts: parts, Compile: e.compile,
	}
}

// labels sets and removes labels of the object itself.
func labels() Definition {
	return mapEntries("labels", "the object itself", target.Metadata, entries{kind: Label, path: pathOf("metadata", "labels")},
		"labels: {set: {cloud.example.com/zone: a}, remove: [old]}")
}

// annotations sets and removes annotations of the object itself.
func annotations() Definition {
	return mapEntries("annotations", "the object itself", target.Metadata, entries{kind: Annotation, path: pathOf("metadata", "annotations")},
		`annotations: {set: {loadbalancer.openstack.org/keep-floatingip: "true"}}`,
		"annotations: {remove: [old]}")
}

// podLabels sets and removes labels of the pod template.
func podLabels() Definition {
	return mapEntries("podLabels", "the pod template", target.PodTemplate,
		entries{kind: PodLabel, path: pathOf("spec", "template", "metadata", "labels")},
		"podLabels: {remove: [networking.gardener.cloud/to-public-networks]}",
		"podLabels: {set: {zone: \"${ shoot.region }\"}}")
}

// podAnnotations sets and removes annotations of the pod template.
func podAnnotations() Definition {
	return mapEntries("podAnnotations", "the pod template", target.PodTemplate,
		entries{kind: PodAnnotation, path: pathOf("spec", "template", "metadata", "annotations")},
		"podAnnotations: {remove: [checksum/secret-cloudprovider]}",
		"podAnnotations: {set: {zone: \"${ shoot.region }\"}}")
}

// labelValue compiles the value of a label. Kubernetes restricts its characters.
func labelValue(c *Context, n source.Node, path string) (Value, source.Findings) {
	value, findings := c.Text(n, path)
	if constant, ok := value.Constant(); ok && len(findings) == 0 {
		for _, problem := range validation.IsValidLabelValue(constant.Text()) {
			findings = append(findings, n.Finding(path, "%s", problem).Of(source.WrongValue))
		}
	}
	return value, findings
}

// checkKey returns the problem of the key of a label or an annotation.
func checkKey(key string) string {
	return strings.Join(validation.IsQualifiedName(strings.ToLower(key)), "; ")
}

// containers adds, changes and removes containers of the pod template, such as sidecars.
func containers() Definition {
	return Definition{
		Name:      "containers",
		Summary:   "adds containers, sets fields of existing ones, and removes containers",
		Example:   "containers: {set: {backup-restore: {image: registry.example.com/etcdbrctl:v0.30.0, args: [server]}}}",
		Examples:  []string{"containers: {remove: [backup-restore]}"},
		Arguments: setAndRemove("containers", mappingOf(shapeLike[corev1.Container]("name"))),
		Parts:     target.PodTemplate,
		Compile:   containersIn(Container, "containers").compile,
	}
}

// initContainers adds, changes and removes init containers of the pod template.
func initContainers() Definition {
	return Definition{
		Name:      "initContainers",
		Summary:   "adds init containers, sets fields of existing ones, and removes init containers",
		Example:   "initContainers: {set: {wait: {image: registry.example.com/wait:v1, command: [/wait]}}}",
		Examples:  []string{"initContainers: {remove: [wait]}"},
		Arguments: setAndRemove("init containers", mappingOf(shapeLike[corev1.Container]("name"))),
		Parts:     target.PodTemplate,
		Compile:   containersIn(InitContainer, "initContainers").compile,
	}
}

func containersIn(kind Kind, list string) entries {
	return entries{
		kind: kind, path: pathOf("spec", "template", "spec", list), by: "name",
		value: objectsBy[corev1.Container]("name", containerChecks), check: checkLabel,
	}
}

// containerPolicies sets and removes the container policies of a VerticalPodAutoscaler.
func containerPolicies() Definition {
	return Definition{
		Name:      "containerPolicies",
		Summary:   "sets and removes policies of a VerticalPodAutoscaler, by container",
		Example:   "containerPolicies: {set: {machine-controller-manager-provider-openstack: {controlledValues: RequestsOnly}}}",
		Examples:  []string{"containerPolicies: {remove: [side]}"},
		Arguments: setAndRemove("policies", mappingOf(shapeLike[vpaautoscalingv1.ContainerResourcePolicy]("containerName"))),
		Parts:     target.ContainerPolicies,
		Compile: entries{
			kind: ContainerPolicy, path: pathOf("spec", "resourcePolicy", "containerPolicies"), by: "containerName",
			value: objectsBy[vpaautoscalingv1.ContainerResourcePolicy]("containerName", policyChecks),
		}.compile,
	}
}

// serviceFields lists the fields that a profile may set. None of them selects Pods or addresses.
var serviceFields = []string{
	"allocateLoadBalancerNodePorts", "externalTrafficPolicy", "healthCheckNodePort", "internalTrafficPolicy",
	"ipFamilies", "ipFamilyPolicy", "loadBalancerClass", "loadBalancerSourceRanges", "sessionAffinity", "trafficDistribution",
}

// service sets the fields of a Service that configure its load balancer.
func service() Definition {
	fields := entries{
		kind: ServiceField, path: pathOf("spec"), value: (*Context).Tree,
		known: serviceFields, entry: "a Service field that a cloud may set", keeps: true,
	}
	return Definition{
		Name:      "service",
		Summary:   "sets and removes the fields of a Service's spec that configure its load balancer",
		Example:   "service: {set: {externalTrafficPolicy: Local}}",
		Examples:  []string{"service: {remove: [loadBalancerClass]}"},
		Arguments: setAndRemove("fields", shapeLike[corev1.ServiceSpec]().only(serviceFields)),
		Parts:     target.ServiceSpec,
		Compile: func(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
			writes, findings := fields.compile(c, arguments, path)
			return writes, append(findings, runChecks(serviceChecks, arguments.Get("set"), path+".set").Beyond(findings)...)
		},
	}
}

// providerConfig sets and removes fields of the operating system's own configuration.
func providerConfig() Definition {
	return Definition{
		Name:      "providerConfig",
		Summary:   "sets and removes fields of the operating system's configuration in spec.providerConfig; merges mappings",
		Example:   "providerConfig: {set: {networkIsolation: {allowedNetworks: [10.0.0.0/8]}}}",
		Examples:  []string{"providerConfig: {remove: [networkIsolation]}"},
		Arguments: setAndRemove("fields", mappingOf(anyTree)),
		Parts:     target.NodeSpec,
		Compile:   entries{kind: ProviderConfigField, path: pathOf("spec", "providerConfig"), value: (*Context).Tree}.compile,
	}
}
