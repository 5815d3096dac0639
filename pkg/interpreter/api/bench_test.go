// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
)

// BenchmarkMessages is the work of the codec: all but the network and the rules.
func BenchmarkMessages(b *testing.B) {
	h := New(Options{Interpreter: everything{}, Log: logr.Discard()})
	for _, operation := range []string{"InterpretHealth", "InterpretStatus", "ReviseReplica"} {
		for _, kilobytes := range []int{2, 20, 200} {
			object := `{"items":[` + strings.Repeat(`{"name":"one of many","ready":true},`, kilobytes*1000/36) + `{}]}`
			body := fmt.Appendf(nil, `{"kind":"ResourceInterpreterContext","apiVersion":"config.karmada.io/v1alpha1","request":{"uid":"u",`+
				`"kind":{"group":"a","version":"v1","kind":"Queue"},"operation":%q,"object":%s,"replicas":0}}`, operation, object)
			b.Run(fmt.Sprintf("%s/%dkB", operation, kilobytes), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					recorder := httptest.NewRecorder()
					h.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body)))
					if recorder.Code != http.StatusOK {
						b.Fatal(recorder.Body)
					}
				}
			})
		}
	}
}
