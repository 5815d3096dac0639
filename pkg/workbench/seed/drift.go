// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/explanation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/compare"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
)

var (
	_ drift.API    = (*Seed)(nil)
	_ facts.Source = (*Engine)(nil)
)

// Read implements drift.API. It fails with an *apierrors.StatusError if the API server rejects the request.
func (s *Seed) Read(ctx context.Context, path string, query url.Values) ([]byte, error) {
	return s.do(ctx, http.MethodGet, path, query, "", nil)
}

// Touch implements drift.API. It is the only way to write. It fails with an *apierrors.StatusError if the API server
// rejects the request.
func (s *Seed) Touch(ctx context.Context, path string) ([]byte, error) {
	return s.send(ctx, http.MethodPatch, path, drift.TouchRequest(s.client, path))
}

// Engine computes the results of the webhook of a seed with the profiles of the program, and is their source of facts and
// lookups. It reads the facts of a control plane once, until Leave.
type Engine struct {
	*mutation.Program
	seed *Seed
	// sources are the *lookups of control planes by namespace.
	sources sync.Map
}

// NewEngine makes an engine.
func NewEngine(s *Seed, p *mutation.Program) *Engine { return &Engine{Program: p, seed: s} }

// Admit implements drift.Engine.
func (e *Engine) Admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	return e.Program.Admit(ctx, r, e)
}

// Leave forgets a control plane.
func (e *Engine) Leave(namespace string) { e.sources.Delete(namespace) }

