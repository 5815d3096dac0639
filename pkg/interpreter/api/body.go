// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// unencoded holds that a body comes as it is: what was compressed, or changed in another way, is not undone.
func unencoded(r *http.Request) error {
	for _, encoding := range r.Header.Values("Content-Encoding") {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return &interpreter.Failure{
				Code: http.StatusUnsupportedMediaType, Message: "questions are read as they are: a Content-Encoding, such as gzip, is not undone",
			}
		}
	}
	return nil
}

// readBody reads a body. What there is of it is given also with an error. Of one that is too large, as much again is read, so that a caller that is still
// sending comes to read the answer.
func readBody(r *http.Request, maximum int64) ([]byte, error) {
	read, err := serving.ReadAll(r, maximum)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return read, &interpreter.Failure{Code: http.StatusRequestTimeout, Message: "the body did not come in time"}
	case err != nil:
		return read, malformed("the body could not be read to its end")
	case int64(len(read)) > maximum:
		_, _ = io.CopyN(io.Discard, r.Body, maximum)
		return read, &interpreter.Failure{Code: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the body is larger than %d bytes", maximum)}
	}
	return read, nil
}

// patience is how long is worked for a request: less than its caller waits, so that it learns what happened.
func (h *Handler) patience(r *http.Request) time.Duration {
	if said := serving.Timeout(r); said > 0 {
		return min(h.options.Patience, said-min(said/10, time.Second))
	}
	return h.options.Patience
}
