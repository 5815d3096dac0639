// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
)

// Panicked is what may be said of the value of a panic: an error of Go itself as it is, and of any other its type only, as it may hold what was asked
// for.
func Panicked(value any) error {
	if err, ok := value.(runtime.Error); ok {
		return err
	}
	return fmt.Errorf("a value of the type %T", value)
}

// Aborted says whether a panic is the one by which a handler has net/http close the connection: it goes on.
func Aborted(value any) bool {
	err, is := value.(error)
	return is && errors.Is(err, http.ErrAbortHandler)
}
