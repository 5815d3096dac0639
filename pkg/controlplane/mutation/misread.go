// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// misread finds numbers that YAML reads otherwise than they are written, such as 1.30, 0755 or 1_000: whoever wrote them may have
// meant text.
func misread(n source.Node, path string) source.Findings {
	var findings source.Findings
	for _, field := range n.Fields() {
		findings = append(findings, misread(field.Value, path+"."+field.Key.Value)...)
	}
	for i, item := range n.Items() {
		findings = append(findings, misread(item, path+"["+strconv.Itoa(i)+"]")...)
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" {
		return findings
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return source.Findings{n.Finding(path, "cannot be read as a number; put it in quotes if it is text").Of(MisreadNumber).Replace(n, `"`+n.Value+`"`)}
	}
	read := fmt.Sprint(value)
	if float, ok := value.(float64); ok {
		read = strconv.FormatFloat(float, 'f', -1, 64)
	}
	if read != strings.TrimPrefix(n.Value, "+") {
		finding := n.Finding(path, "%s is read as %s; put it in quotes if it is text, or write the number so", n.Value, read)
		return source.Findings{finding.Of(MisreadNumber).Replace(n, `"`+n.Value+`"`)}
	}
	return nil
}
