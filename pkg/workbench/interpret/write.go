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
		name := r.Name
		if r.Namespace != "" {
			name = r.Namespace + "/" + name
		}
		out.WriteString(s.Heading(r.Kind+" "+name) + "\n")
		if len(r.Answers) == 0 {
			out.WriteString("  no rule for " + interpreter.KindOf(r.APIVersion, r.Kind).String() + "\n")
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
	if a.after != nil {
		if err := s.Patched(out, of.object.JSON, a.after, inside); err != nil {
			return fmt.Errorf("showing the result for %s: %w", of.object, err)
		}
	}
	for _, because := range a.Because {
		out.WriteString(inside + s.Remark("because of "+because) + "\n")
	}
	return nil
}

// texts returns an answer in one line, and the lines below it.
func (a Answer) texts() (short, long string) {
	switch {
	case a.Lacks != "":
		return "not asked: it needs " + a.Lacks, ""
	case a.Error != nil && a.Error.Code != 0:
		return fmt.Sprintf("no answer (%d): %s", a.Error.Code, a.Error.Message), ""
	case a.Error != nil:
		return "no answer: " + a.Error.Message, ""
	}
	switch a.Operation {
	case interpreter.Replicas:
		return number(a.Replicas), yamlOf(a.Requirements)
	case interpreter.Components:
		return plural(len(a.Components), "component", "components"), yamlOf(a.Components)
	case interpreter.Dependencies:
		return plural(len(a.Dependencies), "object", "objects"), dependencies(a.Dependencies)
	case interpreter.Status:
		long = yamlOf(a.Status)
		return map[bool]string{true: "is reflected", false: "nothing is reflected"}[long != ""], long
	case interpreter.Health:
		return map[bool]string{true: "healthy", false: "not healthy"}[a.Healthy != nil && *a.Healthy], ""
	}
	if len(a.Patch) == 0 {
		return "nothing changes", ""
	}
	var operations []json.RawMessage
	_ = json.Unmarshal(a.Patch, &operations) // it was applied
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
