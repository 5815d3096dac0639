// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package seed

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// Leftovers finds values in the objects of a seed that rules of one version of profiles wrote to places that Gardener
// writes at each reconciliation, and that no rule of the next version writes. Gardener's own value is not recorded, so
// that the results of the sides do not differ: the change is reported as an effect.
type Leftovers struct{ Old, New *mutation.Program }

// Effects implements compare.Options.More.
func (l Leftovers) Effects(ctx context.Context, s *scene.Scene, object manifest.Object) ([]string, error) {
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
		if !kept && w.stands && !slices.Contains(places, w.place) {
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
	// stands means that the object had the rule's value. For a removal, it also requires that Gardener may write the
	// removed value.
	stands bool
}

// position matches the position of a rule in the names of places to which several rules can add: it distinguishes them
// within one version.
var position = regexp.MustCompile(` added at \S+:\d+:\d+|\[\+ \S+:\d+:\d+\]`)

// written returns the places that a program writes on an object, except recorded ones.
func written(ctx context.Context, p *mutation.Program, s *scene.Scene, object manifest.Object) ([]write, error) {
	var writes []write
	for _, r := range s.Selected(p, object) {
		edits := 0
		request := mutation.Request{
			Set: r.Set, Provider: r.Provider, Garden: r.Garden, Operation: "UPDATE", Namespace: s.Namespace().Name, Name: object.Name,
			Group: object.Group(), Version: object.APIVersion[strings.Index(object.APIVersion, "/")+1:], Kind: object.Kind,
			Object: object.JSON, OldObject: s.Old[scene.OldKey(object)],
		}
		_, err := p.Trace(ctx, request, s.Source(), func(rule mutation.Applied, step mutation.Step, o *target.Object) {
			made := o.Document.Edits()
			if !step.Kept && !step.Lasts() && rule.Profile != "" {
				one := write{place: step.Place.String(), rule: rule.Name(), stands: made == edits && !step.RemovesNothing(o)}
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
