// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// ErrNoBody means that a request lacks its required body.
var ErrNoBody = errors.New("the body is empty: send a JSON object")

// Read parses a JSON body. It ignores unknown fields, because callers may be newer, and the content type. For a body
// that is too long, invalid, compressed, followed by other data or of a wrong type, it returns a *Problem with the
// position but without the content. A maximum of 0 is the default.
func Read(w http.ResponseWriter, r *http.Request, maximum int64, into any) error {
	for _, encoding := range r.Header.Values("Content-Encoding") {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return Problemf(http.StatusUnsupportedMediaType, "Content-Encoding is not supported: send the body without compression")
		}
	}
	if maximum <= 0 {
		maximum = DefaultMaximumBytes
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maximum))
	if err != nil {
		return unread(err, maximum)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return &Problem{Status: http.StatusBadRequest, Message: ErrNoBody.Error(), Cause: ErrNoBody}
	}
	err = json.Unmarshal(body, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Problemf(http.StatusBadRequest, "%s has a value of the wrong type, at byte %d", cmp.Or(wrong.Field, "the body"), wrong.Offset)
	}
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return Problemf(http.StatusBadRequest, "the body is not JSON: %s, at byte %d", wrong.Error(), wrong.Offset)
	}
	if err != nil {
		return Problemf(http.StatusBadRequest, "the body has a value that cannot be read")
	}
	return nil
}

// unread returns the problem of a body that could not be received.
func unread(err error, maximum int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return Problemf(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", maximum)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Problemf(http.StatusRequestTimeout, "the body was not received in time")
	}
	return Problemf(http.StatusBadRequest, "the body could not be read completely")
}

// Write answers with a body of JSON, or with an empty one if body is nil.
func Write(w http.ResponseWriter, status int, body any) {
	if body == nil {
		writeBytes(w, status, "", nil)
		return
	}
	WriteAs(w, status, "application/json", body)
}

// WriteAs answers with a body of JSON that a contract calls by another media type.
func WriteAs(w http.ResponseWriter, status int, kind string, body any) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		ProblemOf(err).Write(w)
		return
	}
	writeBytes(w, status, kind, buffer.Bytes())
}

// writeBytes writes the response. It ignores errors, because the server detects disconnected callers.
func writeBytes(w http.ResponseWriter, status int, kind string, body []byte) {
	if kind != "" {
		w.Header().Set("Content-Type", kind)
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
