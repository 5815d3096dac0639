// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// Engine decides as the webhook does.
type Engine interface {
	// Registrations are the webhooks that its profiles need, and Profiles their versions.
	Registrations() []mutation.Registration
	Profiles() []mutation.ProfileVersion
	// Admit mutates one object; its error is a *mutation.Failure.
	Admit(context.Context, mutation.Request) (*mutation.Result, error)
}

// Timely limits the time of an engine for each object, including lookups, to Timeout.
type Timely struct {
	Engine
	Timeout time.Duration
}

// Admit calls the engine with the timeout.
func (t Timely) Admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	ctx, end := context.WithTimeout(ctx, t.Timeout)
	defer end()
	return t.Engine.Admit(ctx, r)
}

// Finder looks for objects that have drifted.
type Finder struct {
	API    API
	Engine Engine
	// Namespace restricts the search to one namespace; empty means all with webhooks.
	Namespace string
	// Parallel is how many namespaces are looked at at a time; 0: one.
	Parallel int
	// Progress is told how many namespaces are done, and Left that one was looked at; each may be nil.
	Progress func(done, of int)
	Left     func(namespace string)
}

// Summary counts the searched objects.
type Summary struct {
	// ControlPlanes counts the namespaces, and Objects the objects in them with rules.
	ControlPlanes int `json:"controlPlanes"`
	Objects       int `json:"objects"`
	// OptedOut are namespaces that are left alone as they say so.
	OptedOut []string `json:"optedOut,omitempty"`
	// Unread lists namespaces that could not be read completely.
	Unread []Unread `json:"unread,omitempty"`
	// Found are the findings by their states.
	Found map[State]int `json:"found"`
}

// Unread is a namespace that could not be read.
type Unread struct {
	Namespace string `json:"namespace"`
	Problem   string `json:"problem"`
}

// Drifted returns the number of drifted objects.
func (s Summary) Drifted() int {
	count := 0
	for state, n := range s.Found {
		if state.Drifted() {
			count += n
		}
	}
	return count
}

// search is one look at everything.
type search struct {
	*Finder
	registrations []mutation.Registration
	// known are the versions of the profiles.
	known []string

	// mutex guards the following fields; each is called under it.
	mutex   sync.Mutex
	summary Summary
	done    int
	each    func(Finding) error
}

// Find calls each for every finding, one at a time; with several namespaces in parallel, their order is undefined. It
// fails if each, the context, or the list of namespaces fails; the summary contains namespaces that cannot be read.
func (f *Finder) Find(ctx context.Context, each func(Finding) error) (Summary, error) {
	s := &search{Finder: f, registrations: f.Engine.Registrations(), known: versionsOf(f.Engine), each: each, summary: Summary{Found: map[State]int{}}}
	all, err := f.namespaces(ctx, s.registrations)
	if err != nil {
		return s.summary, err
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(max(1, f.Parallel))
	for _, one := range all {
		group.Go(func() error { return s.namespace(inner, one, len(all)) })
	}
	err = group.Wait()
	slices.Sort(s.summary.OptedOut)
	slices.SortFunc(s.summary.Unread, func(a, b Unread) int { return strings.Compare(a.Namespace, b.Namespace) })
	return s.summary, err
}

func versionsOf(e Engine) []string {
	var known []string
	for _, version := range e.Profiles() {
		known = append(known, version.Version())
	}
	return known
}

// namespace looks at one.
func (s *search) namespace(ctx context.Context, n namespace, of int) error {
	var err error
	if n.optOut == "" {
		err = s.objects(ctx, n)
	}
	if s.Left != nil {
		s.Left(n.name)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.done++
	if s.Progress != nil {
		s.Progress(s.done, of)
	}
	var refused *stop
	switch {
	case errors.As(err, &refused):
		return refused.error
	case ctx.Err() != nil:
		return ctx.Err()
	case n.optOut != "":
		s.summary.OptedOut = append(s.summary.OptedOut, n.name)
	case err != nil:
		s.summary.Unread = append(s.summary.Unread, Unread{n.name, err.Error()})
	default:
		s.summary.ControlPlanes++
	}
	return nil
}

// stop is an error returned by the callback for findings.
type stop struct{ error }

// objects looks at all objects of a namespace that rules are for.
func (s *search) objects(ctx context.Context, n namespace) error {
	var selected []mutation.Registration
	var forms []target.Form
	for _, r := range s.registrations {
		if r.Selects(n.name, n.labels) {
			selected, forms = append(selected, r), append(forms, r.Forms...)
		}
	}
	if selected == nil {
		return errNotSelected
	}
	for _, form := range distinct(forms) {
		seen := map[string]bool{}
		err := s.form(ctx, n.name, form, func(raw json.RawMessage) error {
			o, err := readObject(raw, form)
			if err != nil || seen[o.name] {
				return err
			}
			seen[o.name] = true
			for _, r := range selected {
				if r.Has(form.Group, form.Kind, o.name) {
					err = errors.Join(err, s.object(ctx, r, n.name, form, o))
				}
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("reading %s: %w", form.Resource, err)
		}
	}
	return nil
}

// errNotSelected is for a namespace that was named.
var errNotSelected = errors.New("the profiles have no webhook for it: its labels name other providers, or none")

// distinct returns each form once, and omits named forms if there is one for all names of the kind.
func distinct(forms []target.Form) []target.Form {
	var all []target.Form
	for _, form := range forms {
		form.Parts, form.Older = 0, false
		if strings.HasSuffix(form.Name, "*") {
			form.Name = "" // a beginning of names cannot be asked for
		}
		if !slices.Contains(all, form) {
			all = append(all, form)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(f target.Form) bool {
		anyName := f
		anyName.Name = ""
		return f.Name != "" && slices.Contains(all, anyName)
	})
}

// form reads the objects of a form; those that are not there, or of a kind that is not, are none.
func (s *search) form(ctx context.Context, namespace string, form target.Form, each func(json.RawMessage) error) error {
	var err error
	if form.Name == "" {
		err = list(ctx, s.API, pathOf(form, namespace, ""), "", objectPage, each)
	} else {
		var raw []byte
		if raw, err = get(ctx, s.API, pathOf(form, namespace, form.Name)); err == nil {
			err = each(raw)
		}
	}
	if notFound(err) {
		return nil
	}
	return err
}

// object looks at an object for one webhook, and tells of it.
func (s *search) object(ctx context.Context, r mutation.Registration, namespace string, form target.Form, o object) error {
	finding, selected, err := look(ctx, s.Engine, s.known, Object{
		Set: r.Set, Provider: r.Provider, Garden: r.Garden, Namespace: namespace, Group: form.Group, Version: form.Version, Kind: form.Kind,
		Resource: form.Resource, Name: o.name,
	}, o)
	if err != nil || !selected {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.summary.Objects++; finding.State == "" {
		return nil
	}
	s.summary.Found[finding.State]++
	if err := s.each(finding); err != nil {
		return &stop{err}
	}
	return nil
}
