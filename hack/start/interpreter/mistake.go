// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/dispatch"
)

// unknown asks about a kind that nobody knows.
const unknown = `{"apiVersion":"config.karmada.io/v1alpha1","kind":"ResourceInterpreterContext","request":{"uid":"1",` +
	`"kind":{"group":"acme.com","version":"v1","kind":"Dragon"},"name":"smoke","operation":"InterpretHealth","object":{"metadata":{"name":"smoke"}}}}`

// mistake asks what cannot be answered, and holds that the answer says so, and why.
func mistake(ctx context.Context, s *server, t *console.Terminal) error {
	t.Line("\n%s", t.Bold("A kind that nobody knows: the answer is not successful, and says why"))
	caller, how := console.Caller{Authority: s.authority()}.WithCurl()
	t.Line("  %s\n  %s", how, t.Dim("$ "+caller.Command(s.url, unknown)))
	_, answer, err := caller.Ask(ctx, s.url, unknown)
	if err != nil {
		return err
	}
	t.Line("  %s", answer)
	return refused([]byte(answer))
}

// refused holds that an answer is none, of code 404.
func refused(answer []byte) error {
	var message dispatch.ContextMessage
	if err := json.Unmarshal(answer, &message); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	r := message.Response
	if r == nil || r.Successful || r.UID != "1" || r.Status == nil || r.Status.Code != interpreter.CodeUnknown {
		return fmt.Errorf("the answer should not be successful, and have the code %d", interpreter.CodeUnknown)
	}
	return nil
}
