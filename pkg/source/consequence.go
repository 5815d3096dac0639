// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"slices"
	"strings"
)

// Beyond are the findings that are more than consequences of earlier ones in the same document: not about what is in a place that
// was refused as a whole, and not about a field that is missing because it is misspelt, or all that is missing beside a field that is not known.
func (f Findings) Beyond(earlier Findings) Findings {
	var beyond Findings
	for _, finding := range f {
		if !slices.ContainsFunc(earlier, finding.follows) {
			beyond = append(beyond, finding)
		}
	}
	return beyond
}

// follows says whether the finding is a consequence of an earlier one.
func (f Finding) follows(earlier Finding) bool {
	switch {
	case f.File != earlier.File || earlier.Severity != Error:
		return false
	case earlier.Partial:
		misspelt := earlier.Meant != "" && f.Path == join(earlier.Path, earlier.Meant)
		return f.Rule == MissingField && (misspelt || earlier.Rule == UnknownField && f.Path == earlier.Path)
	default:
		return Within(f.Path, earlier.Path)
	}
}

// Within says whether a path is another one or a part of it; nothing is a part of the empty path.
func Within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && outer != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
