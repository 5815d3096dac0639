// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Differs is the message for a golden file with other content.
const Differs = "the result differs from the golden file (- golden, + got); if that is meant, graft test --update writes it"

// Missing returns the failure for a missing golden file.
func Missing(path string) Failure {
	return Failure{At: source.Position{File: path}, Message: "there is no such golden file; graft test --update writes it"}
}

// Hold compares a golden file with the result, byte for byte.
func Hold(path string, got []byte) (Golden, error) {
	want, err := Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Golden{}, fmt.Errorf("reading a golden file: %w", err)
	}
	g := Golden{Path: path, Missing: err != nil, Got: got}
	switch {
	case g.Missing:
		g.Failure = Missing(path)
	case bytes.Equal(want, got):
		g.Same = true
	default:
		g.Failure = Failure{At: source.Position{File: path}, Message: Differs, Diff: textDiff(string(want), string(got))}
	}
	return g, nil
}

// textDiff returns the differing lines with two lines of context.
func textDiff(want, got string) string {
	var out strings.Builder
	for i, hunk := range textdiff.Hunks(want, got, diff.Context(2)) {
		if i > 0 {
			out.WriteString("  ⋮\n")
		}
		for _, edit := range hunk.Edits {
			sign := map[diff.Op]string{diff.Match: "  ", diff.Delete: "- ", diff.Insert: "+ "}[edit.Op]
			out.WriteString(sign + strings.TrimSuffix(edit.Line, "\n") + "\n")
		}
	}
	return out.String()
}
