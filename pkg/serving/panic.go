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

// Panicked returns an error for the value of a panic without confidential content: Go's runtime errors as they
// are, and only the type of any other value.
func Panicked(value any) error {
	if err, ok := value.(runtime.Error); ok {
		return err
	}
	return fmt.Errorf("a value of the type %T", value)
}

// Aborted reports whether a panic is http.ErrAbortHandler, which must be re-thrown so that net/http closes the
// connection.
func Aborted(value any) bool {
	err, is := value.(error)
	return is && errors.Is(err, http.ErrAbortHandler)
}
