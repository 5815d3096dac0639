// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source

import "regexp"

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// IsIdentifier says whether an expression can write the name after a dot.
func IsIdentifier(name string) bool { return identifier.MatchString(name) }
