// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
)

// TestRespond checks that each kind of answer is read as the response that was given, in an answer of known length.
func TestRespond(t *testing.T) {
	const uid = `a "quoted" <uid>`
	for name, response := range map[string]admissionv1.AdmissionResponse{
		"allowed": {Allowed: true},
		"denied":  denied(&rejection{Panicked, http.StatusInternalServerError, "says \"x\"\n<>&", nil}),
		"patched": patched(&mutation.Result{Patch: []byte(`[{"op":"remove","path":"/ü"}]`), Versions: `a<b>@12345678`}),
	} {
		t.Run(name, func(t *testing.T) {
			answer := httptest.NewRecorder()
			(&review{uid: uid}).respond(answer, httptest.NewRequest(http.MethodPost, "/", nil), response)
			if got := answer.Header().Get("Content-Length"); got != strconv.Itoa(answer.Body.Len()) {
				t.Errorf("Content-Length is %s for %d bytes", got, answer.Body.Len())
			}
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			response.UID = types.UID(uid)
			want := admissionv1.AdmissionReview{
				TypeMeta: metav1.TypeMeta{Kind: reviewKind, APIVersion: reviewVersion}, Response: &response,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
