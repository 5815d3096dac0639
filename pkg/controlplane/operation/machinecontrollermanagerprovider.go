// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// machineControllerManagerProvider adds the provider's sidecar to the machine-controller-manager as Gardener's own function for
// providers makes it (gardener: pkg/component/nodemanagement/machinecontrollermanager/provider.go), or the policy for it to
// the VerticalPodAutoscaler.
func machineControllerManagerProvider() Definition {
	return Definition{
		Name: "machineControllerManagerProvider",
		Summary: "adds the provider's sidecar to the machine-controller-manager, with Gardener's defaults for sidecars of providers; on the " +
			"VerticalPodAutoscaler, where only provider is permitted, adds the sidecar's policy",
		Example: "machineControllerManagerProvider: {provider: acme, image: registry.example.com/machine-controller-manager-provider-acme:v1}",
		Examples: []string{
			"machineControllerManagerProvider: {provider: acme}",
			"machineControllerManagerProvider: {provider: acme, image: \"registry.example.com/provider-acme:${ shoot.kubernetes }\", " +
				"args: {machine-creation-timeout: 45m, v: null}, env: {REGION: \"${ shoot.region }\"}, volumeMounts: {cloudprovider: {mountPath: /etc/cloud, readOnly: true}}}",
		},
		Arguments: []Argument{
			{Name: "provider", Type: fixedText, Required: true, Summary: "the suffix of the container's name, which is machine-controller-manager-provider-<provider>"},
			{Name: "image", Type: anyText, Summary: "the container's image; required on the Deployment"},
			{Name: "args", Type: mappingOf(orNull(anyText)), Summary: "flags by name, which extend or override the defaults; null removes a flag"},
			{Name: "env", Type: mappingOf(either(anyText, shapeLike[corev1.EnvVarSource]().only(valueSources))), Summary: "environment variables by name"},
			{Name: "volumeMounts", Type: mappingOf(shapeLike[corev1.VolumeMount]().only(mountFields)), Summary: "mounts by the name of the volume"},
		},
		Parts:   target.ProviderSidecar,
		compile: compileMachineProvider,
	}
}

var providerName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

func compileMachineProvider(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	provider := arguments.Get("provider")
	if !providerName.MatchString(textOf(provider)) {
		return nil, source.Findings{provider.Finding(path+".provider", "must be a name in lower case, such as openstack").Of(source.InvalidName)}
	}
	name := "machine-controller-manager-provider-" + provider.Value
	if !c.Target.Has(target.PodTemplate) {
		write, findings := compileSidecarPolicy(name, arguments, path)
		return []Write{write}, findings
	}
	write, findings := compileSidecarContainer(c, name, arguments, path)
	inputs, problems := compileSidecarInputs(c, name, arguments, path)
	return append([]Write{write}, inputs...), append(findings, problems...)
}

// compileSidecarPolicy returns the policy that prevents changes of the sidecar's limits.
func compileSidecarPolicy(name string, arguments source.Node, path string) (Write, source.Findings) {
	var findings source.Findings
	for _, field := range arguments.Fields() {
		if name := field.Key.Value; name != "provider" && !field.Value.Absent() {
			findings = append(findings, field.Value.Finding(path+"."+name, "is for the Deployment; a VerticalPodAutoscaler takes provider only").Of(MisplacedField))
		}
	}
	value := Value{constant: &Resolved{JSON: []byte(`{"controlledValues":"` + vpaautoscalingv1.ContainerControlledValuesRequestsOnly + `"}`)}}
	return Write{
		Place: Place{Kind: ContainerPolicy, Name: name}, Value: value, At: arguments, Path: path,
		Apply: func(o *target.Object, v Resolved) error {
			return pathOf("spec", "resourcePolicy", "containerPolicies").item("containerName", name).write(o.Document.Root(), v)
		},
	}, findings
}

// compileSidecarInputs returns the environment and the mounts of the sidecar: the kubeconfig and those of the profile.
func compileSidecarInputs(c *Context, name string, arguments source.Node, path string) ([]Write, source.Findings) {
	env := writeBuilder{
		place: Place{Kind: Env, Container: name}, value: c.with(compileEnvValue), check: checkEnvName,
		apply: func(o *target.Object, variable string, v Resolved) error { return applyEnv(o, name, variable, v) },
	}
	env.addValues(arguments.Get("env"), path+".env")
	mounts := writeBuilder{
		place: Place{Kind: VolumeMount, Container: name},
		value: func(n source.Node, path string) (Value, source.Findings) {
			return compileMountValue(c, n, path, mountFields)
		},
		apply: func(o *target.Object, volume string, v Resolved) error {
			if string(v.JSON) == "null" {
				return nil
			}
			return setMount(o, name, volume, v.JSON)
		},
	}
	kubeconfig, findings := c.Tree(textAt(arguments, kubeconfigMount), path)
	mounts.add(kubeconfigVolume, arguments, path, kubeconfig)
	mounts.addValues(arguments.Get("volumeMounts"), path+".volumeMounts")
	return append(env.writes, mounts.writes...), slices.Concat(env.findings, findings, mounts.findings)
}

