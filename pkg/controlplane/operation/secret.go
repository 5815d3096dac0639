// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
)

// FromSecrets is the write for a value that is made of what these Secrets hold: neither its text nor its errors show it.
func (w Write) FromSecrets(names ...string) Write {
	apply, from := w.Apply, fromSecrets(names)
	w.Value.secrets = names
	w.Apply = func(o *target.Object, v Resolved) error {
		err := apply(o, v)
		if errors.Is(err, target.ErrContainerMissing) || errors.Is(err, target.ErrNodePartMissing) {
			return err // says only what is not there
		}
		return hide(err, from)
	}
	return w
}

// fromSecrets stands where a value would.
func fromSecrets(names []string) string { return "(from Secret " + strings.Join(names, ", ") + ")" }

// hidden is an error of which the text could hold what a Secret holds.
type hidden struct {
	err  error
	from string
}

// hide keeps what kind of error it is, and no word of it. What an evaluation says holds no values.
func hide(err error, from string) error {
	var evaluation *expression.EvaluationError
	if err == nil || errors.As(err, &evaluation) {
		return err
	}
	return hidden{err, from}
}

// Error says where the value is from.
func (h hidden) Error() string { return "the value " + h.from + " is not possible here" }

// Is says what kind of error it is.
func (h hidden) Is(target error) bool { return errors.Is(h.err, target) }
