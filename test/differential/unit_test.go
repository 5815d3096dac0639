// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/unit"
)

const (
	kubeletUnit = "kubelet.service"
	kubeletPath = "/var/lib/kubelet/config/kubelet"
	sysctlPath  = "/etc/sysctl.d/99-k8s-general.conf"
)

// addUnit adds the options of a unit as go-systemd reads them, and the command line of the kubelet as a command line.
func addUnit(t *testing.T, out map[at]string, name, text string) {
	t.Helper()
	addComments(out, name, text)
	read, err := unit.DeserializeOptions(strings.NewReader(withoutInnerComments(text)))
	if err != nil {
		// Text that go-systemd cannot read is compared unchanged.
		out[at{options, name}] = text
		return
	}
	var lines []string
	for _, option := range read {
		value := option.Value
		if name == kubeletUnit && option.Name == "ExecStart" {
			addCommandLine(out, name, words(value))
			value = "the command line"
		}
		lines = append(lines, "["+option.Section+"] "+option.Name+"="+value)
	}
	// Sections may stand in any order.
	slices.SortStableFunc(lines, func(a, b string) int {
		sectionOfA, _, _ := strings.Cut(a, "]")
		sectionOfB, _, _ := strings.Cut(b, "]")
		return strings.Compare(sectionOfA, sectionOfB)
	})
	out[at{optionOrder, name}] = strings.Join(lines, "\n")
	out[at{options, name}] = strings.Join(slices.Sorted(slices.Values(lines)), "\n")
}

// withoutInnerComments leaves out the comments between the lines of a continued one, as systemd does and go-systemd
// does not.
func withoutInnerComments(text string) string {
	var out strings.Builder
	continued := false
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); continued && trimmed != "" && strings.ContainsAny(trimmed[:1], "#;") {
			continue
		}
		continued = strings.HasSuffix(strings.TrimSuffix(line, "\n"), "\\")
		out.WriteString(line)
	}
	return out.String()
}

// words splits a command line as systemd does, except for escapes: at white space and continued lines, not within
// quotes.
func words(line string) []string {
	var (
		out     []string
		current strings.Builder
		quote   rune
		inWord  bool
	)
	for _, r := range strings.ReplaceAll(line, "\\\n", " ") {
		switch {
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if inWord {
				out = append(out, current.String())
				current.Reset()
			}
			inWord = false
			continue
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == r:
			quote = 0
		}
		current.WriteRune(r)
		inWord = true
	}
	if inWord {
		out = append(out, current.String())
	}
	return out
}

// decodeInline is the text of an inline content.
func decodeInline(t *testing.T, inline map[string]any) string {
	t.Helper()
	data, _ := inline["data"].(string)
	if inline["encoding"] != "b64" {
		return data
	}
	decoded, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	return string(decoded)
}
