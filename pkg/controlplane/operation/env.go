// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// keepEnv restores an environment variable from the old object, unless the old object lacks the container.
func keepEnv(container, name string) func(*target.Object) error {
	return func(o *target.Object) error {
		now, err := o.Container(container)
		if err != nil {
			return err
		}
		then, err := old(o).Container(container)
		if err != nil {
			return nil //nolint:nilerr // the old object does not have the container
		}
		return pathOf("env").item("name", name).keepBelow(now, then)
	}
}

// env sets and removes environment variables of a container.
func env() Definition {
	return Definition{
		Name:      "env",
		Summary:   "sets and removes environment variables of a container; a mapping as value is written as valueFrom",
		Example:   "env: {set: {REGION: \"${ shoot.region }\", TOKEN: {secretKeyRef: {name: cloudprovider, key: token}}}}",
		Examples:  []string{"env: {container: side, remove: [HTTP_PROXY]}"},
		Arguments: append(setAndRemove("variables", mappingOf(either(anyText, shapeLike[corev1.EnvVarSource]())).named(envName)), inContainer()),
		Parts:     target.PodTemplate,
		compile:   compileEnv,
	}
}

var envName = regexp.MustCompile(`^[-._a-zA-Z][-._a-zA-Z0-9]*$`)

func compileEnv(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	container := c.container(arguments)
	return writeBuilder{
		place: Place{Kind: Env, Container: container},
		value: c.with(compileEnvValue),
		check: checkEnvName,
		apply: func(o *target.Object, name string, v Resolved) error { return applyEnv(o, container, name, v) },
		keep:  func(name string) func(*target.Object) error { return keepEnv(container, name) },
	}.compileEdits(arguments, path)
}

var checkEnvName = matches(envName, "the name of an environment variable")

var valueSources = []string{"secretKeyRef", "configMapKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef"}

func compileEnvValue(c *Context, n source.Node, path string) (Value, source.Findings) {
	if n.Node == nil || n.Kind != yaml.MappingNode {
		return c.Text(n, path)
	}
	return typed[corev1.EnvVarSource](c, n, path, valueSourceChecks)
}

func applyEnv(o *target.Object, container, name string, v Resolved) error {
	node, err := o.Container(container)
	if err != nil {
		return err
	}
	at := pathOf("env").item("name", name)
	if v.Absent {
		at.remove(node)
		return nil
	}
	wanted := fmt.Appendf(nil, `{"valueFrom":%s}`, v.JSON)
	if v.JSON == nil {
		wanted = fmt.Appendf(nil, `{"value":%s}`, document.Quote(v.Text()))
		if item := at.find(node); item != nil && v.Text() == "" && item.Get("value") == nil {
			item.Remove("valueFrom")
			return nil // the API server drops an empty value
		}
	}
	return nested(at.merge(node, wanted), "container %q", container)
}