// Read implements facts.Source.
func (e *Engine) Read(ctx context.Context, namespace string) (*facts.Facts, error) {
	source, err := e.source(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return source.facts, nil
}

// Lookup implements facts.Source.
func (e *Engine) Lookup(ctx context.Context, namespace string, request facts.LookupRequest) (*facts.LookupResult, error) {
	source, err := e.source(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return source.Lookup(ctx, namespace, request)
}

func (e *Engine) source(ctx context.Context, namespace string) (*lookups, error) {
	if known, ok := e.sources.Load(namespace); ok {
		return known.(*lookups), nil
	}
	source, err := e.seed.source(ctx, namespace)
	switch {
	case errors.Is(err, ErrNoNamespace):
		return nil, fmt.Errorf("%w: %w", facts.ErrNotFound, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", facts.ErrUnavailable, err)
	}
	e.sources.Store(namespace, source)
	return source, nil
}

// Stored is the side with the current objects of the seed.
type Stored struct{}

// stored is the author of values that, as far as known, Gardener did not write.
var stored = render.Author{Rule: "stored value"}

// Admit implements compare.Side.
func (Stored) Admit(_ context.Context, s *snapshot.Snapshot, object manifest.Object) (*render.Change, error) {
	return become(object, s.Old[snapshot.OldKey(object)], stored)
}

// Installed is the side of the webhooks that are installed in the seed: they are asked by an update that is a dry run,
// of the object as Gardener writes it.
type Installed struct {
	Seed *Seed
	// Resources are the plurals of the kinds of objects, as the forms of programs have them.
	Resources map[schema.GroupKind]string
}

// installed is the author of changes by the installed webhooks.
var installed = render.Author{Rule: "the installed webhooks"}

// NewInstalled returns the side for objects with rules in the programs.
func NewInstalled(s *Seed, programs ...*mutation.Program) Installed {
	side := Installed{Seed: s, Resources: map[schema.GroupKind]string{}}
	for _, program := range programs {
		for _, r := range program.Registrations() {
			for _, form := range r.Forms {
				side.Resources[schema.GroupKind{Group: form.Group, Kind: form.Kind}] = form.Resource
			}
		}
	}
	return side
}

// Admit implements compare.Side. An object that a webhook of Graft denies is a change with Denied set; if the webhooks
// cannot be called, or the update is refused for another reason, the error wraps compare.ErrUnknown.
func (i Installed) Admit(ctx context.Context, s *snapshot.Snapshot, object manifest.Object) (*render.Change, error) {
	form := target.Form{
		Group: object.Group(), Version: object.Version(), Kind: object.Kind,
		Resource: i.Resources[schema.GroupKind{Group: object.Group(), Kind: object.Kind}],
	}
	answer, err := i.dryRun(ctx, s, form, object)
	if apierrors.IsConflict(err) {
		// The object was changed concurrently: use its new version.
		if object.JSON, err = i.renew(ctx, s, form, object); err == nil {
			answer, err = i.dryRun(ctx, s, form, object)
		}
	}
	if err == nil {
		return become(object, answer, installed)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	change, problem := render.NewChange(object.JSON)
	if problem != nil {
		return nil, problem
	}
	if change.Denied = denial(err); change.Denied == nil {
		return nil, fmt.Errorf("%w: %s", compare.ErrUnknown, advice(err))
	}
	return change, nil
}

// dryRun returns the object that kube-apiserver would store, without storing it.
func (i Installed) dryRun(ctx context.Context, s *snapshot.Snapshot, form target.Form, object manifest.Object) ([]byte, error) {
	query := url.Values{"dryRun": {"All"}, "fieldValidation": {"Ignore"}, "fieldManager": {"graft"}}
	return i.Seed.do(ctx, http.MethodPut, drift.Path(form, s.Namespace().Name, object.Name), query, runtime.ContentTypeJSON, object.JSON)
}

// renew returns the object with its current version.
func (i Installed) renew(ctx context.Context, s *snapshot.Snapshot, form target.Form, object manifest.Object) ([]byte, error) {
	raw, err := i.Seed.Read(ctx, drift.Path(form, s.Namespace().Name, object.Name), nil)
	if err != nil {
		return nil, err
	}
	now, _, err := drift.ReadObject(raw, form)
	if err != nil {
		return nil, err
	}
	taken, err := annotation.Restore(now)
	if err != nil {
		return nil, err
	}
	return taken.Object, nil
}

// become returns the change from the object written by Gardener to the result of another author.
func become(object manifest.Object, after []byte, by render.Author) (*render.Change, error) {
	change, err := render.NewChange(object.JSON)
	if err != nil {
		return nil, err
	}
	unmarked, err := annotation.Unmarked(after)
	if err != nil {
		return nil, err
	}
	return change, change.Become(by, unmarked)
}

// webhookDomain ends the names of Graft's webhooks (pkg/controlplane/webhook/registration.go).
const webhookDomain = ".graft.extensions.gardener.cloud"

// denied is the prefix of kube-apiserver's message for a denial by a webhook (k8s.io/apiserver
// pkg/admission/plugin/webhook/errors).
const denied = "admission webhook "

// denial returns the reason why a webhook of Graft denied an object, or nil for another error.
func denial(err error) error {
	rest, ok := strings.CutPrefix(messageOf(err), denied)
	if !ok {
		return nil
	}
	name, reason, ok := strings.Cut(rest, " denied the request")
	if !ok || !strings.HasSuffix(strings.Trim(name, `"`), webhookDomain) {
		return nil
	}
	return errors.New(strings.TrimPrefix(reason, ": "))
}

// messageOf returns the message of kube-apiserver, or an empty string for another error.
func messageOf(err error) string {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status.ErrStatus.Message
	}
	return ""
}

// advice returns a description of the error with the required action.
func advice(err error) string {
	switch message := messageOf(err); {
	case strings.HasPrefix(message, denied):
		return "another webhook refuses the dry run: " + message
	case strings.Contains(message, "failed calling webhook"):
		return "the installed webhooks do not answer: " + message
	case apierrors.IsForbidden(err):
		return "the dry run is not permitted, which needs the verb update (--no-dry-run only reads): " + message
	case apierrors.IsInvalid(err):
		return "the API server refuses the object as Gardener writes it: " + message
	default:
		return err.Error()
	}
}

// Versions counts the objects of the control planes by the versions of profiles that mutated them; the empty name
// counts objects without a mark.
func Versions(planes []*Plane) map[string]int {
	count := map[string]int{}
	for _, plane := range planes {
		for _, taken := range plane.Taken {
			if len(taken.Profiles) == 0 {
				count[""]++
			}
			for _, version := range slices.Compact(slices.Sorted(slices.Values(taken.Profiles))) {
				count[version]++
			}
		}
	}
	return count
}

// Leftovers finds values in the objects of a seed that rules of one version of profiles wrote to places that Gardener
// writes at each reconciliation, and that no rule of the next version writes. Gardener's own value is not recorded, so
// that the results of the sides do not differ: the change is reported as an effect.
type Leftovers struct{ Old, New *mutation.Program }

// Effects implements compare.Options.More. It fails if the object is unreadable.
func (l Leftovers) Effects(ctx context.Context, s *snapshot.Snapshot, object manifest.Object) ([]string, error) {
	was, err := written(ctx, l.Old, s, object)
	if err != nil || len(was) == 0 {
		return nil, err
	}
	is, err := written(ctx, l.New, s, object)
	if err != nil {
		return nil, err
	}
	var places, rules []string
	for _, w := range was {
		kept := slices.ContainsFunc(is, func(other write) bool { return other.place == w.place && other.item == w.item })
		if !kept && w.applied && !slices.Contains(places, w.place) {
			places = append(places, w.place)
			if !slices.Contains(rules, w.rule) {
				rules = append(rules, w.rule)
			}
		}
	}
	if len(places) == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("no rule of NEW writes %s any more (%s)", strings.Join(places, ", "), strings.Join(rules, ", "))}, nil
}

// write is an unrecorded place that a rule writes.
type write struct {
	place, rule string
	// item identifies an addition to a place with several additions; empty if the place is written as a whole.
	item string
	// applied means that the object had the rule's value. For a removal, it also requires that Gardener may write the
	// removed value.
	applied bool
}

// position matches the position of a rule in the names of places to which several rules can add: it distinguishes them
// within one version.
var position = regexp.MustCompile(` added at \S+:\d+:\d+|\[\+ \S+:\d+:\d+\]`)

// written returns the places that a program writes on an object, except recorded ones.
func written(ctx context.Context, p *mutation.Program, s *snapshot.Snapshot, object manifest.Object) ([]write, error) {
	var writes []write
	for _, r := range s.Selected(p, object) {
		edits := 0
		request := mutation.Request{
			Set: r.Set, Provider: r.Provider, Garden: r.Garden, Operation: "UPDATE", Namespace: s.Namespace().Name, Name: object.Name,
			Group: object.Group(), Version: object.Version(), Kind: object.Kind,
			Object: object.JSON, OldObject: s.Old[snapshot.OldKey(object)],
		}
		_, err := p.Trace(ctx, request, s.Source(), func(rule mutation.Applied, step mutation.Step, o *target.Object) {
			made := o.Document.Edits()
			if !step.Kept && !step.Lasts() && rule.Profile != "" {
				one := write{place: step.Place.String(), rule: rule.Name(), applied: made == edits && !explanation.RemovesNothing(step, o)}
				if whole := position.ReplaceAllString(one.place, ""); whole != one.place {
					one.place, one.item = whole, step.Value.String()
				}
				writes = append(writes, one)
			}
			edits = made
		})
		var failure *mutation.Failure
		if err != nil && !errors.As(err, &failure) {
			return nil, err
		}
	}
	return writes, nil
}
