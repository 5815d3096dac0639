// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"net/http"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
)

// message is one of either dialect that answers.
type message struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Response   any    `json:"response"`
}

// contextResponse is that of a ResourceInterpreterContext.
type contextResponse struct {
	UID        string         `json:"uid"`
	Successful bool           `json:"successful"`
	Failure    *contextStatus `json:"status,omitempty"`
	*answer
}

// contextStatus says why there is no answer.
type contextStatus struct {
	Message string `json:"message"`
	Code    int    `json:"code"`
}

func contextSuccess(uid string, a *answer) (any, error) {
	return message{Group + "/" + Version, KindContext, contextResponse{UID: uid, Successful: true, answer: a}}, nil
}

// contextFailure answers with 200: what the answer says is read only then.
func contextFailure(uid string, f *interpreter.Failure) (int, any) {
	status := &contextStatus{Message: f.Message, Code: f.Code}
	return http.StatusOK, message{Group + "/" + Version, KindContext, contextResponse{UID: uid, Failure: status}}
}
