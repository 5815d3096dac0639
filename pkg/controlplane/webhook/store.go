// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Mutator is a set of compiled profiles: a *mutation.Program with a source of facts.
type Mutator interface {
	Registrations() []mutation.Registration
	// Profiles returns the versions of its profiles, which distinguish marks from older ones.
	Profiles() []mutation.ProfileVersion
	// Permissions returns the permissions that its lookups need.
	Permissions() []mutation.Permission
	// Admit mutates an object. It fails with a *mutation.Failure if the object is denied.
	Admit(context.Context, mutation.Request) (*mutation.Result, error)
}

// CompileFunc compiles valid documents to a Mutator. Conflicts between them are source.Findings.
type CompileFunc func([]*profile.Document) (Mutator, error)

// Store holds the active program and replaces it as a whole. An admission uses the same program from its start to its
// end. An invalid file of profiles does not block the rest: its last valid version stays active, or the objects that it
// claims are denied.
type Store struct {
	// Authorizer checks permissions before profiles become active. Set it before the first Load. Nil permits
	// everything.
	Authorizer Authorizer
	// Uninstalling reports whether the installation is being removed together with its profiles. It may be nil.
	Uninstalling func(context.Context) bool

	compile    CompileFunc
	parameters profile.Parameters
	metrics    *Metrics
	log        logr.Logger
	current    atomic.Pointer[activeSet]
	statuses   atomic.Pointer[[]Status]
	checking   chan struct{} // has one value while a check runs

	reload watch.Reloader[selection]

	lock    sync.Mutex
	waiting *waiting
	good    map[string]*version // by source
	changed []chan<- event.GenericEvent
	// readers are those of the last Load.
	readers []ProfileReader
}

// selection is the active versions of all files, with the program compiled from them.
type selection struct {
	units []*unit
	built
}

type activeSet struct {
	program Mutator
	// digest identifies the versions in program.
	digest watch.Digest
	// routes has the routes that program serves. denied has the routes of invalid profiles, with reasons.
	// claims has the webhooks of denied.
	routes map[Route]bool
	denied map[Route]string
	claims []mutation.Registration
	// profiles is the number of profiles. It can be 0 at start only.
	profiles int
}

// deny adds the routes of invalid profiles that no valid profile serves.
func (f *activeSet) deny(statuses []Status) {
	served := maps.Clone(f.routes)
	f.denied = map[Route]string{}
	for i := range statuses {
		for _, claim := range statuses[i].claims {
			route := RouteOf(claim)
			if served[route] {
				continue
			}
			f.routes[route] = true
			if f.denied[route] == "" {
				f.claims, f.denied[route] = append(f.claims, claim), statuses[i].reason()
				continue
			}
			at := slices.IndexFunc(f.claims, func(r mutation.Registration) bool { return RouteOf(r) == route })
			f.claims[at] = f.claims[at].With(claim.Forms)
		}
	}
}

// errNoneLeft keeps the profiles active if the last one vanishes: with an empty registration, every control
// plane would be admitted without its provider's changes, and a missing file or ConfigMap is likely a mistake.
var errNoneLeft = errors.New("no profiles are left; the previous ones stay active")

// NewStore returns a store without a program; call Load.
func NewStore(compile CompileFunc, parameters profile.Parameters, metrics *Metrics, log logr.Logger) *Store {
	s := &Store{compile: compile, parameters: parameters, metrics: metrics, log: log, checking: make(chan struct{}, 1)}
	s.reload = watch.Reloader[selection]{
		Read: s.read, Compile: s.choose, Activate: s.activate,
		MayRetry:   func(ctx context.Context, _ error) bool { return s.waiting.changed(ctx, s.Authorizer) },
		LogFailure: s.logFailure, Ignored: s.ignored, Metrics: &metrics.reloads, Log: log,
	}
	return s
}

// restore sets the stored last valid versions, before the first Load.
func (s *Store) restore(good map[string]*version) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.good = good
}

// Loaded reports whether a program is active.
func (s *Store) Loaded() bool { return s.current.Load() != nil }

// Registrations returns the webhooks of the active program, and those that deny the objects of invalid
// profiles, or nil without an active program.
func (s *Store) Registrations() []mutation.Registration {
	if current := s.current.Load(); current != nil {
		return append(current.program.Registrations(), current.claims...)
	}
	return nil
}

// Statuses returns the state of each file of profiles after the last attempt.
func (s *Store) Statuses() []Status {
	if statuses := s.statuses.Load(); statuses != nil {
		return *statuses
	}
	return nil
}

// Denied returns an error if objects in a namespace with these labels are denied because a profile is invalid.
func (s *Store) Denied(namespace map[string]string) error {
	current := s.current.Load()
	if current == nil {
		return nil
	}
	for _, claim := range current.claims {
		if selects(claim, namespace) {
			return errors.New(current.denied[RouteOf(claim)])
		}
	}
	return nil
}

// Profiles returns the versions of the active profiles.
func (s *Store) Profiles() []mutation.ProfileVersion {
	if current := s.current.Load(); current != nil {
		return current.program.Profiles()
	}
	return nil
}

