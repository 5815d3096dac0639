// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// ending is a context that ends when it was looked at so often.
type ending struct {
	context.Context
	left int
}

// Err implements context.Context.
func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestWorkOnLongListsEndsWithContext checks that work on long lists ends with its context, also without an expression for each item.
func TestWorkOnLongListsEndsWithContext(t *testing.T) {
	program := load(t, golden.Read(t, "testdata/stopped/profile.yaml"))
	pools := make([]string, 1000)
	for i := range pools {
		pools[i] = fmt.Sprintf(`{"name":"p%d","size":1}`, i)
	}
	object := json.RawMessage(`{"spec":{"pools":[` + strings.Join(pools, ",") + `]}}`)
	for _, operation := range []interpreter.Operation{interpreter.Retain, interpreter.Dependencies} {
		a := asked{Operation: operation, Object: object, Observed: object}
		if response, err := program.Interpret(&ending{t.Context(), 1000}, a.request()); err != nil || response.Because == nil {
			t.Errorf("%s: %v", operation, err)
		}
		_, err := program.Interpret(&ending{t.Context(), 5}, a.request())
		if got := describe(interpreter.Response{}, err); !strings.HasPrefix(got, "500 ") || !strings.HasSuffix(got, ": stopped: context deadline exceeded\n") {
			t.Errorf("%s: %s", operation, got)
		}
	}
}

// TestSlowStepsEndWithContext checks that a condition with slow steps over a long text ends after one step.
func TestSlowStepsEndWithContext(t *testing.T) {
	program := load(t, golden.Read(t, "testdata/stopped/profile.yaml"))
	object := json.RawMessage(`{"spec":{"text":"` + strings.Repeat("pq", 10_000) + `","pools":[1,2,3,4,5,6,7,8,9]}}`)
	a := asked{Operation: interpreter.Health, Object: object}
	if response, err := program.Interpret(t.Context(), a.request()); err != nil || response.Healthy == nil || !*response.Healthy {
		t.Errorf("want no answer after the context ended, got %v", err)
	}
	for looks := range 9 {
		_, err := program.Interpret(&ending{t.Context(), looks}, a.request())
		if got := describe(interpreter.Response{}, err); !strings.HasPrefix(got, "500 ") || !strings.HasSuffix(got, ": stopped: context deadline exceeded\n") {
			t.Errorf("after %d checks of the context: want status 500, got %s", looks, got)
		}
	}
}
