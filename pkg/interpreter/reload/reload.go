// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package reload puts InterpreterProfiles in force: all of them together or none. Where anything is wrong with them, those before stay. A document that is
// broken never takes the server down.
//
// It opens no files itself, and knows no wire. Enter at Open, or at Check where nothing is to be put in force.
package reload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// Options are those of an installation.
type Options struct {
	// Read reads the files with the profiles.
	Read func() ([]source.File, error)
	// Empty are those of the paths that Read reads from which none of the files is; nil: nobody is told.
	Empty func(files []string) []string
	// LeftAlone are the files in folders that Read takes for no profiles; nil: nobody is told.
	LeftAlone func() []string
	// Behind are documents that come after those of the files, and do not change.
	Behind []*profile.Interpreter
	// Changed is told of what is in force newly; nil: nobody is.
	Changed func(*InForce)
	// Retires keeps what was in force before for operations that are dropped, until Forget is called.
	Retires bool
	// Metrics may be nil.
	Metrics *Metrics
	Log     logr.Logger
}

// InForce is what is in force at a moment. It does not change.
type InForce struct {
	*rule.Program
	// Documents are in the order in which they are asked.
	Documents []*profile.Interpreter
	// Hash is the same for the same documents in the same order.
	Hash string
	// Warnings are what is doubtful.
	Warnings source.Findings
}

// Reloader holds what is in force, and replaces it as a whole. A question sees one set of profiles from its beginning to its end.
type Reloader struct {
	options Options
	current atomic.Pointer[InForce]
	// retired are programs that answer operations which the current one has dropped, the newest first.
	retired atomic.Pointer[[]*InForce]
	// mutex guards what was tried last.
	mutex   sync.Mutex
	tried   watch.Digest
	outcome error
	problem string
}

// Open compiles the profiles.
func Open(o Options) (*Reloader, error) {
	r := &Reloader{options: o}
	files, err := o.Read()
	if err != nil {
		return nil, err
	}
	next, err := profile.Guard(files, o.compile)
	if err != nil {
		profile.LogPanic(o.Log, err)
		return nil, err
	}
	r.tried = watch.DigestOf(files)
	r.put(next)
	return r, nil
}

// Check says what would be in force.
func Check(o Options) (*InForce, error) {
	files, err := o.Read()
	if err != nil {
		return nil, err
	}
	next, err := profile.Guard(files, o.compile)
	profile.LogPanic(o.Log, err)
	return next, err
}

// errNoneLeft keeps the profiles in force when the last one of the files vanishes: files that are gone by mistake are no wish that Karmada is told nothing
// of their kinds.
var errNoneLeft = errors.New("no InterpreterProfile is left in the files; those loaded before stay in force")

// errNoProfiles is for a server that would answer nothing.
var errNoProfiles = errors.New("no InterpreterProfile was found")

func (o *Options) compile(files []source.File) (*InForce, error) {
	documents, findings := profile.LoadInterpreters(files...)
	program, problems := rule.Compile(slices.Concat(documents, o.Behind))
	findings = append(slices.Clone(findings), problems.Beyond(findings)...)
	if err := findings.Errors().Err(); err != nil {
		return nil, err
	}
	next := &InForce{Program: program, Documents: slices.Concat(documents, o.Behind), Warnings: append(findings, o.empty(documents)...)}
	if len(next.Documents) == 0 {
		return nil, errNoProfiles
	}
	h := sha256.New()
	for _, d := range next.Documents {
		h.Write([]byte(d.Summary() + "\n"))
	}
	next.Hash = hex.EncodeToString(h.Sum(nil))[:12]
	return next, nil
}

// empty warns of paths without a profile: a folder may be filled later, and until then nothing says why its kinds are not known.
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
		warnings = append(warnings, at.Finding("", "holds no InterpreterProfile: there are no rules of it in force").Of(source.NoDocument).Warn())
	}
	return warnings
}

// InForce is what is in force.
func (r *Reloader) InForce() *InForce { return r.current.Load() }

// Interpret answers a question by what is in force, and operations that were dropped by what was in force before.
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

// Knows says whether there are rules for a kind.
func (r *Reloader) Knows(kind interpreter.Kind) bool { return r.current.Load().Knows(kind) }

// Forget drops what was in force before, if current is in force: callers do not ask for dropped operations any more.
func (r *Reloader) Forget(current *InForce) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.InForce() == current {
		r.retired.Store(nil)
	}
}

// retire keeps those programs that answer operations which the next one drops.
func (r *Reloader) retire(next *InForce) {
	previous := r.current.Load()
	if previous == nil || !r.options.Retires {
		return
	}
	all := []*InForce{previous}
	if retired := r.retired.Load(); retired != nil {
		all = append(all, *retired...)
	}
	all = slices.DeleteFunc(all, func(old *InForce) bool {
		return !slices.ContainsFunc(old.Kinds(), func(k interpreter.Known) bool {
			return slices.ContainsFunc(k.Operations, func(o interpreter.Operation) bool { return !next.Supports(k.Kind, o) })
		})
	})
	r.retired.Store(&all)
}

// Run looks for changes until the context ends.
func (r *Reloader) Run(ctx context.Context) {
	watch.Poll(ctx, nil, func(context.Context) { _ = r.Load() }) // which is logged and counted
}

// Load puts in force what the files say now, when that is something else than before. With an error what was in force stays so.
func (r *Reloader) Load() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	files, err := r.options.Read()
	if err != nil {
		return r.failed(err)
	}
	sum := watch.DigestOf(files)
	if sum == r.tried {
		if r.outcome == nil && r.problem != "" {
			r.problem = ""
			r.options.Metrics.mended()
		}
		return r.outcome
	}
	next, err := profile.Guard(files, r.options.compile)
	if own := len(r.options.Behind); err == nil && len(next.Documents) == own && len(r.InForce().Documents) > own {
		err = errNoneLeft
	}
	if r.tried, r.outcome = sum, err; err != nil {
		return r.failed(err)
	}
	r.put(next)
	return nil
}

// put makes it seen, and tells of it.
func (r *Reloader) put(next *InForce) {
	r.retire(next)
	r.current.Store(next)
	r.problem = ""
	summaries := make([]string, len(next.Documents))
	for i, d := range next.Documents {
		summaries[i] = d.Summary()
	}
	r.options.Log.Info("Profiles are in force", "profiles", summaries, "hash", next.Hash, "kinds", len(next.Kinds()))
	if r.options.LeftAlone != nil {
		if left := r.options.LeftAlone(); len(left) > 0 {
			r.options.Log.Info("Files without apiVersion and kind are no profiles, and are left alone", "files", left)
		}
	}
	for _, warning := range next.Warnings {
		r.options.Log.Info("A profile says what is doubtful", "warning", warning.Error())
	}
	r.options.Metrics.succeeded(next)
	if r.options.Changed != nil {
		r.options.Changed(next)
	}
}

// failed counts and logs a failure when it is another one than before.
func (r *Reloader) failed(err error) error {
	if err.Error() == r.problem {
		return err
	}
	r.problem = err.Error()
	r.options.Metrics.failed()
	profile.LogPanic(r.options.Log, err)
	r.options.Log.Error(err, "Reloading the profiles failed; those loaded before stay in force")
	return err
}
