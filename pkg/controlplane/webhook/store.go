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

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Program is a set of profiles, compiled: a *mutation.Program bound to a source of facts.
type Program interface {
	Registrations() []mutation.Registration
	// Permissions are those that its lookups need.
	Permissions() []mutation.Permission
	Admit(context.Context, mutation.Request) (*mutation.Result, error)
}

// Activator is a Program that is told when it is put in force, such as one that follows what it looks up.
type Activator interface{ Activate() }

// Lister is a Program that tells its rules, so that those which are gone are counted no more.
type Lister interface{ Rules() []mutation.RuleInfo }

// Versioned is a Program that tells the versions of its profiles, by which marks are told from older ones.
type Versioned interface {
	Profiles() []mutation.ProfileVersion
}

// Compiler makes a Program of documents that are valid each; what they get wrong together it returns as source.Findings.
type Compiler func([]*profile.Document) (Program, error)

// Store holds the program in force and replaces it as a whole. An admission sees one program from its beginning to its end. A file of profiles
// that is invalid does not hold up the others: its last good version is served, or the objects that it claims are denied.
type Store struct {
	// Authorizer is asked before profiles are put in force, and set before the first Load; nil: everything is permitted.
	Authorizer Authorizer
	// Beside reads what the compiler reads beside the documents, so that a change of it alone is an attempt; nil: nothing. What cannot
	// be read is told by the compiler.
	Beside func() []byte
	// Uninstalling reports whether the installation is being removed, and its profiles with it; nil: it never is.
	Uninstalling func(context.Context) bool

	compile    Compiler
	parameters profile.Parameters
	metrics    *Metrics
	log        logr.Logger
	current    atomic.Pointer[inForce]
	statuses   atomic.Pointer[[]Status]
	wake       chan struct{}
	checking   chan struct{} // holds one value while a check runs

	lock      sync.Mutex
	attempted watch.Digest // of the documents that were tried last
	outcome   error        // of that attempt
	waiting   *waiting
	good      map[string]*version // by source
	problem   string              // the last failure, so that it is counted and logged once
	changed   []chan<- struct{}
}

type inForce struct {
	program Program
	// digest is that of the versions in program.
	digest watch.Digest
	// routes are those that program serves, and of invalid profiles those in denied, with the reason; claims are their webhooks.
	routes map[Route]bool
	denied map[Route]string
	claims []mutation.Registration
	// profiles is their number; none are right at the start only.
	profiles int
}

// deny has the routes of invalid profiles denied that no valid profile serves.
func (f *inForce) deny(statuses []Status) {
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

// errNoneLeft keeps the profiles in force when the last one vanishes: an empty registration would admit every control plane
// without what its provider demands, and a file or ConfigMap that is gone by mistake is no wish for that.
var errNoneLeft = errors.New("no profiles are left; those loaded before stay in force")

// NewStore makes a store that serves nothing until something is loaded.
func NewStore(compile Compiler, parameters profile.Parameters, metrics *Metrics, log logr.Logger) *Store {
	return &Store{compile: compile, parameters: parameters, metrics: metrics, log: log, wake: make(chan struct{}, 1), checking: make(chan struct{}, 1)}
}

// restore gives the store the last good versions that were kept, before the first Load.
func (s *Store) restore(good map[string]*version) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.good = good
}

// Loaded reports whether a program is active.
func (s *Store) Loaded() bool { return s.current.Load() != nil }

// Registrations are the webhooks that the program in force needs, and those by which the objects of invalid profiles are denied; nil when
// no program is in force.
func (s *Store) Registrations() []mutation.Registration {
	if current := s.current.Load(); current != nil {
		return append(current.program.Registrations(), current.claims...)
	}
	return nil
}

// Statuses returns what became of each file of profiles at the last attempt.
func (s *Store) Statuses() []Status {
	if statuses := s.statuses.Load(); statuses != nil {
		return *statuses
	}
	return nil
}

// Denied returns an error if objects in a namespace with these labels are denied, as a profile is invalid.
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

// Profiles are the versions of the profiles in force, where the program tells them.
func (s *Store) Profiles() []mutation.ProfileVersion {
	if current := s.current.Load(); current != nil {
		if versioned, ok := current.program.(Versioned); ok {
			return versioned.Profiles()
		}
	}
	return nil
}

// Serves reports whether the active program has rules for the route.
func (s *Store) Serves(route Route) bool {
	current := s.current.Load()
	return current != nil && current.routes[route]
}

// Admit asks the program in force.
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

// NotifyChanges returns a channel that gets a value after the program was replaced. It holds one value at most.
func (s *Store) NotifyChanges() <-chan struct{} {
	s.lock.Lock()
	defer s.lock.Unlock()
	c := make(chan struct{}, 1)
	s.changed = append(s.changed, c)
	return c
}

