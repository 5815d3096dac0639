// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"errors"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Panic is the error for files that make the program panic, which is a bug. The files are rejected and the
// program continues.
type Panic struct {
	// Files names the files that cause the panic, or all if none of them does alone.
	Files []string
	// Stack is the stack trace, for the log.
	Stack []byte

	value any
}

// Error names the files, but not their content.
func (p *Panic) Error() string {
	return cmp.Or(strings.Join(p.Files, ", "), "profiles") + ": loading panicked, which is a bug: " + serving.Panicked(p.value).Error()
}

// Guard calls build and converts a panic to a Panic. It then calls build for each file alone to find the cause,
// so that build must not have side effects.
func Guard[T any](files []source.File, build func([]source.File) (T, error)) (T, error) {
	result, err, panicked := attempt(files, build)
	if panicked == nil {
		return result, err
	}
	for _, file := range files {
		if _, _, alone := attempt([]source.File{file}, build); alone != nil || len(files) == 1 {
			panicked.Files = append(panicked.Files, file.Name)
		}
	}
	if len(panicked.Files) == 0 {
		for _, file := range files {
			panicked.Files = append(panicked.Files, file.Name)
		}
	}
	return result, panicked
}

//nolint:staticcheck,revive // the panic is separate from the results of build
func attempt[T any](files []source.File, build func([]source.File) (T, error)) (result T, err error, panicked *Panic) {
	defer func() {
		if value := recover(); value != nil {
			panicked = &Panic{Stack: debug.Stack(), value: value}
		}
	}()
	result, err = build(slices.Clone(files))
	return result, err, nil
}

// LogPanic logs the stack if err is a Panic, and does nothing for other errors.
func LogPanic(log logr.Logger, err error) {
	if panicked, ok := errors.AsType[*Panic](err); ok {
		log.Error(panicked, "Loading profiles panicked: this is a bug", "stack", string(panicked.Stack))
	}
}
