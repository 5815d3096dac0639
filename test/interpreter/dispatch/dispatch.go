// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package dispatch is a client that calls webhooks as Karmada does. It selects webhooks by configurations of
// either dialect, calls them over TLS with the same client library, observes their timeouts, and rejects the
// answers that Karmada would reject.
//
// It knows no rules, and shares only the names of operations with the server's codec. Start reading at New,
// with the Hooks of Interpreters or Explorers.
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

// Options configure a Dispatcher.
type Options struct {
	Hooks Hooks
	// Resource returns the resource of a kind, for the rules of the proposal. The default is
	// configuration.Resource.
	Resource func(interpreter.Kind) string
	// Services resolves services to addresses. The default uses their DNS names.
	Services webhookutil.ServiceResolver
}

// Dispatcher calls webhooks. It is safe for concurrent use.
type Dispatcher struct {
	hooks    Hooks
	resource func(interpreter.Kind) string
	manager  webhookutil.ClientManager
}

// New returns a dispatcher. It fails if the clients cannot be created.
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

// Clients returns a manager of webhook clients as Karmada creates it: HookClient returns the client for a
// webhook. Without a resolver, services are found by their DNS names.
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

// Error means that a webhook gave no valid answer. It wraps an *interpreter.Failure if the webhook stated a
// reason.
type Error struct {
	// Webhook has the form <configuration>/<webhook>.
	Webhook string
	Err     error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("webhook %s: %s", e.Webhook, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Interpret calls the webhooks that the configurations select, until one answers. It returns an
// *interpreter.Failure with CodeUnknown if no webhook is selected, and an *Error if the selected ones fail. The
// response names the webhook that answered, and those that were skipped.
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
		because = append(because,
			fmt.Sprintf("skipped because its failurePolicy is Ignore: %s", &Error{Webhook: hook.Name, Err: err}))
	}
	message := fmt.Sprintf("no webhook is registered for %s of %s", r.Operation, r.Kind)
	for _, passed := range because {
		message += "; " + passed
	}
	return interpreter.Response{}, &interpreter.Failure{Code: interpreter.CodeUnknown, Message: message}
}

// Asks reports whether a webhook is selected for an operation on an object in JSON.
func (d *Dispatcher) Asks(kind interpreter.Kind, object []byte, o interpreter.Operation) bool {
	of, err := objectOf(object)
	return err == nil && len(d.hooks.For(d.subject(kind, of), o)) > 0
}

func (d *Dispatcher) subject(kind interpreter.Kind, of identity) Subject {
	return Subject{Kind: kind, Resource: d.resource(kind), Namespaced: of.namespace != ""}
}

// call calls one webhook.
func (d *Dispatcher) call(ctx context.Context, h *Hook, r *interpreter.Request, of identity) (interpreter.Response,
	error) {
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
	if left <= 0 { // after a suspension of the machine, this can be known before the context is done
		return interpreter.Response{}, failureOf(context.DeadlineExceeded, h.timeout)
	}
	e := newExchange(h.Dialect, string(uuid.NewUUID()), r, of)
	if err := client.Post().Body(e.question()).Timeout(left).Do(ctx).Into(e.answer()); err != nil {
		return interpreter.Response{}, failureOf(ended(ctx, err), h.timeout)
	}
	return e.response()
}

// wholeSeconds returns the remaining time, rounded up to whole seconds, the unit of the timeout parameter.
func wholeSeconds(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return (time.Until(deadline) + time.Second - 1).Truncate(time.Second)
}

// ended returns the error of a call. It prefers the context's error, because after the deadline other errors,
// such as an empty answer, are only consequences.
func ended(ctx context.Context, err error) error {
	if out := ctx.Err(); out != nil && !errors.Is(err, out) {
		return fmt.Errorf("%w: %w", out, err)
	}
	return err
}

// failureOf converts an HTTP status error to the failure that the webhook reported. It returns other errors
// unchanged.
func failureOf(err error, waited time.Duration) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return &interpreter.Failure{Code: int(status.Status().Code), Message: status.Status().Message}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it did not answer within %s: %w", waited, err)
	}
	return err
}