// Load reads the files of the readers and puts in force what can be served of them: of each file the newest version, or else the last good
// one. The error says what is wrong with the newest versions: source.Findings where documents are wrong. A reader that fails as a whole
// changes nothing; that none are left where some were is an error too. The same bytes as at the last attempt are not tried again.
func (s *Store) Load(ctx context.Context, readers ...ProfileReader) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	files, unreadable, err := readAll(ctx, readers)
	if err != nil {
		return s.failed(ctx, err)
	}
	beside := []byte(unreadable.Error())
	if s.Beside != nil {
		beside = append(beside, s.Beside()...)
	}
	sum := watch.DigestOf(append(slices.Clone(files), source.File{Data: beside}))
	if sum == s.attempted && !s.waiting.changed(ctx, s.Authorizer) {
		if s.outcome == nil {
			s.clearFailure()
		}
		return s.outcome
	}
	units := s.units(files, unreadable)
	next, err := s.choose(ctx, units)
	s.attempted = sum
	if err == nil {
		err = s.put(units, next, beside)
	}
	if s.outcome = err; err != nil {
		return s.failed(ctx, err)
	}
	s.clearFailure()
	s.metrics.reloaded()
	s.logIgnored(readers)
	return nil
}

// readAll reads the files of all readers, and returns the paths that cannot be read.
func readAll(ctx context.Context, readers []ProfileReader) ([]source.File, Unreadable, error) {
	var files []source.File
	unreadable := Unreadable{}
	for _, reader := range readers {
		found, err := reader.Read(ctx)
		var paths Unreadable
		if err != nil && !errors.As(err, &paths) {
			return nil, nil, err
		}
		maps.Copy(unreadable, paths)
		files = append(files, found...)
	}
	return files, unreadable, nil
}

// logIgnored logs the files in folders of profiles that are no profiles.
func (s *Store) logIgnored(readers []ProfileReader) {
	for _, reader := range readers {
		if walked, ok := reader.(interface{ LeftAlone() []string }); ok {
			if left := walked.LeftAlone(); len(left) > 0 {
				s.log.Info("Files without apiVersion and kind are no profiles, and are left alone", "files", left)
			}
		}
	}
}

// put puts a choice in force. Its error says what is wrong with the newest versions.
func (s *Store) put(units []*unit, chosen built, beside []byte) error {
	statuses := make([]Status, len(units))
	good, sum := map[string]*version{}, sha256.New()
	for i, u := range units {
		statuses[i] = statusOf(u)
		if u.served != nil {
			good[u.source] = u.served
			_, _ = fmt.Fprintln(sum, u.source, u.served.digest())
		} else if u.good != nil {
			good[u.source] = u.good
		}
	}
	_, _ = sum.Write(beside)
	s.good = good
	s.statuses.Store(&statuses)
	s.metrics.profiles(statuses)
	before, digest := s.current.Load(), watch.Digest(sum.Sum(nil))
	if len(chosen.documents) == 0 && before != nil && before.profiles > 0 {
		return errors.Join(problems(statuses), errNoneLeft)
	}
	next := &inForce{program: chosen.program, digest: digest, routes: map[Route]bool{}, profiles: len(chosen.documents)}
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
		s.activate(next, chosen.documents)
	}
	if !same || !maps.Equal(before.denied, next.denied) {
		s.notify()
	}
	return problems(statuses)
}

// activate tells who has to know that another program is in force.
func (s *Store) activate(next *inForce, documents []*profile.Document) {
	if activated, ok := next.program.(Activator); ok {
		activated.Activate()
	}
	if listed, ok := next.program.(Lister); ok {
		s.metrics.keepRules(listed.Rules())
	}
	s.metrics.inForce(documents)
	summaries := make([]string, len(documents))
	for i, d := range documents {
		summaries[i] = d.Summary()
	}
	s.log.Info("Profiles are in force", "profiles", summaries, "webhooks", len(next.routes))
	if unused := s.parameters.Unused(documents); len(unused) > 0 {
		s.log.Info("Parameters are set for profiles that are not loaded", "profiles", unused)
	}
}

// notify wakes those who wait for a change.
func (s *Store) notify() {
	for _, c := range s.changed {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// clearFailure ends a failure: the active profiles match what the readers find.
func (s *Store) clearFailure() {
	s.problem = ""
	s.metrics.failed.Set(0)
}

// failed counts and logs a failure, the latter only when it is another one than before. That the profiles go with the installation is none.
func (s *Store) failed(ctx context.Context, err error) error {
	if err.Error() == s.problem {
		return err
	}
	s.problem = err.Error()
	if errors.Is(err, errNoneLeft) && s.Uninstalling != nil && s.Uninstalling(ctx) {
		s.log.Info("The installation is being removed with its profiles; those loaded before stay in force until the program ends")
		return err
	}
	s.metrics.reloadFailed()
	profile.LogPanic(s.log, err)
	s.log.Error(err, "Profiles are invalid; of each the last good version is served, if there is one", "findings", findingLines(err))
	return err
}
