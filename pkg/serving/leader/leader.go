// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package leader elects the replica of a server that writes to clusters, by a Lease. Manager is for programs
// with a controller-runtime manager, Election for others. The package does not know the leader's work.
package leader

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// The times of an election, with Kubernetes' defaults.
const (
	LeaseDuration = 15 * time.Second
	RenewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// newElector returns an elector that releases the Lease when its context ends.
func newElector(lock resourcelock.Interface, name string, callbacks leaderelection.LeaderCallbacks) (*leaderelection.LeaderElector, error) {
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: name, LeaseDuration: LeaseDuration, RenewDeadline: RenewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true, Callbacks: callbacks,
	})
}

// Term reports whether this replica leads. It ends with the context of the election, even if the loss is
// reported late.
type Term struct {
	mutex sync.Mutex
	// term is closed at the end of the leadership; nil without leadership.
	term <-chan struct{}
	// Alone disables the election; this replica leads. Set it before the first use.
	Alone bool
}

// begin starts a term, unless ctx has ended, and reports whether it did.
func (t *Term) begin(ctx context.Context) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if ctx.Err() != nil {
		return false
	}
	t.term = ctx.Done()
	return true
}

// Leads reports whether this replica leads.
func (t *Term) Leads() bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.Alone || t.term == nil {
		return t.Alone
	}
	select {
	case <-t.term:
		return false
	default:
		return true
	}
}

// Election participates in elections and updates a Term.
type Election struct {
	*Term
	elector *leaderelection.LeaderElector
	log     logr.Logger
	mutex   sync.Mutex
	leads   bool
}

// NewElection prepares an election by a Lease. It fails if the client or the name of the machine is unavailable.
func NewElection(config *rest.Config, namespace, name string, term *Term, log logr.Logger) (*Election, error) {
	config = rest.CopyConfig(config)
	config.Timeout = RenewDeadline / 2
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("finding the name of the machine: %w", err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, name, clients.CoreV1(), clients.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())})
	if err != nil {
		return nil, fmt.Errorf("making a lease: %w", err)
	}
	e := &Election{Term: term, log: log}
	e.elector, err = newElector(lock, "", leaderelection.LeaderCallbacks{
		OnStartedLeading: func(ctx context.Context) { e.report(term.begin(ctx)) },
		OnStoppedLeading: func() { e.report(false) },
	})
	return e, err
}

// Run participates in elections until the context ends.
func (e *Election) Run(ctx context.Context) {
	for ctx.Err() == nil {
		e.elector.Run(logr.NewContext(ctx, e.log.WithName("election")))
	}
}

// report logs a change of leadership.
func (e *Election) report(leads bool) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.leads != leads {
		e.leads = leads
		e.log.Info("Leadership changed", "leader", leads)
	}
}
