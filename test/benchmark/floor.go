// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/graft-provider/gardener-extension-provider-graft/test/benchmark/apart"
)

// addFloors adds the handlers with the costs of every webhook: the transport alone (F0), with one validating pass over
// the review (F1), and with the code of controller-runtime that runs before a handler (F2). /f1/<bytes> is F1 with an
// answer of this length.
func addFloors(mux *http.ServeMux) {
	const answer = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":%q,"allowed":true}}`
	mux.HandleFunc("/f0", apart.Floor(answer, func([]byte) (string, error) { return "0", nil }))
	mux.HandleFunc("/f1", apart.Floor(answer, apart.UID))
	mux.HandleFunc("/f1/{bytes}", func(w http.ResponseWriter, r *http.Request) {
		length, err := strconv.Atoi(r.PathValue("bytes"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		patch := strings.Repeat("QUJD", max(0, length-len(answer))/4)
		apart.Floor(strings.TrimSuffix(answer, "}}")+`,"patch":"`+patch+`"}}`, apart.UID)(w, r)
	})
	mux.Handle("/f2", &admission.Webhook{Handler: admission.HandlerFunc(func(context.Context,
		admission.Request) admission.Response {
		return admission.Allowed("")
	})})
}
