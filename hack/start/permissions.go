// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// extensionName is the program and its ServiceAccount; extensionNamespace is where gardenlet installs it, and clusterName its registration.
const (
	extensionName      = "gardener-extension-provider-graft"
	extensionNamespace = "extension-provider-graft"
	clusterName        = extensionName + "." + extensionNamespace
)

// chartRoles is the template that says what the extension may do in a seed.
const chartRoles = "charts/gardener-extension-provider-graft/templates/rbac.yaml"

// permissions are what the chart grants for what profiles read, so that the extension runs here with no more than in a seed.
func permissions(root string, reads []facts.Read) (landscape.ServiceAccountOptions, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(chartRoles)))
	if err != nil {
		return landscape.ServiceAccountOptions{}, fmt.Errorf("reading the chart's roles: %w", err)
	}
	manifests, err := renderRoles(string(text), reads)
	if err != nil {
		return landscape.ServiceAccountOptions{}, fmt.Errorf("rendering %s: %w", chartRoles, err)
	}
	options, err := decodeRoles(manifests)
	if err != nil {
		return landscape.ServiceAccountOptions{}, fmt.Errorf("decoding %s: %w", chartRoles, err)
	}
	return options, nil
}

// renderRoles does what Helm would do with this one template, for which a few functions are enough.
func renderRoles(text string, reads []facts.Read) ([]byte, error) {
	functions := template.FuncMap{
		"include": func(name string, _ any) (string, error) {
			switch name {
			case "graft.name":
				return extensionName, nil
			case "graft.cluster":
				return clusterName, nil
			case "graft.managed":
				return strings.TrimPrefix(extensionNamespace, "extension-"), nil
			case "graft.selector":
				return "app.kubernetes.io/name: " + extensionName, nil
			default:
				return "", fmt.Errorf("the template %q is not known here", name)
			}
		},
		"nindent": func(n int, text string) string {
			indent := "\n" + strings.Repeat(" ", n)
			return indent + strings.ReplaceAll(text, "\n", indent)
		},
		"quote":  strconv.Quote,
		"toYaml": func(list []string) string { return "- " + strings.Join(list, "\n- ") },
	}
	parsed, err := template.New("rbac").Funcs(functions).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	off := map[string]any{"enabled": false}
	err = parsed.Execute(&out, map[string]any{
		"Release": map[string]any{"Name": extensionName, "Namespace": extensionNamespace},
		"Values":  map[string]any{"lookups": lookups(reads), "config": map[string]any{"drift": off, "gate": off}},
	})
	return out.Bytes(), err
}

// lookups are what somebody who installs profiles that read this writes into the chart's values.
func lookups(reads []facts.Read) map[string]any {
	secrets, configMaps, objects := []string{}, []string{}, []map[string]any{}
	for _, read := range reads {
		switch {
		case read.GroupVersionKind == facts.Secret && read.Names != nil:
			secrets = append(secrets, read.Names...)
		case read.GroupVersionKind == facts.ConfigMap && read.Names != nil:
			configMaps = append(configMaps, read.Names...)
		default:
			objects = append(objects, map[string]any{"group": read.Group, "resource": read.Resource, "names": read.Names})
		}
	}
	return map[string]any{"secrets": secrets, "configMaps": configMaps, "objects": objects}
}

// decodeRoles collects the rules of the cluster role and the role.
func decodeRoles(manifests []byte) (landscape.ServiceAccountOptions, error) {
	options := landscape.ServiceAccountOptions{
		Namespace: extensionNamespace, Name: extensionName, Rules: map[string][]rbacv1.PolicyRule{},
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		// A Role is all of a ClusterRole but its aggregation.
		var role rbacv1.ClusterRole
		err := decoder.Decode(&role)
		switch {
		case errors.Is(err, io.EOF):
			if len(options.ClusterRules) == 0 || len(options.Rules) == 0 {
				return options, errors.New("a role is missing")
			}
			return options, nil
		case err != nil:
			return options, err
		case role.Kind == "ClusterRole":
			options.ClusterRules = append(options.ClusterRules, role.Rules...)
		case role.Kind == "Role":
			options.Rules[role.Namespace] = append(options.Rules[role.Namespace], role.Rules...)
		}
	}
}
