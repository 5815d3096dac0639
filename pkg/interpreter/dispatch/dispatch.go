// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package dispatch is the caller's side: it asks webhooks about objects as Karmada does. It chooses them by the configurations of either dialect, calls them
// over TLS with the clients that Karmada uses, waits as long as they are to be waited for, and believes no answer that Karmada would not believe.
//
// It knows no rules, and shares nothing with the codec that answers but the names of operations. Enter at New, with Hooks of Interpreters or Explorers.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
)

// Options are those of a dispatcher.
type Options struct {
	Hooks Hooks
	// Resource is the resource of a kind, which the proposal's rules name. Default configuration.Resource.
	Resource func(interpreter.Kind) string
	// Services finds the addresses of services. Default: by their names in DNS.
	Services webhookutil.ServiceResolver
}

// Dispatcher asks webhooks. It is safe for concurrent use.
type Dispatcher struct {
	hooks    Hooks
	resource func(interpreter.Kind) string
	manager  webhookutil.ClientManager
}

// New makes a dispatcher.
func New(o Options) (*Dispatcher, error) {
	if o.Resource == nil {
		o.Resource = configuration.Resource
	}
	manager, err := Clients(o.Services)
	if err != nil {
		return nil, err
	}
	return &Dispatcher{hooks: o.Hooks, resource: o.Resource, manager: manager}, nil
}

// Clients are the clients of webhooks, as Karmada has them: HookClient gives that of one. Without a resolver, services are found by their names in DNS.
func Clients(services webhookutil.ServiceResolver) (webhookutil.ClientManager, error) {
	if services == nil {
		services = webhookutil.NewDefaultServiceResolver()
	}
	group := schema.GroupVersion{Group: api.Group, Version: api.Version}
	manager, err := webhookutil.NewClientManager([]schema.GroupVersion{group}, func(s *runtime.Scheme) error {
		s.AddKnownTypeWithName(group.WithKind(api.KindContext), &ContextMessage{})
		s.AddKnownTypeWithName(group.WithKind(api.KindReview), &ReviewMessage{})
		metav1.AddToGroupVersion(s, group)
		return nil
	})
	if err != nil {
		return manager, fmt.Errorf("making the clients of webhooks: %w", err)
	}
	resolver, err := webhookutil.NewDefaultAuthenticationInfoResolver("")
	if err != nil {
		return manager, fmt.Errorf("making the clients of webhooks: %w", err)
	}
	manager.SetAuthenticationInfoResolver(resolver)
	manager.SetServiceResolver(services)
	return manager, nil
}

// Error is a webhook that has given no answer that can be believed. Where it said why, there is an *interpreter.Failure in it.
type Error struct {
	// Webhook is <configuration>/<webhook>.
	Webhook string
	Err     error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("webhook %s: %s", e.Webhook, e.Err) }

// Unwrap is why.
func (e *Error) Unwrap() error { return e.Err }

// Interpret asks those webhooks that the configurations choose, until one answers. Nobody being asked is an *interpreter.Failure with CodeUnknown, and what
// goes wrong with those that are asked an *Error. The answer says which webhook has given it, and which were passed over.
func (d *Dispatcher) Interpret(ctx context.Context, r interpreter.Request) (interpreter.Response, error) {
	of, err := objectOf(r.Object)
	if err != nil {
		return interpreter.Response{}, err
	}
	var because []string
	for _, hook := range d.hooks.For(d.subject(r.Kind, of), r.Operation) {
		response, err := d.call(ctx, hook, &r, of)
		switch {
		case err == nil:
			because = append(because, "webhook "+hook.Name)
			response.Because = because
			return response, nil
		case !hook.ignore:
			return interpreter.Response{}, &Error{Webhook: hook.Name, Err: err}
		}
		because = append(because, fmt.Sprintf("passed over, since its failurePolicy is Ignore: %s", &Error{Webhook: hook.Name, Err: err}))
	}
	message := fmt.Sprintf("no webhook is asked for %s of %s", r.Operation, r.Kind)
	for _, passed := range because {
		message += "; " + passed
	}
	return interpreter.Response{}, &interpreter.Failure{Code: interpreter.CodeUnknown, Message: message}
}

// Asks says whether any webhook is asked about an operation of an object, which is JSON.
func (d *Dispatcher) Asks(kind interpreter.Kind, object []byte, o interpreter.Operation) bool {
	of, err := objectOf(object)
	return err == nil && len(d.hooks.For(d.subject(kind, of), o)) > 0
}

func (d *Dispatcher) subject(kind interpreter.Kind, of identity) Subject {
	return Subject{Kind: kind, Resource: d.resource(kind), Namespaced: of.namespace != ""}
}

// call asks one webhook.
func (d *Dispatcher) call(ctx context.Context, h *Hook, r *interpreter.Request, of identity) (interpreter.Response, error) {
	if h.version != nil {
		return interpreter.Response{}, h.version
	}
	client, err := d.manager.HookClient(h.client)
	if err != nil {
		return interpreter.Response{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	left := wholeSeconds(ctx)
	if left <= 0 { // on a machine that stood still, this may be known before the context is done
		return interpreter.Response{}, failureOf(context.DeadlineExceeded, h.timeout)
	}
	e := newExchange(h.Dialect, string(uuid.NewUUID()), r, of)
	if err := client.Post().Body(e.question()).Timeout(left).Do(ctx).Into(e.answer()); err != nil {
		return interpreter.Response{}, failureOf(ended(ctx, err), h.timeout)
	}
	return e.response()
}

// wholeSeconds is the time that is left, in whole seconds, which is how callers tell webhooks.
func wholeSeconds(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return (time.Until(deadline) + time.Second - 1).Truncate(time.Second)
}

// ended is why a call has failed: what comes of a webhook once nobody waits any more, such as an empty answer of a server that sees its caller leave, is
// no reason.
func ended(ctx context.Context, err error) error {
	if out := ctx.Err(); out != nil && !errors.Is(err, out) {
		return fmt.Errorf("%w: %w", out, err)
	}
	return err
}

// failureOf is the failure that a webhook has answered by a status of HTTP, or the error as it is.
func failureOf(err error, waited time.Duration) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return &interpreter.Failure{Code: int(status.Status().Code), Message: status.Status().Message}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it did not answer within %s: %w", waited, err)
	}
	return err
}
