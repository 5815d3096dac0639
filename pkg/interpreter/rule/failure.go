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

// unfit says that the object, or what members say, is not as it is needed. No argument may be a value of the object.
func unfit(format string, arguments ...any) error {
	return &interpreter.Failure{Code: interpreter.CodeUnfit, Message: fmt.Sprintf(format, arguments...)}
}

// spot is a place in a profile: what answers call it, and where it is written.
type spot struct{ name, position string }

// String is the place for who mends what is wrong there.
func (s spot) String() string { return s.name + " (" + s.position + ")" }

// unreadable says why a text cannot be read as an object; the messages of the errors hold offsets and nothing else.
func unreadable(what string, err error) error {
	for _, known := range []error{document.ErrTooDeep, document.ErrTooLarge, document.ErrDuplicateKey} {
		if errors.Is(err, known) {
			return unfit("%s cannot be read: %s", what, known)
		}
	}
	return unfit("%s is no JSON", what)
}
