// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package web implements a cloud that a document describes: an HTTP call to bind, one to unbind and optionally one to
// find, with CEL for requests and responses.
//
// It has no code for specific clouds and stores nothing between calls: the ledger stores the reference of a binding,
// which has everything that later calls need. Errors contain no secret, URL or body, except the reason of a refusal,
// which is for the user. Start reading at Compile and New.
package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/cel-go/interpreter"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
)

// Options configure a cloud.
type Options struct {
	// Timeout limits one call; default 10 s.
	Timeout time.Duration
	// Clock reads dates in Retry-After; required.
	Clock clock.PassiveClock
}

// Cloud implements cloud.Cloud with HTTP calls.
type Cloud struct {
	definition *Definition
	options    Options
	client     *client
}

// New returns the cloud. It reads files when they are needed and when they change. It fails if one cannot be read now.
func New(d *Definition, o Options) (*Cloud, error) {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	made := &Cloud{definition: d, options: o, client: &client{files: d.files}}
	if _, err := made.client.get(); err != nil {
		return nil, err
	}
	if _, err := made.client.token(); err != nil {
		return nil, err
	}
	return made, nil
}

// Bind implements cloud.Cloud. It fails with network.ErrRefused if the declaration says so, and otherwise with an error
// that is retried.
func (c *Cloud) Bind(ctx context.Context, a network.Allocation) (network.Binding, error) {
	result, err := c.bind(ctx, a)
	if err != nil {
		return network.Binding{}, err
	}
	return result.answer.binding(ctx, result.vars, a)
}

// evaluation evaluates a response of the cloud about its bindings.
type evaluation struct {
	answer *answer
	vars   map[string]any
}

// bind calls bind of the cloud.
func (c *Cloud) bind(ctx context.Context, a network.Allocation) (evaluation, error) {
	bind := c.definition.bind
	vars := variables(a)
	answered, err := c.send(ctx, bind, vars)
	if err != nil {
		return evaluation{}, err
	}
	done, err := bind.isTrue(ctx, bind.succeeded, vars, isSuccess(answered.status))
	if err != nil {
		return evaluation{}, err
	}
	if !done && answered.status == http.StatusConflict && c.definition.find != nil {
		// Use the result of an earlier attempt with a lost response; otherwise the address has another owner.
		if result, has, err := c.find(ctx, a); err != nil || has {
			return result, err
		}
		return evaluation{}, fmt.Errorf("%w: %s", network.ErrInUse, answered.reason())
	}
	if !done {
		return evaluation{}, c.failed(ctx, bind, vars, answered)
	}
	return evaluation{bind.answer, vars}, nil
}

// Unbind implements cloud.Cloud. If the call uses an unknown reference, Unbind first finds the binding. It fails if the
// cloud does not confirm the release.
func (c *Cloud) Unbind(ctx context.Context, a network.Allocation) error {
	unbind := c.definition.unbind
	if unbind.refers && len(a.Binding.Reference) == 0 {
		result, has, err := c.find(ctx, a)
		if err != nil || !has {
			return err
		}
		if a.Binding.Reference, err = result.answer.referring(ctx, result.vars); err != nil {
			return err
		}
		if len(a.Binding.Reference) == 0 {
			return errors.New("the cloud returned no reference for the release")
		}
	}
	vars, err := withReference(a)
	if err != nil {
		return err
	}
	answered, err := c.send(ctx, unbind, vars)
	if err != nil {
		return err
	}
	done, err := unbind.isTrue(ctx, unbind.succeeded, vars, isSuccess(answered.status) || isGone(answered.status))
	if err != nil || done {
		return err
	}
	return c.failed(ctx, unbind, vars, answered)
}

// find searches the binding of an allocation in the cloud. If the cloud has no call for this, it binds again.
func (c *Cloud) find(ctx context.Context, a network.Allocation) (result evaluation, has bool, err error) {
	find := c.definition.find
	if find == nil {
		result, err = c.bind(ctx, a)
		if errors.Is(err, network.ErrRefused) {
			return evaluation{}, false, nil
		}
		return result, err == nil, err
	}
	vars := variables(a)
	answered, err := c.send(ctx, find, vars)
	if err != nil {
		return evaluation{}, false, err
	}
	done, err := find.isTrue(ctx, find.succeeded, vars, isSuccess(answered.status) || isGone(answered.status))
	if err != nil {
		return evaluation{}, false, err
	}
	if !done {
		return evaluation{}, false, c.failed(ctx, find, vars, answered)
	}
	has, err = find.isTrue(ctx, find.found, vars, isSuccess(answered.status))
	return evaluation{find.answer, vars}, has, err
}

// failed returns the error for an unsuccessful response.
func (c *Cloud) failed(ctx context.Context, asked *call, vars map[string]any, answered *response) error {
	refused, err := asked.isTrue(ctx, asked.refused, vars, false)
	switch {
	case err != nil:
		return err
	case refused:
		return fmt.Errorf("%w: %s", network.ErrRefused, answered.reason())
	default:
		return answered.failure(asked.name, c.options.Clock.Now())
	}
}

// isSuccess is the default condition for success.
func isSuccess(status int) bool { return status >= 200 && status <= 299 }

// isGone reports whether the status means that the cloud does not have the resource.
func isGone(status int) bool { return status == http.StatusNotFound || status == http.StatusGone }

func activation(vars map[string]any) (interpreter.Activation, error) {
	made, err := interpreter.NewActivation(vars)
	if err != nil {
		return nil, fmt.Errorf("binding variables: %w", err)
	}
	return made, nil
}

// variables returns the variables for expressions before a request.
func variables(a network.Allocation) map[string]any {
	addresses := make([]string, len(a.Addresses))
	for i, address := range a.Addresses {
		addresses[i] = address.String()
	}
	return map[string]any{"allocation": allocationObject.Value(expression.Values{
		"id": identity(a), "owner": a.Owner.String(), "contract": a.Owner.Contract, "pool": a.Pool, "addresses": addresses,
		"mac": expression.Optional(a.HardwareAddr().String()), "vlan": expression.Optional(int64(a.VLANID())),
		"node": expression.Optional(cmp.Or(a.Trunk.Node, a.Holder.Node)), "parent": expression.Optional(a.Trunk.MAC),
		"holder": holderObject.Value(expression.Values{
			"kind": expression.Optional(a.Holder.Kind), "namespace": expression.Optional(a.Holder.Namespace), "name": expression.Optional(a.Holder.Name),
			"uid": expression.Optional(a.Holder.UID), "node": expression.Optional(a.Holder.Node), "device": expression.Optional(a.Holder.Device),
		}),
	})}
}

// withReference returns variables with the reference of the binding, or null.
func withReference(a network.Allocation) (map[string]any, error) {
	vars := variables(a)
	vars["reference"] = expression.Value(nil)
	if len(a.Binding.Reference) == 0 {
		return vars, nil
	}
	reference, err := expression.ParseJSON(a.Binding.Reference)
	if err != nil {
		return nil, fmt.Errorf("reading the reference that the ledger keeps: %w", err)
	}
	vars["reference"] = expression.Value(reference)
	return vars, nil
}

// identity returns a value that is the same in all attempts for one allocation, and differs when the owner comes again
// after a release. It is suitable for names in the cloud and as an idempotency key.
func identity(a network.Allocation) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", a.Owner, a.Since.UnixNano()))
	return hex.EncodeToString(sum[:16])
}