// Serves reports whether the active program has rules for the route.
func (s *Store) Serves(route Route) bool {
	current := s.current.Load()
	return current != nil && current.routes[route]
}

// Admit mutates an object with the active program. It fails with a *mutation.Failure if the object is denied.
func (s *Store) Admit(ctx context.Context, request mutation.Request) (*mutation.Result, error) {
	current := s.current.Load()
	if current == nil {
		return nil, &mutation.Failure{Reason: mutation.NotLoaded, Message: "no profiles are loaded yet"}
	}
	if reason, ok := current.denied[Route{Set: request.Set, Provider: request.Provider, Garden: request.Garden}]; ok {
		return nil, &mutation.Failure{Reason: mutation.ProfileInvalid, Message: reason}
	}
	return current.program.Admit(ctx, request)
}

// NotifyChanges returns a channel with capacity 1 that receives a value after each attempt to activate changed files.
func (s *Store) NotifyChanges() <-chan event.GenericEvent {
	s.lock.Lock()
	defer s.lock.Unlock()
	c := make(chan event.GenericEvent, 1)
	s.changed = append(s.changed, c)
	return c
}

// Load reads the files of the readers and activates the newest version of each file, or else the last valid one.
// It returns the errors in the newest versions, as source.Findings for invalid documents. If a reader fails, or no
// profiles are left, nothing changes. Unchanged files are not tried again.
func (s *Store) Load(ctx context.Context, readers ...ProfileReader) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.readers = readers
	return s.reload.Load(ctx)
}

// read returns the files of all readers. It fails if a reader fails.
func (s *Store) read(ctx context.Context) ([]source.File, error) {
	var files []source.File
	for _, reader := range s.readers {
		found, err := reader.Read(ctx)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// ignored returns the files in folders of profiles that contain no profiles.
func (s *Store) ignored() []string {
	var left []string
	for _, reader := range s.readers {
		if walked, ok := reader.(interface{ Ignored() []string }); ok {
			left = append(left, walked.Ignored()...)
		}
	}
	return left
}

// activate activates a selection. It returns the errors of the newest versions.
func (s *Store) activate(_ context.Context, chosen selection) error {
	statuses := make([]Status, len(chosen.units))
	good, sum := map[string]*version{}, sha256.New()
	for i, u := range chosen.units {
		statuses[i] = statusOf(u)
		if u.served != nil {
			good[u.source] = u.served
			_, _ = fmt.Fprintln(sum, u.source, u.served.digest())
		} else if u.good != nil {
			good[u.source] = u.good
		}
	}
	s.good = good
	s.statuses.Store(&statuses)
	s.metrics.profiles(statuses)
	defer s.notify()
	before, digest := s.current.Load(), watch.Digest(sum.Sum(nil))
	if len(chosen.documents) == 0 && before != nil && before.profiles > 0 {
		return errors.Join(problems(statuses), errNoneLeft)
	}
	next := &activeSet{program: chosen.program, digest: digest, routes: map[Route]bool{}, profiles: len(chosen.documents)}
	same := before != nil && before.digest == digest
	if same {
		next.program = before.program
	}
	for _, registration := range next.program.Registrations() {
		next.routes[RouteOf(registration)] = true
	}
	next.deny(statuses)
	s.current.Store(next)
	if !same {
		s.logActive(next, chosen.documents)
	}
	return problems(statuses)
}

// logActive logs and counts a new program.
func (s *Store) logActive(next *activeSet, documents []*profile.Document) {
	s.metrics.setActive(documents)
	s.log.Info("Profiles are active", "profiles", profile.Summaries(documents), "webhooks", len(next.routes))
	if unused := s.parameters.Unused(documents); len(unused) > 0 {
		s.log.Info("Parameters are set for profiles that are not loaded: remove them, or correct the names", "profiles", unused)
	}
}

// notify wakes the receivers of NotifyChanges.
func (s *Store) notify() {
	for _, c := range s.changed {
		select {
		case c <- event.GenericEvent{}:
		default:
		}
	}
}

// logFailure logs a failure. It returns false for profiles that vanish with the installation, which is none.
func (s *Store) logFailure(ctx context.Context, err error) bool {
	if errors.Is(err, errNoneLeft) && s.Uninstalling != nil && s.Uninstalling(ctx) {
		s.log.Info("The installation is being removed with its profiles; the loaded ones stay active until the program exits")
		return false
	}
	s.log.Error(err, "Profiles are invalid; the last valid version of each stays active, if there is one", "findings", findingLines(err))
	return true
}

// NeedLeaderElection returns false: every replica loads profiles.
func (*Store) NeedLeaderElection() bool { return false }

// Start loads the files of the last Load again when they change, until the context ends. It never fails.
func (s *Store) Start(ctx context.Context) error {
	watch.Poll(ctx, nil, func(ctx context.Context) {
		s.lock.Lock()
		defer s.lock.Unlock()
		_ = s.reload.Load(ctx) // which logs and counts errors; the next change is another attempt
	})
	return nil
}
