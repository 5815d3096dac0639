// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// Toucher sends patches that change nothing, so that objects pass the webhook. It is safe for concurrent use.
type Toucher struct {
	API    API
	Engine Engine
	Clock  clock.Clock
	// Pause is the time between two touches: there are never two in less.
	Pause time.Duration

	mutex sync.Mutex
	// next is the earliest time of the next touch.
	next time.Time
}

// Outcome is the outcome of a touch.
type Outcome string

// The outcomes of touches.
const (
	// Fixed: the object now agrees with the profiles.
	Fixed Outcome = "fixed"
	// Stays: the object still differs from the result of the profiles: the webhook has other profiles or was not
	// called.
	Stays Outcome = "stays"
	// Gone: the object is not there any more.
	Gone Outcome = "gone"
	// Failed: the API server, or a webhook, refused it.
	Failed Outcome = "failed"
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome { return []Outcome{Fixed, Stays, Gone, Failed} }

// inVain is the number of consecutive touches without effect after which touching stops: the webhooks probably do not
// answer.
const inVain = 3

// Vain counts touches in a row that have fixed nothing. The zero value has seen none.
type Vain struct{ row int }

// Seen records the outcome of the next touch. It reports whether so many touches in a row were futile that no more
// should follow: the webhook does not respond, or has other profiles.
func (v *Vain) Seen(outcome Outcome) (giveUp bool) {
	if v.row++; outcome == Fixed || outcome == Gone {
		v.row = 0
	}
	return v.row >= inVain
}

// String returns the reason for stopping.
func (v *Vain) String() string {
	return fmt.Sprintf("%d touches in a row fixed nothing: check that the webhook answers and has these profiles", v.row)
}

// Touch waits for the rate limit, touches an object and checks the result. If it cannot touch the object, the outcome
// is Failed, with the error. If the context ends, it returns its error without an outcome.
func (t *Toucher) Touch(ctx context.Context, o Object) (Outcome, error) {
	if err := t.wait(ctx); err != nil {
		return "", err
	}
	raw, err := t.API.Call(ctx, Touch(o.path()))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case notFound(err):
		return Gone, nil
	case err != nil:
		return Failed, fmt.Errorf("touching %s of %s: %w", o, o.Namespace, err)
	}
	stands, err := readObject(raw, target.Form{Group: o.Group, Version: o.Version, Kind: o.Kind})
	if err != nil {
		return Failed, fmt.Errorf("reading %s of %s: %w", o, o.Namespace, err)
	}
	finding, _, err := look(ctx, t.Engine, versionsOf(t.Engine), o, stands)
	switch {
	case err != nil:
		return "", err
	case finding.State.Drifted():
		return Stays, nil
	case finding.Problem != "":
		return Failed, fmt.Errorf("looking at %s of %s: %s", o, o.Namespace, finding.Problem)
	default:
		return Fixed, nil
	}
}

// wait takes the next turn, and waits for it.
func (t *Toucher) wait(ctx context.Context) error {
	t.mutex.Lock()
	now := t.Clock.Now()
	turn := t.next
	if turn.Before(now) {
		turn = now
	}
	t.next = turn.Add(t.Pause)
	t.mutex.Unlock()
	if !turn.After(now) {
		return ctx.Err()
	}
	timer := t.Clock.NewTimer(turn.Sub(now))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}
