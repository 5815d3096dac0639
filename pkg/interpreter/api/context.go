// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// contextFailed is a message that says why there is no answer.
type contextFailed struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Response   contextResponse `json:"response"`
}

type contextResponse struct {
	UID        string        `json:"uid"`
	Successful bool          `json:"successful"`
	Failure    contextStatus `json:"status"`
}

type contextStatus struct {
	Message string `json:"message"`
	Code    int    `json:"code"`
}

func contextSuccess(out []byte, uid string, a *answer) ([]byte, error) {
	o := beginMessage(out, KindContext, uid)
	o.member("successful").bool(true)
	a.writeTo(&o, "rawStatus")
	return o.endMessage(), nil
}

// contextFailure answers with 200: what the answer says is read only then.
func contextFailure(uid string, f *interpreter.Failure) (int, any) {
	response := contextResponse{UID: uid, Failure: contextStatus{Message: f.Message, Code: f.Code}}
	return http.StatusOK, contextFailed{Group + "/" + Version, KindContext, response}
}
