// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"regexp"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is a span of time, written as Go does: 500ms, 10s, 5m. Set is false where nothing was written.
type Duration struct {
	time.Duration
	Set bool
}

// wholeNumber is a number without a unit, which must be seconds if anything.
var wholeNumber = regexp.MustCompile(`^[1-9][0-9]*$`)

// DecodeNode reads a duration.
func (d *Duration) DecodeNode(n Node, path string) Findings {
	if n.Absent() {
		return nil
	}
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!int" || n.Tag == "!!str") && wholeNumber.MatchString(n.Value) {
		return Findings{n.Finding(path, "%s has no unit: write it like 500ms, 10s or 5m", n.Value).Of(WrongValue).Write(n, n.Value+"s")}
	}
	var text string
	if findings := Decode(n, path, &text); len(findings) > 0 {
		return findings
	}
	duration, err := time.ParseDuration(text)
	if err != nil || duration < 0 {
		return Findings{n.Finding(path, "%q is no duration: write it like 500ms, 10s or 5m", text).Of(WrongValue)}
	}
	d.Duration, d.Set = duration, true
	return nil
}

// JSONSchema is what an editor is told about a duration.
func (Duration) JSONSchema() string {
	return `{"type": "string", "pattern": "^(0|([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$"}`
}
