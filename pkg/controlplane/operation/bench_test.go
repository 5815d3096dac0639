// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// bench compiles the examples of operations.
type bench struct{ environment *expression.Environment }

// beside are the files that the examples name in contentFrom.
var beside = map[string][]byte{"files/hello.sh": []byte("#!/bin/sh\n"), "files/hello.service": []byte("[Service]\nExecStart=/opt/bin/hello.sh\n")}

func newBench(t *testing.T) *bench {
	t.Helper()
	environment, err := expression.NewEnvironment(facts.Variables()...)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{environment}
}

// example is a rule of an operation, and the targets on which it compiles.
type example struct {
	text      string
	arguments source.Node
	targets   []*target.Target
}

func (b *bench) example(t *testing.T, d operation.Definition, text string) example {
	t.Helper()
	nodes, findings := source.Parse(source.File{Name: "example", Data: []byte(text)})
	if len(findings) > 0 || len(nodes) != 1 || len(nodes[0].Fields()) != 1 || nodes[0].Fields()[0].Key.Value != d.Name {
		t.Fatalf("%s is no rule of this operation: %v", text, findings)
	}
	e := example{text: text, arguments: nodes[0].Fields()[0].Value}
	for _, name := range target.Names() {
		on, _ := target.Lookup(name)
		if !on.Has(d.Parts) {
			continue
		}
		writes, problems := b.compile(d, on, e.arguments)
		if findings = problems; len(findings) == 0 && len(writes) > 0 {
			e.targets = append(e.targets, on)
		}
	}
	if len(e.targets) == 0 {
		t.Fatalf("%s compiles on no target: %v", text, findings)
	}
	return e
}

func (b *bench) compile(d operation.Definition, on *target.Target, arguments source.Node) ([]operation.Write, source.Findings) {
	return d.Compile(&operation.Context{Target: on, Expressions: b.environment, Files: beside}, arguments, d.Name)
}

// with returns the findings for the first target with another value in a place.
func (b *bench) with(d operation.Definition, e example, at, value *yaml.Node) source.Findings {
	before := *at
	defer func() { *at = before }()
	*at = *value
	at.Line, at.Column = before.Line, before.Column
	_, findings := b.compile(d, e.targets[0], e.arguments)
	return findings
}
