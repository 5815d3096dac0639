// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// addFloors serves what every webhook pays: the transport alone (F0), with one validating pass over the review (F1), and what
// controller-runtime takes before a handler does anything (F2).
func addFloors(mux *http.ServeMux) {
	mux.HandleFunc("/f0", answer(func([]byte) (string, error) { return "0", nil }))
	mux.HandleFunc("/f1", answer(func(body []byte) (string, error) {
		review, err := document.Parse(body)
		if err != nil {
			return "", err
		}
		defer review.Release()
		uid, _ := review.Original().Find("request", "uid").Text()
		return uid, nil
	}))
	mux.Handle("/f2", &admission.Webhook{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Allowed("")
	})})
}

// buffers are used again, so that the floors are as low as they can be.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// answer allows what judge finds a UID in.
func answer(judge func(body []byte) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		*buffer = slices.Grow((*buffer)[:0], int(r.ContentLength))[:r.ContentLength]
		_, err := io.ReadFull(r.Body, *buffer)
		uid := ""
		if err == nil {
			uid, err = judge(*buffer)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":%q,"allowed":true}}`, uid)
	}
}
