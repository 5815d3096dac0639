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

// Panic is the error of files of profiles in which the program itself has a mistake: they are refused, and it goes on.
type Panic struct {
	// Files are the names of those on which it panics, or of all where it does so on none of them alone.
	Files []string
	// Stack is for the log.
	Stack []byte

	value any
}

// Error names the files, and nothing of what is in them.
func (p *Panic) Error() string {
	return cmp.Or(strings.Join(p.Files, ", "), "profiles") + ": loading panicked, which is a bug: " + serving.Panicked(p.value).Error()
}

// Guard makes of files what build makes of them. A panic of it is a Panic; build is called for each file alone then, to name those on which it panics,
// and has to leave nothing behind.
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

//nolint:staticcheck,revive // the panic is beside what build gives
func attempt[T any](files []source.File, build func([]source.File) (T, error)) (result T, err error, panicked *Panic) {
	defer func() {
		if value := recover(); value != nil {
			panicked = &Panic{Stack: debug.Stack(), value: value}
		}
	}()
	result, err = build(slices.Clone(files))
	return result, err, nil
}

// LogPanic writes the stack of a Panic; any other error is not its business.
func LogPanic(log logr.Logger, err error) {
	if panicked, ok := errors.AsType[*Panic](err); ok {
		log.Error(panicked, "Loading profiles panicked: this is a bug", "stack", string(panicked.Stack))
	}
}
