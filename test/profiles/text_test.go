// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/test/pointer"
)

// texts are patches in the first golden file of a provider, which other files do not repeat.
type texts struct {
	file string
	// first is the first object with the patch, and closed reports that the file is written.
	first  map[string]string
	closed bool
}

// short is the length in bytes below which a patch is always written.
const short = 200

// shorten names the object with the same patch in place of a patch that was written before.
func (k *texts) shorten(s subject, patch string) string {
	if k == nil || len(patch) < short {
		return patch
	}
	name := s.kind + " " + s.name
	first, ok := k.first[patch]
	switch {
	case ok && k.closed:
		return fmt.Sprintf("  as %s in %s\n", first, k.file)
	case ok:
		return fmt.Sprintf("  as %s\n", first)
	case !k.closed:
		k.first[patch] = name
	}
	return patch
}

// patchText writes the operations; of texts with several lines only the changed lines.
func patchText(t *testing.T, object, patch []byte) string {
	t.Helper()
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		t.Fatal(err)
	}
	before, err := document.Parse(object)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, operation := range operations {
		was, is := textOf(pointer.At(before.Root(), operation.Path).Raw()), textOf(operation.Value)
		if operation.Op != "replace" || !strings.Contains(was, "\n") {
			fmt.Fprintf(&out, "  %-7s %s %s\n", operation.Op, operation.Path, operation.Value)
			continue
		}
		fmt.Fprintf(&out, "  %-7s %s\n", operation.Op, operation.Path)
		for _, edit := range textdiff.Edits(was, is) {
			if edit.Op != diff.Match {
				fmt.Fprintf(&out, "    %c %s\n", map[diff.Op]rune{diff.Insert: '+', diff.Delete: '-'}[edit.Op],
					strings.TrimSuffix(edit.Line, "\n"))
			}
		}
	}
	return out.String()
}

// textOf is the text of a JSON string, decoded where it is base64 of a text; empty for other values.
func textOf(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && len(decoded) > 0 && utf8.Valid(decoded) {
		return string(decoded)
	}
	return text
}
