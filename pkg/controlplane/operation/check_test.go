// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestChecks compares the findings of each rule in testdata/checks.yaml with testdata/checks.txt.
func TestChecks(t *testing.T) {
	data, err := os.ReadFile("testdata/checks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules []struct {
		On, Rule string
	}
	if err := yaml.Unmarshal(data, &rules); err != nil || len(rules) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	bench := newBench(t)
	var got strings.Builder
	for _, rule := range rules {
		nodes, problems := source.Parse(source.File{Name: "rule", Data: []byte(rule.Rule)})
		on, known := target.Lookup(rule.On)
		if len(nodes) != 1 || len(problems) > 0 || !known {
			t.Fatalf("%s on %s cannot be read: %v", rule.Rule, rule.On, problems)
		}
		field := nodes[0].Fields()[0]
		definition, known := operation.Lookup(field.Key.Value)
		if !known {
			t.Fatalf("%s has no operation", rule.Rule)
		}
		_, findings := bench.compile(definition, on, field.Value)
		findings.Sort()
		fmt.Fprintf(&got, "%s: %s\n", rule.On, rule.Rule)
		for _, f := range findings {
			fmt.Fprintf(&got, "  [%s] %s", f.Rule, strings.TrimPrefix(f.Error(), "rule:1:"))
			if f.Fix != nil {
				fmt.Fprintf(&got, " -> %s", f.Fix.New)
			}
			got.WriteByte('\n')
		}
	}
	golden.Compare(t, "testdata/checks.txt", got.String())
}
