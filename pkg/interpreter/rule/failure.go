// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
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

// broken says that an expression has failed, which holds no values, and where. What fails for every object was found when the rule was compiled: one
// that fails now does so because of what it was asked about.
func (q *question) broken(at spot, err error) error {
	if ended := q.ctx.Err(); ended != nil {
		return &interpreter.Failure{Code: interpreter.CodeBroken, Message: at.name + ": stopped: " + ended.Error()}
	}
	var (
		failure *interpreter.Failure
		inner   *expression.EvaluationError
	)
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.As(err, &inner): // which says where
		return unfit("%s: %s", at.name, err)
	}
	return unfit("%s: %s", at, err)
}

// patient is how many items are passed between two looks at the context, where no expression looks.
const patient = 64

// ended says that nobody waits for an answer any more; it is asked before each item of a list.
func (q *question) ended(at spot, item int) error {
	if item%patient != 0 {
		return nil
	}
	if err := q.ctx.Err(); err != nil {
		return q.broken(at, err)
	}
	return nil
}

// unreadable says why a text cannot be read as an object; the messages of the errors hold offsets and nothing else.
func unreadable(what string, err error) error {
	for _, known := range []error{document.ErrTooDeep, document.ErrTooLarge, document.ErrDuplicateKey} {
		if errors.Is(err, known) {
			return unfit("%s cannot be read: %s", what, known)
		}
	}
	return unfit("%s is no JSON", what)
}
