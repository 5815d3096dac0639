// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"errors"
	"net/http"

	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// verify checks that a client accepts an answer to a request, and that the answer has no unknown field.
func verify(kind string, request map[string]any, status int, answer []byte) error {
	uid, _ := request["uid"].(string)
	operation, _ := request["operation"].(string)
	if status != http.StatusOK {
		if kind == api.KindContext {
			return errors.New("what Karmada is answered has the status 200")
		}
		return nil
	}
	if kind == api.KindReview {
		var m dispatch.ReviewMessage
		if err := strictly(answer, &m); err != nil {
			return err
		}
		return dispatch.VerifyReview(uid, operation, m.Response)
	}
	var m dispatch.ContextMessage
	if err := strictly(answer, &m); err != nil {
		return err
	}
	return acceptContext(uid, operation, m.Response)
}

func strictly(raw []byte, into any) error {
	strict, err := kjson.UnmarshalStrict(raw, into)
	return errors.Join(append(strict, err)...)
}

// acceptContext are the rules of Karmada's client, and that a failure says something.
func acceptContext(uid, operation string, r *dispatch.ContextResponse) error {
	err := dispatch.VerifyContext(uid, operation, r)
	failure, failed := errors.AsType[*interpreter.Failure](err)
	switch {
	case !failed:
		return err
	case failure.Message == "" || failure.Code == 0:
		return errors.New("a status must have a message and a code")
	}
	return nil
}
