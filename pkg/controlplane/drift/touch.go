// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"cmp"
	"context"
	"fmt"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// Toucher sends patches that change nothing, so that objects pass the webhook. It is safe for concurrent use.
type Toucher struct {
	API    API
	Engine Engine
	// Limiter limits the rate of touches.
	Limiter *rate.Limiter
}

// TouchResult is the outcome of a touch.
type TouchResult string

// The outcomes of touches.
const (
	// Fixed: the object now agrees with the profiles.
	Fixed TouchResult = "fixed"
	// Stays: the object still differs from the result of the profiles: the webhook has other profiles or was not
	// called.
	Stays TouchResult = "stays"
	// Gone: the object was deleted.
	Gone TouchResult = "gone"
	// Failed: the API server, or a webhook, refused it.
	Failed TouchResult = "failed"
)

// Outcomes returns all outcomes.
func Outcomes() []TouchResult { return []TouchResult{Fixed, Stays, Gone, Failed} }

// maxStreak is the length of a Streak after which touching stops, because the webhooks probably do not answer.
const maxStreak = 3

// Streak counts consecutive touches that fixed nothing. The zero value has counted none.
type Streak struct{ length int }

// Seen records the outcome of the next touch. It reports whether touching must stop, because the webhook does not
// respond or has other profiles.
func (s *Streak) Seen(outcome TouchResult) (giveUp bool) {
	if s.length++; outcome == Fixed || outcome == Gone {
		s.length = 0
	}
	return s.length >= maxStreak
}

// String returns the reason for stopping.
func (s *Streak) String() string {
	return fmt.Sprintf("%d touches in a row fixed nothing: check that the webhook answers and has these profiles", s.length)
}

// Touch waits for the rate limit, touches an object and checks the result. If it cannot touch the object, the outcome
// is Failed, with the error. If the context ends, it returns its error without an outcome.
func (t *Toucher) Touch(ctx context.Context, o ObjectRef) (TouchResult, error) {
	if err := t.Limiter.Wait(ctx); err != nil {
		return "", cmp.Or(ctx.Err(), err)
	}
	raw, err := t.API.Touch(ctx, o.path())
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case apierrors.IsNotFound(err):
		return Gone, nil
	case err != nil:
		return Failed, fmt.Errorf("touching %s of %s: %w", o, o.Namespace, err)
	}
	current, _, err := ReadObject(raw, target.Form{Group: o.Group, Version: o.Version, Kind: o.Kind})
	if err != nil {
		return Failed, fmt.Errorf("reading %s of %s: %w", o, o.Namespace, err)
	}
	finding, _, err := check(ctx, t.Engine, o, current)
	switch {
	case err != nil:
		return "", err
	case finding.State.Drifted():
		return Stays, nil
	case finding.Problem != "":
		return Failed, fmt.Errorf("checking %s of %s: %s", o, o.Namespace, finding.Problem)
	default:
		return Fixed, nil
	}
}
