// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package interpret

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	profilev1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// inside is the indentation of answers below their operation.
const inside = "      "

// Write writes the answers as text: each object with a block per operation, with the answer, and the reason to its
// right or below. It fails if w cannot be written.
func Write(w io.Writer, s render.Style, results []Result) error {
	var out strings.Builder
	for i, r := range results {
		if i > 0 {
			out.WriteByte('\n')
		}
		name := r.Object.Name
		if r.Object.Namespace != "" {
			name = r.Object.Namespace + "/" + name
		}
		out.WriteString(s.Heading(r.Object.Kind+" "+name) + "\n")
		if len(r.Answers) == 0 {
			out.WriteString("  no rule for " + interpreter.KindOf(r.Object.APIVersion, r.Object.Kind).String() + "\n")
		}
		for _, a := range r.Answers {
			if err := a.write(&out, s, r); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// write writes one answer: its first line has the operation and the short of it.
func (a Answer) write(out *strings.Builder, s render.Style, of Result) error {
	short, long := a.texts()
	fmt.Fprintf(out, "  %-12s  %s\n", a.Operation, short)
	if long != "" {
		out.WriteString(indented(long, inside))
	}
	if a.Err == nil && a.After != nil {
		if err := s.Patched(out, of.Object.JSON, a.After, inside); err != nil {
			return fmt.Errorf("showing the result for %s: %w", of.Object, err)
		}
	}
	for _, because := range a.Response.Because {
		out.WriteString(inside + s.Remark("because of "+because) + "\n")
	}
	return nil
}

// texts returns an answer in one line, and the lines below it.
func (a Answer) texts() (short, long string) {
	r := a.Response
	switch {
	case a.Lacks != "":
		return "not asked: it needs " + a.Lacks, ""
	case a.Err != nil && a.Code() != 0:
		return fmt.Sprintf("no answer (%d): %s", a.Code(), a.Err), ""
	case a.Err != nil:
		return "no answer: " + a.Err.Error(), ""
	}
	switch a.Operation {
	case interpreter.Replicas:
		return number(r.Replicas), yamlOf(r.Requirements)
	case interpreter.Components:
		return plural(len(r.Components), "component", "components"), yamlOf(r.Components)
	case interpreter.Dependencies:
		return plural(len(r.Dependencies), "object", "objects"), dependencies(r.Dependencies)
	case interpreter.Status:
		long = yamlOf(r.Status)
		return map[bool]string{true: "is reflected", false: "nothing is reflected"}[long != ""], long
	case interpreter.Health:
		return map[bool]string{true: "healthy", false: "not healthy"}[r.Healthy != nil && *r.Healthy], ""
	}
	if len(r.Patch) == 0 {
		return "nothing changes", ""
	}
	var operations []json.RawMessage
	_ = json.Unmarshal(r.Patch, &operations) // it was applied
	return plural(len(operations), "change", "changes"), ""
}

func number(n *int32) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

// dependencies returns one line per dependency, with its name or its labels.
func dependencies(all []interpreter.Dependency) string {
	var out strings.Builder
	for _, d := range all {
		fmt.Fprintf(&out, "- %s", d.Kind)
		if strings.Contains(d.APIVersion, "/") {
			fmt.Fprintf(&out, " (%s)", d.APIVersion)
		}
		switch {
		case d.Name == "" && d.Namespace != "":
			fmt.Fprintf(&out, " in %s", d.Namespace)
		case d.Namespace != "":
			fmt.Fprintf(&out, " %s/%s", d.Namespace, d.Name)
		case d.Name != "":
			out.WriteString(" " + d.Name)
		}
		if len(d.LabelSelector) > 0 {
			fmt.Fprintf(&out, " with labels %s", d.LabelSelector)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// yamlOf returns a value as YAML, or an empty string for none.
func yamlOf(value any) string {
	raw, err := yaml.Marshal(value)
	if text := string(raw); err == nil && text != "null\n" && text != "{}\n" && text != "[]\n" {
		return text
	}
	return ""
}

// Document is the output in the formats json and yaml; docs/usage/output.md describes it. Fields may be added, but
// their meaning does not change within a version.
type Document struct {
	// APIVersion is the apiVersion of profiles; Kind is Interpretation.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Objects lists all objects in the order of the input.
	Objects []ObjectAnswers `json:"objects"`
}

// ObjectAnswers holds the answers about an object.
type ObjectAnswers struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Namespace  string           `json:"namespace,omitempty"`
	Name       string           `json:"name"`
	Answers    []DocumentAnswer `json:"answers"`
}

// DocumentAnswer is the answer to one question: the fields of its operation, or why there is none.
type DocumentAnswer struct {
	Operation    interpreter.Operation     `json:"operation"`
	Replicas     *int32                    `json:"replicas,omitempty"`
	Requirements *interpreter.Requirements `json:"requirements,omitempty"`
	Components   []interpreter.Component   `json:"components,omitempty"`
	Dependencies []interpreter.Dependency  `json:"dependencies,omitempty"`
	Status       json.RawMessage           `json:"status,omitempty"`
	Healthy      *bool                     `json:"healthy,omitempty"`
	// Changed reports, for an operation with a patch as its answer, whether the object changes; Patch is the patch of RFC
	// 6902.
	Changed *bool           `json:"changed,omitempty"`
	Patch   json.RawMessage `json:"patch,omitempty"`
	// Because are the rules that have answered, or the webhooks.
	Because []string `json:"because,omitempty"`
	// Lacks names the missing input, for which nothing was asked.
	Lacks string `json:"lacks,omitempty"`
	// Error explains why there is no answer.
	Error *DocumentError `json:"error,omitempty"`
}

// DocumentError is why there is no answer.
type DocumentError struct {
	// Code is an HTTP status code, or absent.
	Code    int    `json:"code,omitempty"`
	Message string `json:"message"`
}

// DocumentOf returns the answers as a document.
func DocumentOf(results []Result) Document {
	d := Document{APIVersion: profilev1alpha1.GroupVersion.String(), Kind: "Interpretation", Objects: []ObjectAnswers{}}
	for _, r := range results {
		o := ObjectAnswers{
			APIVersion: r.Object.APIVersion, Kind: r.Object.Kind, Namespace: r.Object.Namespace, Name: r.Object.Name, Answers: []DocumentAnswer{},
		}
		for _, a := range r.Answers {
			o.Answers = append(o.Answers, a.document())
		}
		d.Objects = append(d.Objects, o)
	}
	return d
}

func (a Answer) document() DocumentAnswer {
	r := a.Response
	if a.Err != nil {
		return DocumentAnswer{Operation: a.Operation, Error: &DocumentError{Code: a.Code(), Message: a.Err.Error()}}
	}
	d := DocumentAnswer{
		Operation: a.Operation, Replicas: r.Replicas, Requirements: r.Requirements, Components: r.Components, Dependencies: r.Dependencies,
		Status: r.Status, Healthy: r.Healthy, Patch: r.Patch, Because: r.Because, Lacks: a.Lacks,
	}
	if a.Operation.Patches() && a.Lacks == "" {
		changed := len(r.Patch) > 0
		d.Changed = &changed
	}
	return d
}
