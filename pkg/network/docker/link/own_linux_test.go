// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package link_test

import (
	"errors"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/docker/link"
)

// TestKernelOneOwnerOfNamespace checks that only one process at a time owns a network namespace.
func TestKernelOneOwnerOfNamespace(t *testing.T) {
	open := func() *link.Kernel {
		k, err := link.Open(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first, second := open(), open()
	if err := first.Own(); err != nil {
		t.Fatal(err)
	}
	if err := second.Own(); !errors.Is(err, network.ErrTaken) {
		t.Errorf("want ErrTaken for the second owner, got %v", err)
	}
	if err := errors.Join(first.Close(), second.Own(), second.Close()); err != nil {
		t.Error(err)
	}
}
