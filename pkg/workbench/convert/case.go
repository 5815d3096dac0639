// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// Case is what a webhook made of the objects of one control plane.
type Case struct {
	// Name is how people tell cases apart, such as 1.33.
	Name string
	// Before and After are the objects; they are matched by kind and name.
	Before, After []manifest.Object
	// Facts are what is known of the control plane; nil: only what the objects say.
	Facts *facts.Facts
	// Present are Secrets and ConfigMaps of the control plane, for lookups and checksums of them.
	Present []map[string]any
	// Secrets are others, of whichever namespace. What is in a Secret is never proposed.
	Secrets []map[string]any
}

// Options say what is to be proposed.
type Options struct {
	// Name is the name of the profile, and Provider the provider that it serves.
	Name, Provider string
	// Set is where all rules go; empty: where the contract has most need of each.
	Set target.Set
	// Generation is that of the Gardener which wrote the objects.
	Generation contract.Generation
	// Literal leaves values as they are, where they might be of an expression.
	Literal bool
}

// subject is one object, before and after.
type subject struct {
	id   int
	from *Case
	// known are the facts of the case; guessed says that they were made of the objects.
	known   *facts.Facts
	guessed bool

	object manifest.Object
	target *target.Target
	form   *target.Form
	garden bool
	// purpose is that of an OperatingSystemConfig, and pool its worker pool.
	purpose, pool string
	// version is that of Kubernetes which decides: of the pool for an OperatingSystemConfig, else of the control plane.
	version string

	before, after tree
	// secrets are what must not be written.
	secrets secrets
	// raw is the object before, and want the object after, as JSON.
	raw, want []byte
}

// String names the object, and the case where there are several.
func (s *subject) String() string {
	if s.from.Name == "" {
		return s.object.String()
	}
	return s.object.String() + " (" + s.from.Name + ")"
}

// identity is what makes objects before and after the same.
func identity(o manifest.Object) string {
	return o.Group() + "/" + o.Kind + "/" + o.Namespace + "/" + o.Name
}

// pair matches the objects of the cases. The problems are objects that stand on one side only, or cannot be read.
func pair(cases []Case, o Options) ([]*subject, []Missed) {
	var (
		subjects []*subject
		missed   []Missed
	)
	for i := range cases {
		c := &cases[i]
		after := map[string]manifest.Object{}
		for _, object := range c.After {
			after[identity(object)] = object
		}
		for _, object := range c.Before {
			is, ok := after[identity(object)]
			delete(after, identity(object))
			if !ok {
				missed = append(missed, Missed{Object: object.String(), Case: c.Name, Text: "is missing after; rules remove no objects"})
				continue
			}
			s, err := newSubject(c, object, is, o)
			if err != nil {
				missed = append(missed, Missed{Object: object.String(), Case: c.Name, Text: err.Error()})
				continue
			}
			s.id = len(subjects)
			subjects = append(subjects, s)
		}
		for _, object := range c.After {
			if _, left := after[identity(object)]; left {
				missed = append(missed, Missed{Object: object.String(), Case: c.Name, Text: "is missing before; rules add no objects"})
			}
		}
	}
	know(subjects, o)
	held := secretsOf(cases)
	for _, s := range subjects {
		s.secrets = held
	}
	return subjects, missed
}

func newSubject(c *Case, before, after manifest.Object, o Options) (*subject, error) {
	s := &subject{
		from: c, known: c.Facts, object: before, raw: before.JSON, want: after.JSON,
		garden: before.Namespace == target.GardenNamespace,
	}
	var err error
	if s.before, err = decodeTree(before.JSON); err != nil {
		return nil, err
	}
	if s.after, err = decodeTree(after.JSON); err != nil {
		return nil, err
	}
	forgetDefaulted(s.before, s.after)
	s.target, s.form = target.Match(s.garden, before.Group(), before.Kind, before.Name)
	if s.target != nil && s.form.Kind == "Service" && o.Generation == contract.Today && !equal(canonical(s.before), canonical(s.after)) {
		return s, fmt.Errorf("is Gardener's; today's Gardener lets no webhook mutate it")
	}
	if s.target == nil {
		if s.garden {
			return nil, fmt.Errorf("is none of the objects that rules reach in the namespace %s", target.GardenNamespace)
		}
		version := before.APIVersion[strings.LastIndexByte(before.APIVersion, '/')+1:]
		s.target = target.Other(target.Form{Group: before.Group(), Version: version, Kind: before.Kind, Name: familyName(before.Name)})
		s.form = &s.target.Forms[0]
	}
	if s.form.Kind == "OperatingSystemConfig" {
		s.purpose, s.pool = textAt(s.before, "spec", "purpose"), textAt(s.before, "metadata", "labels", facts.LabelWorkerPool)
	}
	return s, nil
}

// familyName stands for all names with another hash at their end, as Gardener gives immutable ConfigMaps.
func familyName(name string) string {
	const hash = 8
	cut := len(name) - hash
	if cut < 2 || name[cut-1] != '-' || strings.Trim(name[cut:], "0123456789abcdef") != "" || !strings.ContainsAny(name[cut:], "0123456789") {
		return name
	}
	return name[:cut] + "*"
}

// know finds the version of each object, and makes facts where there are none.
func know(subjects []*subject, o Options) {
	made := map[*Case]*facts.Facts{}
	for _, s := range subjects {
		s.version = s.imageVersion()
		if s.known != nil && s.pool != "" {
			if pool := s.known.Pool(s.pool); pool != nil {
				s.version = cmp.Or(s.version, pool.Kubernetes)
			}
		}
	}
	for _, s := range subjects {
		if s.from.Facts == nil {
			if made[s.from] == nil {
				made[s.from] = factsOf(s, subjects, o)
			}
			s.known, s.guessed = made[s.from], true
		}
		if s.form.Kind != "OperatingSystemConfig" && s.known != nil && !s.guessed {
			s.version = cmp.Or(s.known.Kubernetes(), s.version)
		}
		if s.guessed && s.version == "" {
			s.version = versionOfCase(s.from, subjects)
		}
	}
}

// imageVersion is the version that the object's own image says; empty where it says none.
func (s *subject) imageVersion() string {
	parsed, err := document.Parse(s.raw)
	if err != nil {
		return ""
	}
	object := &target.Object{Target: s.target, Form: s.form, Document: parsed}
	version := object.ImageVersion()
	if _, ok := minorOf(version); !ok {
		return ""
	}
	return version
}

// versionOfCase is the version of the control plane, as the images of its objects say it; empty where none does.
func versionOfCase(c *Case, subjects []*subject) string {
	for _, pools := range []bool{false, true} {
		i := slices.IndexFunc(subjects, func(s *subject) bool {
			return s.from == c && s.imageVersion() != "" && (s.form.Kind == "OperatingSystemConfig") == pools
		})
		if i >= 0 {
			return subjects[i].imageVersion()
		}
	}
	return ""
}
