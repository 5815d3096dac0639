// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package expression_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestMisfits checks the errors at compilation and evaluation, which contain neither CEL's own wording nor values.
func TestMisfits(t *testing.T) {
	data, err := os.ReadFile("testdata/misfits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var misfits []string
	if err := yaml.UnmarshalStrict(data, &misfits); err != nil {
		t.Fatal(err)
	}
	environment, err := expression.NewEnvironment(
		expression.Variable{Name: "object", Type: cel.DynType},
		expression.Variable{Name: "version", Type: apiservercel.SemverType},
		expression.Variable{Name: "kind", Object: expression.NewObjectType("graft.Kind", map[string]*cel.Type{"group": cel.StringType, "kind": cel.StringType})},
	)
	if err != nil {
		t.Fatal(err)
	}
	version, _ := expression.ParseVersion("1.34.1")
	known, err := interpreter.NewActivation(map[string]any{"version": version, "object": map[string]any{
		"text": "hunter2", "number": 7, "fraction": 1.5, "nothing": nil, "yes": true, "list": []any{1, "hunter2"}, "map": map[string]any{"hunter2": 7},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, text := range misfits {
		template, err := environment.Template("${ "+text+" }", source.Position{Line: 1, Column: 1})
		if err == nil {
			_, err = template.Evaluate(context.Background(), known)
		}
		if err == nil {
			t.Errorf("%s: no error, want one", text)
			continue
		}
		for _, word := range []string{"overload", "hunter2", "null_type"} {
			if strings.Contains(err.Error(), word) {
				t.Errorf("%s: %s in %s", text, word, err)
			}
		}
		out.WriteString(text + "\n  " + err.Error() + "\n")
	}
	golden.Compare(t, "testdata/misfits.txt", out.String())
}
