// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Suite is what the tests of a package share until all have run.
type Suite struct {
	// Folder is gone afterwards.
	Folder string

	ends []func()
}

// Main is for TestMain: it prepares what the tests of a package share, runs them, ends everything in the opposite order, also on Ctrl-C, and gives the exit
// status. What Gardener's components log is not shown.
func Main(m interface{ Run() int }, prepare func(context.Context, *Suite) error) int {
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &Suite{}
	defer func() {
		for _, end := range slices.Backward(s.ends) {
			end()
		}
	}()
	var err error
	if s.Folder, err = os.MkdirTemp("", "graft-suite-"); err == nil {
		s.Cleanup(func() { _ = os.RemoveAll(s.Folder) })
		err = prepare(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Cleanup is called when all tests have run, or cannot be.
func (s *Suite) Cleanup(end func()) { s.ends = append(s.ends, end) }

// Start is the function Start; the landscape is stopped when all tests have run.
func (s *Suite) Start(ctx context.Context, options Options) (*Landscape, error) {
	l, err := Start(ctx, options)
	if err == nil {
		s.Cleanup(func() { _ = l.Stop() })
	}
	return l, err
}