// sidecar contains the fields of every provider's container except name, image and args.
const sidecar = `
imagePullPolicy: IfNotPresent
livenessProbe:
  httpGet: {path: /healthz, port: 10259, scheme: HTTP}
  initialDelaySeconds: 30
  periodSeconds: 10
  timeoutSeconds: 5
  successThreshold: 1
  failureThreshold: 3
ports: [{name: providermetrics, containerPort: 10259, protocol: TCP}]
resources: {requests: {cpu: 10m, memory: 20Mi}}
securityContext: {allowPrivilegeEscalation: false}
`

// The expressions of a sidecar: a shoot that hosts its control plane itself has a pool for it, and no kubeconfig to mount.
const (
	selfHosted       = `shoot.spec.provider.?workers.orValue([]).exists(w, has(w.controlPlane))`
	kubeconfigVolume = "kubeconfig"
	kubeconfigPath   = "/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig"
	kubeconfigMount  = `${ ` + selfHosted + ` ? dyn(null) : dyn({"mountPath": "` + kubeconfigPath + `", "readOnly": true}) }`
	targetKubeconfig = `${ !` + selfHosted + ` ? "` + kubeconfigPath + `/kubeconfig" : object.namespace == "kube-system" ? "" : "none" }`
)

// sidecarFlags are the flags of every provider's container, in their order.
var sidecarFlags = []string{
	"--control-kubeconfig=inClusterConfig",
	"--kube-api-qps=100",
	"--kube-api-burst=200",
	"--machine-creation-timeout=20m",
	"--machine-drain-timeout=2h",
	"--machine-health-timeout=10m",
	"--machine-safety-apiserver-statuscheck-timeout=30s",
	"--machine-safety-apiserver-statuscheck-period=1m",
	"--machine-safety-orphan-vms-period=30m",
	"--namespace=${ object.namespace }",
	"--port=10259",
	"--target-kubeconfig=" + targetKubeconfig,
	"--v=3",
}

// compileSidecarContainer returns the container without its environment and mounts, which are separate places.
func compileSidecarContainer(c *Context, name string, arguments source.Node, path string) (Write, source.Findings) {
	write := Write{
		Place: Place{Kind: Container, Name: name}, At: arguments, Path: path,
		Apply: func(o *target.Object, v Resolved) error { return writeContainer(o, name, v) },
	}
	var parsed yaml.Node
	if err := yaml.Unmarshal([]byte(sidecar), &parsed); err != nil {
		return write, source.FindingsOf(arguments, path, fmt.Errorf("reading the sidecar: %w", err)).Of(WrongShape)
	}
	container := parsed.Content[0]
	findings := source.Findings{arguments.Finding(path+".image", "is missing").Of(source.MissingField)}
	if image := arguments.Get("image"); !image.Absent() {
		_, findings = c.Text(image, path+".image")
		add(container, "image", image.Node)
	}
	flags, problems := compileSidecarArgs(c, arguments.Get("args"), arguments, path+".args")
	add(container, "args", flags)
	if findings = append(findings, problems...); len(findings) > 0 {
		return write, findings
	}
	container.Line, container.Column = arguments.Line, arguments.Column
	write.Value, findings = typed[corev1.Container](c, source.Node{Node: container, File: arguments.File}, path, nil)
	return write, findings
}

// compileSidecarArgs returns the flags: first those of every sidecar, with values from the profile, then the profile's
// own.
func compileSidecarArgs(c *Context, given, arguments source.Node, path string) (*yaml.Node, source.Findings) {
	flags := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: arguments.Line, Column: arguments.Column}
	if !given.Absent() && given.Kind != yaml.MappingNode {
		return flags, source.Findings{given.Finding(path, "must be a mapping of flags to values").Of(source.WrongType)}
	}
	for _, flag := range sidecarFlags {
		flags.Content = append(flags.Content, textAt(arguments, flag).Node)
	}
	var findings source.Findings
	for _, field := range given.Fields() {
		inner := path + "." + field.Key.Value
		problem := checkFlagName(field.Key.Value)
		if field.Key.Value == "port" {
			problem = "the port is that of the probe and of the metrics"
		}
		if problem != "" {
			findings = append(findings, field.Key.Finding(inner, "%s", problem).Of(source.InvalidName))
		}
		if !field.Value.Absent() {
			_, problems := c.Text(field.Value, inner)
			findings = append(findings, problems...)
		}
		from := slices.IndexFunc(flags.Content, func(n *yaml.Node) bool { return strings.HasPrefix(n.Value, "--"+field.Key.Value+"=") })
		to := from + 1
		if from < 0 {
			from, to = len(flags.Content), len(flags.Content)
		}
		flags.Content = slices.Replace(flags.Content, from, to, flagNodes(field)...)
	}
	return flags, findings
}

// flagNodes returns the flag with its value as one argument, or nothing for null.
func flagNodes(field source.Field) []*yaml.Node {
	if field.Value.Absent() {
		return nil
	}
	flag := *field.Value.Node
	if flag.Tag != "!!str" {
		flag.Tag, flag.Value = "!!str", literal(flag.Value)
	}
	flag.Value = "--" + field.Key.Value + "=" + flag.Value
	return []*yaml.Node{&flag}
}
