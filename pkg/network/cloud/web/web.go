// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package web is the cloud that a document describes: an HTTP call that binds, one that unbinds and perhaps one that finds, with CEL for what
// is sent and for what the answers mean.
//
// It knows no particular cloud and keeps nothing between calls: what it must know later is the reference of the binding, which the ledger
// keeps. No error holds a secret, a URL or a body, but for the reason of a refusal, which is for the user. Enter at Compile and New.
package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/cel-go/interpreter"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Options are those of a cloud.
type Options struct {
	// Timeout is that of one call; default 10 s.
	Timeout time.Duration
	// Clock reads dates in Retry-After; required.
	Clock clock.PassiveClock
}

// Cloud is a cloud.Cloud.
type Cloud struct {
	definition *Definition
	options    Options
	client     *client
}

// New makes the cloud. Files are read when they are needed, and again when they change; those that cannot be read now are an error.
func New(d *Definition, o Options) (*Cloud, error) {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	made := &Cloud{definition: d, options: o, client: &client{files: d.files}}
	if _, err := made.client.get(); err != nil {
		return nil, err
	}
	if _, err := made.client.token(); err != nil {
		return nil, err
	}
	return made, nil
}

// Bind implements cloud.Cloud.
func (c *Cloud) Bind(ctx context.Context, a network.Allocation) (network.Binding, error) {
	bind := c.definition.bind
	vars := variables(a)
	answered, err := c.ask(ctx, bind, vars)
	if err != nil {
		return network.Binding{}, err
	}
	done, err := bind.has(ctx, bind.succeeded, vars, isSuccess(answered.status))
	if err != nil {
		return network.Binding{}, err
	}
	if !done && answered.status == http.StatusConflict && c.definition.find != nil {
		// What an earlier attempt has made, of which the answer was lost.
		if binding, has, err := c.Find(ctx, a); err != nil || has {
			return binding, err
		}
	}
	if !done {
		return network.Binding{}, c.failed(ctx, bind, vars, answered)
	}
	return bind.answer.binding(ctx, vars, a)
}

// Unbind implements cloud.Cloud. Where the call names a reference that is not known, what the cloud has is found first.
func (c *Cloud) Unbind(ctx context.Context, a network.Allocation) error {
	unbind := c.definition.unbind
	if unbind.refers && len(a.Binding.Reference) == 0 {
		binding, has, err := c.Find(ctx, a)
		if err != nil || !has {
			return err
		}
		if len(binding.Reference) == 0 {
			return errors.New("the cloud says no reference of what is to be released")
		}
		a.Binding.Reference = binding.Reference
	}
	vars, err := referring(a)
	if err != nil {
		return err
	}
	answered, err := c.ask(ctx, unbind, vars)
	if err != nil {
		return err
	}
	done, err := unbind.has(ctx, unbind.succeeded, vars, isSuccess(answered.status) || isGone(answered.status))
	if err != nil || done {
		return err
	}
	return c.failed(ctx, unbind, vars, answered)
}

// Find implements cloud.Cloud. Without a call for it, it binds once more.
func (c *Cloud) Find(ctx context.Context, a network.Allocation) (network.Binding, bool, error) {
	find := c.definition.find
	if find == nil {
		binding, err := c.Bind(ctx, a)
		if errors.Is(err, network.ErrRefused) {
			return network.Binding{}, false, nil
		}
		return binding, err == nil, err
	}
	vars := variables(a)
	answered, err := c.ask(ctx, find, vars)
	if err != nil {
		return network.Binding{}, false, err
	}
	done, err := find.has(ctx, find.succeeded, vars, isSuccess(answered.status) || isGone(answered.status))
	if err != nil {
		return network.Binding{}, false, err
	}
	if !done {
		return network.Binding{}, false, c.failed(ctx, find, vars, answered)
	}
	found, err := find.has(ctx, find.found, vars, isSuccess(answered.status))
	if err != nil || !found {
		return network.Binding{}, false, err
	}
	binding, err := find.answer.binding(ctx, vars, a)
	return binding, err == nil, err
}

// failed is the error of an answer that is no success.
func (c *Cloud) failed(ctx context.Context, asked *call, vars map[string]any, answered *response) error {
	refused, err := asked.has(ctx, asked.refused, vars, false)
	switch {
	case err != nil:
		return err
	case refused:
		return fmt.Errorf("%w: %s", network.ErrRefused, answered.reason())
	default:
		return answered.failure(asked.name, c.options.Clock.Now())
	}
}

// isSuccess is what holds where a document does not say what success is.
func isSuccess(status int) bool { return status >= 200 && status <= 299 }

// isGone is how clouds say that they do not have something.
func isGone(status int) bool { return status == http.StatusNotFound || status == http.StatusGone }

func activation(vars map[string]any) (interpreter.Activation, error) {
	made, err := interpreter.NewActivation(vars)
	if err != nil {
		return nil, fmt.Errorf("binding variables: %w", err)
	}
	return made, nil
}
