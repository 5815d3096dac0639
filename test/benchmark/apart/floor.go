// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package apart

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// buffers are reused, so that floors cost as little as possible.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Floor returns a handler that does the minimum of a webhook: it answers with the UID of the message. The format
// contains the UID as %q.
func Floor(format string, uid func(body []byte) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		*buffer = slices.Grow((*buffer)[:0], int(r.ContentLength))[:r.ContentLength]
		_, err := io.ReadFull(r.Body, *buffer)
		found := ""
		if err == nil {
			found, err = uid(*buffer)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, format, found)
	}
}

// UID finds the UID of a request by one validating pass over the message.
func UID(body []byte) (string, error) {
	message, err := document.Parse(body)
	if err != nil {
		return "", err
	}
	defer message.Release()
	uid, _ := message.Original().Find("request", "uid").Text()
	return uid, nil
}
