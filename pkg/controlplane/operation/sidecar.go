// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// sidecar is what every provider's container has beside name, image and args.
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
var sidecarFlags = []struct{ name, value string }{
	{"control-kubeconfig", "inClusterConfig"},
	{"kube-api-qps", "100"},
	{"kube-api-burst", "200"},
	{"machine-creation-timeout", "20m"},
	{"machine-drain-timeout", "2h"},
	{"machine-health-timeout", "10m"},
	{"machine-safety-apiserver-statuscheck-timeout", "30s"},
	{"machine-safety-apiserver-statuscheck-period", "1m"},
	{"machine-safety-orphan-vms-period", "30m"},
	{"namespace", "${ object.namespace }"},
	{"port", "10259"},
	{"target-kubeconfig", targetKubeconfig},
	{"v", "3"},
}

// sidecarContainer is the container but for its environment and mounts, which are places of their own.
func (c *Context) sidecarContainer(a machineProviderArguments, name string, arguments source.Node, path string) (Write, source.Findings) {
	write := Write{
		Place: Place{Kind: Container, Name: name}, At: arguments, Path: path,
		Apply: func(o *target.Object, v Resolved) error { return setContainer(o, "containers", name, v) },
	}
	var parsed yaml.Node
	if err := yaml.Unmarshal([]byte(sidecar), &parsed); err != nil {
		return write, source.FindingsOf(arguments, path, fmt.Errorf("reading the sidecar: %w", err)).Of(WrongShape)
	}
	container := parsed.Content[0]
	findings := source.Findings{arguments.Finding(path+".image", "is missing").Of(source.MissingField)}
	if !a.Image.Absent() {
		_, findings = c.Text(a.Image, path+".image")
		add(container, "image", a.Image.Node)
	}
	flags, problems := c.sidecarArgs(a.Args, arguments, path+".args")
	add(container, "args", flags)
	if findings = append(findings, problems...); len(findings) > 0 {
		return write, findings
	}
	if write.Value, findings = c.Tree(source.Node{Node: container, File: arguments.File}, path); len(findings) > 0 {
		return write, findings
	}
	write.Value, findings = write.Value.shaped(shapeOf[corev1.Container], arguments, path)
	return write, findings
}

// sidecarArgs are the flags: those of every sidecar with the values that the profile gives, and then the others.
func (c *Context) sidecarArgs(given, arguments source.Node, path string) (*yaml.Node, source.Findings) {
	flags := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: arguments.Line, Column: arguments.Column}
	if !given.Absent() && given.Kind != yaml.MappingNode {
		return flags, source.Findings{given.Finding(path, "must be a mapping of flags to values").Of(source.WrongType)}
	}
	var findings source.Findings
	values, known := map[string]source.Field{}, map[string]bool{}
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
		values[field.Key.Value] = field
	}
	for _, flag := range sidecarFlags {
		known[flag.name] = true
		if field, ok := values[flag.name]; ok {
			flags.Content = append(flags.Content, flagNodes(field)...)
			continue
		}
		flags.Content = append(flags.Content, &yaml.Node{
			Kind: yaml.ScalarNode, Tag: "!!str", Value: "--" + flag.name + "=" + flag.value, Line: arguments.Line, Column: arguments.Column,
		})
	}
	for _, field := range given.Fields() {
		if !known[field.Key.Value] {
			flags.Content = append(flags.Content, flagNodes(field)...)
		}
	}
	return flags, findings
}

// flagNodes is the flag with its value as one argument; nothing for null.
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
