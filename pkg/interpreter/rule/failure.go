// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// unfit returns a failure for an invalid object or member status. Arguments must not be values of the object.
func unfit(format string, arguments ...any) error {
	return &interpreter.Failure{Code: interpreter.CodeUnfit, Message: fmt.Sprintf(format, arguments...)}
}

// spot is a place in a profile, as a name for answers and as a position in a file.
type spot struct{ name, position string }

// String returns name and position.
func (s spot) String() string { return s.name + " (" + s.position + ")" }

// unreadable returns the failure for a text that is not an object. Its message contains no values.
func unreadable(what string, err error) error {
	for _, known := range []error{document.ErrTooDeep, document.ErrTooLarge, document.ErrDuplicateKey} {
		if errors.Is(err, known) {
			return unfit("%s cannot be read: %s", what, known)
		}
	}
	return unfit("%s is not valid JSON", what)
}
