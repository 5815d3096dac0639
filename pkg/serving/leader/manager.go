// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrlelection "sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// ErrLost means that the lease was lost.
var ErrLost = errors.New("the lease was lost: the API server did not renew it in time")

// Manager is a controller-runtime manager that shuts down in order after it lost its lease. The manager's own
// election exits at once, with all calls in flight, at a time when the API server is overloaded anyway. Here,
// the leader's work ends at once, and the program as on a signal.
type Manager struct {
	manager.Manager

	// lock is the Lease, or nil without an election.
	lock resourcelock.Interface
	// name is the name of the lease in metrics.
	name string
	// lost is called after the lease was lost. The program must end then, because stopped work cannot start
	// again.
	lost func(error)
	// work runs on the leader only.
	work    []manager.Runnable
	elected chan struct{}
}

// Options configure an election.
type Options struct {
	// Enabled enables the election. Without it, this replica leads.
	Enabled         bool
	Namespace, Name string
	// Lost is called after the lease was lost. The program must end then, because stopped work cannot start
	// again.
	Lost func(error)
}

// NewManager wraps a manager. Add the leader's work to the result, which adds itself to the manager. It fails if the
// options of the election are invalid.
func NewManager(config *rest.Config, mgr manager.Manager, o Options) (*Manager, error) {
	lock, err := ctrlelection.NewResourceLock(config, mgr, ctrlelection.Options{
		LeaderElection: o.Enabled, LeaderElectionResourceLock: resourcelock.LeasesResourceLock,
		LeaderElectionNamespace: o.Namespace, LeaderElectionID: o.Name, RenewDeadline: RenewDeadline,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the election of a leader: %w", err)
	}
	l := &Manager{Manager: mgr, lock: lock, name: o.Name, lost: o.Lost, elected: make(chan struct{})}
	if err := mgr.Add(l); err != nil {
		return nil, fmt.Errorf("adding the election of a leader: %w", err)
	}
	return l, nil
}

// Add registers a runnable for the leader, by the rule of controller-runtime: all runnables that do not opt
// out. It fails if the manager rejects the runnable.
func (l *Manager) Add(r manager.Runnable) error {
	if says, ok := r.(manager.LeaderElectionRunnable); ok && !says.NeedLeaderElection() {
		return l.Manager.Add(r)
	}
	l.work = append(l.work, r)
	return nil
}

// Elected returns a channel that is closed when this replica leads.
func (l *Manager) Elected() <-chan struct{} { return l.elected }

// NeedLeaderElection returns false: every replica participates.
func (l *Manager) NeedLeaderElection() bool { return false }

// Start participates and leads until the context ends. It releases the lease after the work has ended. It fails if the
// election cannot start, or if a runnable fails.
func (l *Manager) Start(ctx context.Context) error {
	work, end := context.WithCancel(ctx)
	defer end()
	ended := make(chan error, 1)
	lead := func(context.Context) {
		close(l.elected)
		ended <- l.lead(work)
	}
	if l.lock == nil {
		lead(ctx)
		return <-ended
	}
	election, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	lost, err := l.compete(election, lead)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		err = l.wait(ended)
	case err = <-ended:
	case <-lost:
		end()
		err = l.wait(ended)
		l.lost(ErrLost)
		<-ctx.Done()
	}
	release()
	<-lost
	return err
}

// compete calls lead when it acquires the lease. The channel is closed when the lease is lost or released.
func (l *Manager) compete(ctx context.Context, lead func(context.Context)) (<-chan struct{}, error) {
	elector, err := newElector(l.lock, l.name, leaderelection.LeaderCallbacks{OnStartedLeading: lead, OnStoppedLeading: func() {}})
	if err != nil {
		return nil, fmt.Errorf("preparing the election of a leader: %w", err)
	}
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		elector.Run(ctx)
	}()
	return lost, nil
}

// wait returns after work that was started has ended.
func (l *Manager) wait(ended <-chan error) error {
	select {
	case <-l.elected:
		return <-ended
	default:
		return nil
	}
}

// lead runs the work until the context ends or a part of it fails.
func (l *Manager) lead(ctx context.Context) error {
	group, inner := errgroup.WithContext(ctx)
	for _, r := range l.work {
		group.Go(func() error { return r.Start(inner) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
