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
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// Options configure a cloud.
type Options struct {
	// Timeout limits one call; required.
	Timeout time.Duration
	// Clock reads dates in Retry-After; required.
	Clock clock.PassiveClock
}

// Cloud implements cloud.Cloud with HTTP calls.
type Cloud struct {
	definition *Definition
	options    Options

	// mutex guards the client and its files.
	mutex        sync.Mutex
	certificates serving.CertificateFiles
	client       *http.Client
}

// New returns the cloud. It reads files when they are needed and when they change. It fails if one cannot be read now.
func New(d *Definition, o Options) (*Cloud, error) {
	c := &Cloud{definition: d, options: o, certificates: d.certificates}
	if _, err := c.currentClient(); err != nil {
		return nil, err
	}
	if _, err := readToken(d.tokenFile); err != nil {
		return nil, err
	}
	return c, nil
}

// Bind implements cloud.Cloud. It fails with network.ErrRefused if the declaration says so, and otherwise with an error
// that is retried.
func (c *Cloud) Bind(ctx context.Context, a network.Allocation) (network.Binding, error) {
	r, err := c.bind(ctx, a)
	if err != nil {
		return network.Binding{}, err
	}
	return r.binding(ctx, a)
}

// bind calls bind of the cloud. It returns the response with the binding.
func (c *Cloud) bind(ctx context.Context, a network.Allocation) (*response, error) {
	r, err := c.send(ctx, c.definition.bind, variables(a))
	if err != nil {
		return nil, err
	}
	done, err := r.isTrue(ctx, r.call.succeeded, isSuccess(r.status))
	switch {
	case err != nil:
		return nil, err
	case done:
		return r, nil
	case r.status == http.StatusConflict && c.definition.find != nil:
		// Use the result of an earlier attempt with a lost response; otherwise the address has another owner.
		if found, err := c.find(ctx, a); err != nil || found != nil {
			return found, err
		}
		return nil, fmt.Errorf("%w: %s", network.ErrInUse, r.reason())
	}
	return nil, r.failure(ctx, c.options.Clock.Now())
}

// Unbind implements cloud.Cloud. If the call uses an unknown reference, Unbind first finds the binding. It fails if the
// cloud does not confirm the release.
func (c *Cloud) Unbind(ctx context.Context, a network.Allocation) error {
	if c.definition.unbind.refers && len(a.Binding.Reference) == 0 {
		found, err := c.find(ctx, a)
		if err != nil || found == nil {
			return err
		}
		binding, err := found.read(ctx, "reference")
		if err != nil {
			return err
		}
		if a.Binding.Reference = binding.Reference; len(a.Binding.Reference) == 0 {
			return errors.New("the cloud returned no reference for the release")
		}
	}
	vars := variables(a)
	vars["reference"] = expression.Value(nil)
	if len(a.Binding.Reference) > 0 {
		reference, err := expression.ParseJSON(a.Binding.Reference)
		if err != nil {
			return fmt.Errorf("reading the reference that the ledger keeps: %w", err)
		}
		vars["reference"] = expression.Value(reference)
	}
	r, err := c.send(ctx, c.definition.unbind, vars)
	if err != nil {
		return err
	}
	done, err := r.isTrue(ctx, r.call.succeeded, isSuccess(r.status) || isGone(r.status))
	if err != nil || done {
		return err
	}
	return r.failure(ctx, c.options.Clock.Now())
}

// find returns the response with the binding of an allocation, or nil if the cloud has none. If the cloud has no call for
// this, it binds again.
func (c *Cloud) find(ctx context.Context, a network.Allocation) (*response, error) {
	if c.definition.find == nil {
		r, err := c.bind(ctx, a)
		if errors.Is(err, network.ErrRefused) {
			err = nil
		}
		return r, err
	}
	r, err := c.send(ctx, c.definition.find, variables(a))
	if err != nil {
		return nil, err
	}
	done, err := r.isTrue(ctx, r.call.succeeded, isSuccess(r.status) || isGone(r.status))
	if err == nil && !done {
		err = r.failure(ctx, c.options.Clock.Now())
	}
	if err != nil {
		return nil, err
	}
	if found, err := r.isTrue(ctx, r.call.found, isSuccess(r.status)); err != nil || !found {
		return nil, err
	}
	return r, nil
}

// isSuccess is the default condition for success.
func isSuccess(status int) bool { return status >= 200 && status <= 299 }

// isGone reports whether the status means that the cloud does not have the resource.
func isGone(status int) bool { return status == http.StatusNotFound || status == http.StatusGone }

// variables returns the variables for expressions before a request.
func variables(a network.Allocation) map[string]any {
	addresses := make([]string, len(a.Addresses))
	for i, address := range a.Addresses {
		addresses[i] = address.String()
	}
	return map[string]any{"allocation": allocationObject.Value(expression.Values{
		"id": cloud.Identity(a), "owner": a.Owner.String(), "contract": a.Owner.Contract, "pool": a.Pool, "addresses": addresses,
		"mac": expression.Optional(a.HardwareAddr().String()), "vlan": expression.Optional(int64(a.VLANID())),
		"node": expression.Optional(cmp.Or(a.Trunk.Node, a.Holder.Node)), "parent": expression.Optional(a.Trunk.MAC),
		"holder": holderObject.Value(expression.Values{
			"kind": expression.Optional(a.Holder.Kind), "namespace": expression.Optional(a.Holder.Namespace), "name": expression.Optional(a.Holder.Name),
			"uid": expression.Optional(a.Holder.UID), "node": expression.Optional(a.Holder.Node), "device": expression.Optional(a.Holder.Device),
		}),
	})}
}
