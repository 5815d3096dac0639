// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/test/benchmark/apart"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// servers are the servers as seen by their caller.
type servers struct {
	*apart.Servers
	floor, graft string
	// karmada calls Graft with the client library of Karmada.
	karmada *dispatch.Dispatcher
}

// start runs this program again as the servers.
func start(ctx context.Context) (servers, error) {
	s, err := apart.Start(ctx)
	if err != nil {
		return servers{}, err
	}
	endpoint := configuration.Endpoint{URL: s.URLs[1], CABundle: s.Authority,
		TimeoutSeconds: configuration.DefaultTimeoutSeconds}
	karmada, err := dispatch.New(dispatch.Options{Hooks: dispatch.Any(api.KindContext, endpoint)})
	if err != nil {
		s.Stop()
		return servers{}, err
	}
	return servers{s, s.URLs[0], s.URLs[1], karmada}, nil
}

// check sends a request to the floor and to Graft, and verifies Graft's answer as Karmada does.
func (s servers) check(ctx context.Context, operation string, body []byte) error {
	var message dispatch.ContextMessage
	answer, err := s.Post(ctx, s.floor, body)
	if err == nil {
		err = json.Unmarshal(answer, &message)
	}
	if err == nil && (message.Response == nil || message.Response.UID != uid || !message.Response.Successful) {
		err = errors.New("this is no answer of the floor: " + string(answer))
	}
	if err != nil {
		return err
	}
	if answer, err = s.Post(ctx, s.graft, body); err != nil {
		return err
	}
	message = dispatch.ContextMessage{}
	if err := json.Unmarshal(answer, &message); err != nil {
		return fmt.Errorf("decoding the answer: %w", err)
	}
	return dispatch.VerifyContext(uid, operation, message.Response)
}
