// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
)

// TestLimitOfWaitingCalls checks the limit of waiting calls for a hanging cloud, that further requests get Busy although all callers
// have left, and that this ends with the calls.
func TestLimitOfWaitingCalls(t *testing.T) {
	const parallel, line = 16, 1024
	synctest.Test(t, func(t *testing.T) {
		l := &limited{takes: time.Minute}
		s := crowd(t, l, &service.Limit{Parallel: parallel}, service.Options{})
		call := func(key any) error {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			go func() {
				synctest.Wait()
				cancel()
			}()
			_, err := s.Allocate(ctx, request("pool", fmt.Sprint(key)))
			return err
		}
		for i := range parallel + line {
			if err := call(i); !errors.Is(err, context.Canceled) {
				t.Fatalf("call %d: got error %v", i, err)
			}
		}
		var busy *network.Busy
		if err := call("beyond"); !errors.As(err, &busy) || busy.RetryAfter < time.Second || busy.Of != "fabric" {
			t.Errorf("one beyond: got error %v", err)
		}
		time.Sleep(5 * time.Minute)
		if err := call("afterwards"); !errors.Is(err, context.Canceled) {
			t.Errorf("afterwards: got error %v", err)
		}
		time.Sleep(5 * time.Minute)
		if _, err := s.Get(t.Context(), network.Owner{Contract: "test", Key: "afterwards"}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
