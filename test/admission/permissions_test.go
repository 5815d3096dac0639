// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"errors"
	"io"
	"path"
	"path/filepath"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/test/landscape"
)

// createAccount makes the ServiceAccount of a program with the rules that its chart has for the values, and no other.
func createAccount(t *testing.T, namespace string, values map[string]any) *landscape.Account {
	t.Helper()
	account, err := land.CreateServiceAccount(t.Context(), rulesOfChart(t, namespace, values))
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// rulesOfChart renders the chart as gardenlet does and reads the rules of its roles.
func rulesOfChart(t *testing.T, namespace string, values map[string]any) landscape.ServiceAccountOptions {
	t.Helper()
	chart, err := loader.LoadDir(filepath.Join(root, "charts", programName))
	if err != nil {
		t.Fatal(err)
	}
	release := chartutil.ReleaseOptions{Name: programName, Namespace: namespace, IsInstall: true}
	merged, err := chartutil.ToRenderValues(chart, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, merged)
	if err != nil {
		t.Fatal(err)
	}
	options := landscape.ServiceAccountOptions{Namespace: namespace, Name: programName, Rules: map[string][]rbacv1.PolicyRule{}}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(files[path.Join(programName, "templates", "rbac.yaml")]), 4096)
	for {
		// A Role is a ClusterRole without an aggregation.
		role := rbacv1.ClusterRole{}
		err := decoder.Decode(&role)
		switch {
		case errors.Is(err, io.EOF):
			if len(options.ClusterRules) == 0 || len(options.Rules[namespace]) == 0 {
				t.Fatal("the chart has no ClusterRole or no Role with rules")
			}
			return options
		case err != nil:
			t.Fatal(err)
		case role.Kind == "ClusterRole":
			options.ClusterRules = append(options.ClusterRules, role.Rules...)
		case role.Kind == "Role":
			options.Rules[role.Namespace] = append(options.Rules[role.Namespace], role.Rules...)
		}
	}
}
