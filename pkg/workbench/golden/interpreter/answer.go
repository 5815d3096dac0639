// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpreter

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
)

// answer is an answer to a question.
type answer struct {
	request interpreter.Request
	trace   *rule.Trace
}

// written is an answer as golden files have it. It names no rules, as their numbers move when one is written before them.
type written struct {
	Replicas     *int32                    `json:"replicas,omitempty"`
	Requirements *interpreter.Requirements `json:"requirements,omitempty"`
	// The lists and the patch are there, maybe empty, where the operation has them.
	Components   *[]interpreter.Component  `json:"components,omitempty"`
	Dependencies *[]interpreter.Dependency `json:"dependencies,omitempty"`
	Status       json.RawMessage           `json:"status,omitempty"`
	Healthy      *bool                     `json:"healthy,omitempty"`
	Patch        json.RawMessage           `json:"patch,omitempty"`
	Failure      *failure                  `json:"failure,omitempty"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// head is the beginning of a golden file.
const head = "# The whole answers, by operation. graft test --update writes this file.\n"

// write writes the answers as YAML, by operation in the order of the requests.
func (p *program) write(answers []answer) ([]byte, error) {
	out := bytes.NewBufferString(head)
	for _, a := range answers {
		text, err := yaml.Marshal(p.written(a))
		if err != nil {
			return nil, fmt.Errorf("writing the answer of %s: %w", a.request.Operation, err)
		}
		fmt.Fprintf(out, "%s:\n", a.request.Operation)
		for line := range bytes.Lines(text) {
			out.WriteString("  ")
			out.Write(line)
		}
	}
	return out.Bytes(), nil
}

func (p *program) written(a answer) written {
	t := a.trace
	if t.Failure != nil {
		return written{Failure: &failure{t.Failure.Code, p.cut(t.Failure.Message)}}
	}
	r := &t.Response
	w := written{Replicas: r.Replicas, Requirements: r.Requirements, Status: r.Status, Healthy: r.Healthy, Patch: r.Patch}
	switch {
	case a.request.Operation == interpreter.Components:
		w.Components = &r.Components
	case a.request.Operation == interpreter.Dependencies:
		w.Dependencies = &r.Dependencies
	case a.request.Operation.Patches() && r.Patch == nil:
		w.Patch = json.RawMessage("[]")
	}
	return w
}
