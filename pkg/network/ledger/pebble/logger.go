// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// logger passes on what the engine says of a folder.
type logger struct {
	folder string
	report func(string)
	die    func(error)
}

// Infof implements pebble.Logger; what goes well is nobody's business.
func (l logger) Infof(string, ...any) {}

// Errorf implements pebble.Logger.
func (l logger) Errorf(format string, arguments ...any) {
	if l.report != nil {
		l.report(fmt.Sprintf(format, arguments...))
	}
}

// misused is told that a row was removed that was not written once; see once.
func (l logger) misused(what pebble.PossibleAPIMisuseInfo) { l.Errorf("a bug: %s", what) }

// damaged is told that a file is not as it was written, by whoever reads of it first.
func (l logger) damaged(what pebble.DataCorruptionInfo) {
	l.end(fmt.Errorf("reading the ledger in %s: %w: %s: %w", l.folder, ErrDamaged, what.Path, what.Details))
}

// Fatalf is called when the engine cannot go on, such as when the disk fails to sync: what it has acknowledged is safe, unless files are damaged, and
// what it has not cannot be. Going on would break that promise.
func (l logger) Fatalf(format string, arguments ...any) {
	why := fmt.Errorf("the ledger cannot go on: %s", fmt.Sprintf(format, arguments...))
	if slices.ContainsFunc(arguments, func(a any) bool { err, is := a.(error); return is && pebble.IsCorruptionError(err) }) {
		why = fmt.Errorf("%w: %w", ErrDamaged, why)
	}
	l.end(why)
}

func (l logger) end(why error) {
	if l.die != nil {
		l.die(why)
	}
	panic(why)
}

// damage says of an error of the engine that files are damaged or missing, where that is so.
func damage(err error) error {
	if pebble.IsCorruptionError(err) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}
