// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package reload activates InterpreterProfiles: all of them together or none. If one is invalid, the previous
// ones stay active. An invalid profile never stops the server.
//
// The package opens no files itself and knows no wire format. Start reading at Open, or at Check to validate
// only.
package reload

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/watch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Options configure a Reloader.
type Options struct {
	// Read reads the files with the profiles.
	Read func() ([]source.File, error)
	// Empty returns the paths of Read that contain none of the given files. It may be nil.
	Empty func(files []string) []string
	// Ignored returns files in folders that Read ignored because they are no profiles. It may be nil.
	Ignored func() []string
	// Behind has fixed documents that follow those of the files.
	Behind []*profile.Interpreter
	// Changed receives each newly activated set. It may be nil.
	Changed func(*Active)
	// Retires keeps previous programs for dropped operations until Forget is called.
	Retires bool
	// Metrics is optional.
	Metrics *watch.Metrics
	Log     logr.Logger
}

// Active is an immutable set of profiles that are active together.
type Active struct {
	*rule.Program
	// Documents are in the order of evaluation.
	Documents []*profile.Interpreter
	// Hash is equal for the same documents in the same order.
	Hash string
	// Warnings are findings that do not prevent activation.
	Warnings source.Findings
}

// Reloader holds the active set and replaces it as a whole. A question sees one set from its begin to its end.
type Reloader struct {
	options Options
	current atomic.Pointer[Active]
	// retired has earlier programs with operations that the current one dropped, newest first.
	retired atomic.Pointer[[]*Active]
	// mutex guards changes of current and retired.
	mutex  sync.Mutex
	reload *watch.Reloader[*Active]
}

func newReloader(o Options) *Reloader {
	r := &Reloader{options: o}
	r.reload = &watch.Reloader[*Active]{
		Read:     func(context.Context) ([]source.File, error) { return o.Read() },
		Compile:  func(_ context.Context, files []source.File) (*Active, error) { return r.options.compile(files) },
		Activate: r.activate, Ignored: o.Ignored, Metrics: cmp.Or(o.Metrics, watch.NewMetrics(nil, "interpreter")), Log: o.Log,
	}
	return r
}

// Open compiles the profiles. It fails if they are unreadable or invalid.
func Open(o Options) (*Reloader, error) {
	r := newReloader(o)
	if err := r.reload.Open(context.Background()); err != nil {
		return nil, err
	}
	return r, nil
}

// Check returns the set that would be active. It fails if the profiles are unreadable or invalid.
func Check(o Options) (*Active, error) { return newReloader(o).reload.Check(context.Background()) }

// errNoneLeft keeps the profiles active if the last file vanishes. This is more likely a mistake than the wish
// to drop all kinds.
var errNoneLeft = errors.New("no InterpreterProfile is left in the files; the previous ones stay active")

// errNoProfiles is returned for a server without any profile.
var errNoProfiles = errors.New("no InterpreterProfile was found")

func (o *Options) compile(files []source.File) (*Active, error) {
	documents, findings := profile.LoadInterpreters(files...)
	program, problems := rule.Compile(slices.Concat(documents, o.Behind))
	findings = append(slices.Clone(findings), problems.Beyond(findings)...)
	if err := findings.Errors().Err(); err != nil {
		return nil, err
	}
	next := &Active{Program: program, Documents: slices.Concat(documents, o.Behind), Warnings: append(findings, o.empty(documents)...)}
	if len(next.Documents) == 0 {
		return nil, errNoProfiles
	}
	next.Hash = profile.CommonHash(next.Documents)
	return next, nil
}

// empty returns warnings for paths without a profile. A folder may be filled later; until then, the warning
// explains why its kinds are unknown.
func (o *Options) empty(documents []*profile.Interpreter) source.Findings {
	if o.Empty == nil {
		return nil
	}
	files := make([]string, len(documents))
	for i, d := range documents {
		files[i] = d.Node.File
	}
	var warnings source.Findings
	for _, path := range o.Empty(files) {
		at := source.Node{File: path}
		warnings = append(warnings, at.Finding("", "contains no InterpreterProfile, and so no rules").Of(source.NoDocument).Warn())
	}
	return warnings
}

// Active returns the active set.
func (r *Reloader) Active() *Active { return r.current.Load() }

// Interpret answers a question with the active set, or with an earlier one if the operation was dropped.
func (r *Reloader) Interpret(ctx context.Context, q interpreter.Request) (interpreter.Response, error) {
	current := r.current.Load()
	if retired := r.retired.Load(); retired != nil && !current.Supports(q.Kind, q.Operation) {
		for _, old := range *retired {
			if old.Supports(q.Kind, q.Operation) {
				return old.Interpret(ctx, q)
			}
		}
	}
	return current.Interpret(ctx, q)
}

// Knows reports whether there are rules for a kind.
func (r *Reloader) Knows(kind interpreter.Kind) bool { return r.current.Load().Knows(kind) }

// Forget drops earlier sets if current is still active, because callers no longer use the dropped operations.
func (r *Reloader) Forget(current *Active) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.Active() == current {
		r.retired.Store(nil)
	}
}

// retire keeps the earlier sets with operations that the next one drops.
func (r *Reloader) retire(next *Active) {
	previous := r.current.Load()
	if previous == nil || !r.options.Retires {
		return
	}
	all := []*Active{previous}
	if retired := r.retired.Load(); retired != nil {
		all = append(all, *retired...)
	}
	all = slices.DeleteFunc(all, func(old *Active) bool {
		return len(interpreter.Filter(old.Kinds(), func(k interpreter.Kind, o interpreter.Operation) bool { return !next.Supports(k, o) })) == 0
	})
	r.retired.Store(&all)
}

// Run checks for changes until the context ends.
func (r *Reloader) Run(ctx context.Context) {
	watch.Poll(ctx, nil, func(ctx context.Context) { _ = r.Load(ctx) }) // Load logs and counts failures
}

// Load activates the files if they changed. After an error, the previous set stays active.
func (r *Reloader) Load(ctx context.Context) error { return r.reload.Load(ctx) }

// activate replaces the active set and reports it. It fails if no file has a profile any more.
func (r *Reloader) activate(_ context.Context, next *Active) error {
	own := len(r.options.Behind)
	if before := r.Active(); before != nil && len(next.Documents) == own && len(before.Documents) > own {
		return errNoneLeft
	}
	r.mutex.Lock()
	r.retire(next)
	r.current.Store(next)
	r.mutex.Unlock()
	r.reload.LogActive(profile.Summaries(next.Documents), next.Hash, next.Warnings, "kinds", len(next.Kinds()))
	if r.options.Changed != nil {
		r.options.Changed(next)
	}
	return nil
}
