// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// TestPanicked checks that the message about a panic contains nothing of the request.
func TestPanicked(t *testing.T) {
	err := func() (err error) {
		defer func() { err = serving.Panicked(recover()) }()
		var nowhere *error
		return *nowhere
	}()
	if !strings.Contains(err.Error(), "nil pointer dereference") {
		t.Errorf("of Go itself: %v", err)
	}
	for want, value := range map[string]any{"a value of the type string": "a secret", "a value of the type *errors.errorString": errors.New("a secret")} {
		if got := serving.Panicked(value).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if !serving.Aborted(fmt.Errorf("it: %w", http.ErrAbortHandler)) || serving.Aborted("x") || serving.Aborted(errors.New("x")) {
		t.Error("Aborted does not recognize http.ErrAbortHandler")
	}
}

// TestResourcesAreReleasedOnce checks that the resources of a request are released once, by its last holder.
func TestResourcesAreReleasedOnce(t *testing.T) {
	left := 0
	ctx, release := serving.WithHold(t.Context(), func() { left++ })
	worker := serving.Hold(ctx)
	if release(); left != 0 {
		t.Error("the place was released during the work")
	}
	if worker(); left != 1 {
		t.Errorf("the place was released %d times, want once", left)
	}
	serving.Hold(t.Context())() // nothing is held
}
