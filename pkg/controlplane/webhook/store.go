// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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

// Store holds the program in force and replaces it as a whole. An admission sees one program from its beginning to its end.
type Store struct {
	// Authorizer is asked before profiles are put in force, and set before the first Load; nil: everything is permitted.
	Authorizer Authorizer
	// Beside reads what the compiler reads beside the documents, so that a change of it alone is an attempt; nil: nothing. What cannot
	// be read is told by the compiler.
	Beside func() []byte

	compile    Compiler
	parameters profile.Parameters
	metrics    *Metrics
	log        logr.Logger
	current    atomic.Pointer[inForce]
	wake       chan struct{}

	lock      sync.Mutex
	attempted watch.Digest // of the documents that were tried last
	outcome   error        // of that attempt
	waiting   *waiting
	problem   string // the last failure, so that it is counted and logged once
	changed   []chan<- struct{}
}

type inForce struct {
	program Program
	routes  map[Route]bool
	// profiles is their number; none are right at the start only.
	profiles int
}

// errNoneLeft keeps the profiles in force when the last one vanishes: an empty registration would admit every control plane
// without what its provider demands, and a file or ConfigMap that is gone by mistake is no wish for that.
var errNoneLeft = errors.New("no profiles are left; those loaded before stay in force")

// NewStore makes a store that serves nothing until something is loaded.
func NewStore(compile Compiler, parameters profile.Parameters, metrics *Metrics, log logr.Logger) *Store {
	return &Store{compile: compile, parameters: parameters, metrics: metrics, log: log, wake: make(chan struct{}, 1)}
}

// Loaded says whether a program is in force.
func (s *Store) Loaded() bool { return s.current.Load() != nil }

// Registrations are the webhooks that the program in force needs; nil when none is.
func (s *Store) Registrations() []mutation.Registration {
	if current := s.current.Load(); current != nil {
		return current.program.Registrations()
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

// Serves says whether the program in force has rules for the route.
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
	return current.program.Admit(ctx, request)
}

// NotifyChanges is a channel that gets a value after the program was replaced. Values that nobody took are merged.
func (s *Store) NotifyChanges() <-chan struct{} {
	s.lock.Lock()
	defer s.lock.Unlock()
	c := make(chan struct{}, 1)
	s.changed = append(s.changed, c)
	return c
}

// Load reads the files of the readers, compiles them and puts them in force. With an error, which is source.Findings where
// documents are wrong, the program before stays in force; that none are left where some were is an error too. The same bytes as at the last attempt are not tried again.
func (s *Store) Load(ctx context.Context, readers ...ProfileReader) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	var files []source.File
	for _, reader := range readers {
		found, err := reader.Read(ctx)
		if err != nil {
			return s.failed(err)
		}
		files = append(files, found...)
	}
	sum := watch.DigestOf(files)
	if s.Beside != nil {
		sum = watch.DigestOf(append(slices.Clone(files), source.File{Data: s.Beside()}))
	}
	if sum == s.attempted {
		return s.again(ctx)
	}
	next, err := profile.Guard(files, s.build)
	documents, program := next.documents, next.program
	s.waiting = nil
	if current := s.current.Load(); err == nil && len(documents) == 0 && current != nil && current.profiles > 0 {
		err = errNoneLeft
	}
	if err == nil {
		if err = s.permit(ctx, program); err != nil {
			s.waiting = &waiting{documents, program, time.Now().Add(permissionInterval)}
		}
	}
	s.attempted, s.outcome = sum, err
	if err != nil {
		return s.failed(err)
	}
	s.put(documents, program)
	for _, reader := range readers {
		if walked, ok := reader.(interface{ LeftAlone() []string }); ok {
			if left := walked.LeftAlone(); len(left) > 0 {
				s.log.Info("Files without apiVersion and kind are no profiles, and are left alone", "files", left)
			}
		}
	}
	return nil
}

// again is what becomes of the bytes that were tried last: only a permission may have come meanwhile.
func (s *Store) again(ctx context.Context) error {
	if w := s.waiting; w != nil && time.Now().After(w.next) {
		w.next = time.Now().Add(permissionInterval)
		if s.outcome = s.permit(ctx, w.program); s.outcome != nil {
			return s.failed(s.outcome)
		}
		s.waiting = nil
		s.put(w.documents, w.program)
		return nil
	}
	if s.outcome == nil {
		s.mended()
	}
	return s.outcome
}

// built are documents and what was compiled of them.
type built struct {
	documents []*profile.Document
	program   Program
}

func (s *Store) build(files []source.File) (built, error) {
	documents, findings := profile.Load(files...)
	if len(findings) == 0 {
		findings = s.parameters.Override(documents)
	}
	program, err := s.compile(documents)
	if len(findings) == 0 {
		return built{documents, program}, err
	}
	// What is wrong with the rules too is said at once.
	var more source.Findings
	if errors.As(err, &more) {
		findings = append(findings, more...)
	}
	return built{}, findings.Err()
}

func (s *Store) put(documents []*profile.Document, program Program) {
	next := &inForce{program: program, routes: map[Route]bool{}, profiles: len(documents)}
	for _, registration := range program.Registrations() {
		next.routes[RouteOf(registration)] = true
	}
	s.current.Store(next)
	if activated, ok := program.(Activator); ok {
		activated.Activate()
	}
	if listed, ok := program.(Lister); ok {
		s.metrics.keepRules(listed.Rules())
	}
	s.mended()
	s.metrics.loaded(documents)
	summaries := make([]string, len(documents))
	for i, d := range documents {
		summaries[i] = d.Summary()
	}
	s.log.Info("Profiles are in force", "profiles", summaries, "webhooks", len(next.routes))
	if unused := s.parameters.Unused(documents); len(unused) > 0 {
		s.log.Info("Parameters are set for profiles that are not loaded", "profiles", unused)
	}
	for _, c := range s.changed {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// mended ends a failure: what is in force is what the readers find.
func (s *Store) mended() {
	s.problem = ""
	s.metrics.failed.Set(0)
}

// failed counts and logs a failure, the latter only when it is another one than before.
func (s *Store) failed(err error) error {
	if err.Error() != s.problem {
		s.problem = err.Error()
		s.metrics.reloadFailed()
		profile.LogPanic(s.log, err)
		if s.Loaded() {
			s.log.Error(err, "Loading profiles failed; those loaded before stay in force", "findings", findingLines(err))
		}
	}
	return err
}
