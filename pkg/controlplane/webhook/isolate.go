// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// version is a version of a file of profiles, with the parameters that the installation sets.
type version struct {
	file       source.File
	parameters profile.Parameters
	// err is the reason why the version cannot be active, or nil.
	err error
}

// digest returns an identifier of the version.
func (v *version) digest() string {
	if len(v.parameters) == 0 {
		return profile.Digest(v.file)
	}
	return profile.Digest(source.File{Data: []byte(profile.Digest(v.file)), Attachments: map[string][]byte{"parameters": v.parameters.YAML()}})
}

// unit is a file, or a key of a ConfigMap, which is active or rejected as a whole.
type unit struct {
	source string
	// newest is the current version, good the one that was active last. They may be equal, and good may be nil.
	newest, good *version
	// served is the active version, or nil.
	served *version
}

// best returns the newest version, or the last valid one if the newest is invalid, or nil.
func (u *unit) best() *version {
	for _, v := range []*version{u.newest, u.good} {
		if v != nil && v.err == nil {
			return v
		}
	}
	return nil
}

// units pairs the existing files with the versions that were active last. For an unreadable folder, it keeps the files
// that were in it.
func (s *Store) units(files []source.File) []*unit {
	var units []*unit
	for _, file := range files {
		if file.Problem != "" {
			if kept := s.unitsIn(file); len(kept) > 0 {
				units = append(units, kept...)
				continue
			}
		}
		units = append(units, s.unit(file))
	}
	return units
}

// unitsIn returns the units of the files that were in an unreadable folder.
func (s *Store) unitsIn(folder source.File) []*unit {
	var units []*unit
	for _, name := range slices.Sorted(maps.Keys(s.good)) {
		if strings.HasPrefix(name, strings.TrimSuffix(folder.Name, "/")+"/") {
			units = append(units, s.unit(source.File{Name: name, Problem: folder.Problem}))
		}
	}
	return units
}

func (s *Store) unit(file source.File) *unit {
	u := &unit{source: file.Name, newest: &version{file: file, parameters: s.parametersOf(file)}}
	if good, ok := s.good[file.Name]; ok {
		u.good = &version{file: good.file, parameters: good.parameters}
		if good.digest() == u.newest.digest() {
			u.good = u.newest
		}
	}
	return u
}

// parametersOf returns the parameters of the profiles in a file.
func (s *Store) parametersOf(file source.File) profile.Parameters {
	if len(s.parameters) == 0 {
		return nil
	}
	own := profile.Parameters{}
	for _, d := range documentsIn(file) {
		if values, ok := s.parameters[d.Metadata.Name]; ok {
			own[d.Metadata.Name] = values
		}
	}
	return own
}

// documentsIn returns the profiles of a file as far as they can be read.
func documentsIn(file source.File) []*profile.Document {
	documents, _ := profile.Guard([]source.File{file}, func(files []source.File) ([]*profile.Document, error) {
		documents, _ := profile.Load(files...)
		return documents, nil
	}) // a panic is reported when the file is compiled
	if len(documents) == 0 {
		return profile.ParseBeginning(file)
	}
	return documents
}

// built is a list of documents with the program compiled from them.
type built struct {
	documents []*profile.Document
	program   Mutator
}

// choose selects the active version of each file and compiles them. It stores the error of an invalid version
// in err. It fails if nothing can be compiled.
func (s *Store) choose(ctx context.Context, files []source.File) (selection, error) {
	s.waiting = nil
	units := s.units(files)
	for {
		next, err := s.compose(units)
		if err != nil {
			return selection{}, err
		}
		refused, reads := permit(ctx, s.Authorizer, s.log, next.program)
		if len(refused) == 0 {
			return selection{units, next}, nil
		}
		if s.waiting == nil {
			s.waiting = &waiting{next: time.Now().Add(permissionInterval)}
		}
		s.waiting.reads = append(s.waiting.reads, reads...)
		for _, u := range units {
			if own := findingsIn(refused, u.source); u.served != nil && len(own) > 0 {
				u.served.err = own
				refused = slices.DeleteFunc(refused, func(f source.Finding) bool { return f.File == u.source })
			}
		}
		if err := refused.Err(); err != nil {
			return selection{}, err
		}
	}
}

// findingsIn returns the findings in a file.
func findingsIn(findings source.Findings, file string) source.Findings {
	return slices.DeleteFunc(slices.Clone(findings), func(f source.Finding) bool { return f.File != file })
}

// compose returns versions that can be active together: the newest of all units, or else the best of each.
func (s *Store) compose(units []*unit) (built, error) {
	if next, err := s.serveBest(units); err == nil {
		return next, nil
	}
	for _, u := range units {
		for _, v := range []*version{u.newest, u.good} {
			if v != nil && v.err == nil {
				_, v.err = s.join([]*version{v})
			}
		}
	}
	if next, err := s.serveBest(units); err == nil {
		return next, nil
	}
	return s.merge(units)
}

func (s *Store) serveBest(units []*unit) (built, error) {
	for _, u := range units {
		u.served = u.best()
	}
	return s.join(served(units))
}

// merge selects among versions that are valid alone but conflict. Versions that were active last stay, first
// those that are also the newest. Then each newest version replaces its last valid one if the other versions
// permit it, in the order of the units.
func (s *Store) merge(units []*unit) (built, error) {
	for _, u := range units {
		u.served = nil
	}
	next, err := s.join(nil)
	if err != nil {
		return built{}, err
	}
	established := func(u *unit) *version {
		if u.good == u.newest {
			return u.good
		}
		return nil
	}
	good, newest := func(u *unit) *version { return u.good }, func(u *unit) *version { return u.newest }
	conflicts := map[*version]error{}
	// The newest twice, because another unit may have released a name in the first pass.
	for _, candidate := range []func(*unit) *version{established, good, newest, newest} {
		for _, u := range units {
			v, before := candidate(u), u.served
			if v == nil || v.err != nil || v == before {
				continue
			}
			u.served = v
			joined, err := s.join(served(units))
			if conflicts[v] = err; err == nil {
				next = joined
			} else {
				u.served = before
			}
		}
	}
	for v, err := range conflicts {
		v.err = err
	}
	return next, nil
}

// served returns the active versions.
func served(units []*unit) []*version {
	var versions []*version
	for _, u := range units {
		if u.served != nil {
			versions = append(versions, u.served)
		}
	}
	return versions
}

// join compiles versions together.
func (s *Store) join(versions []*version) (built, error) {
	files := make([]source.File, len(versions))
	for i, v := range versions {
		files[i] = v.file
	}
	return profile.Guard(files, func(files []source.File) (built, error) {
		return s.build(slices.DeleteFunc(slices.Clone(versions), func(v *version) bool {
			return !slices.ContainsFunc(files, func(f source.File) bool { return f.Name == v.file.Name })
		}))
	})
}

// build compiles versions together. Errors in documents are source.Findings.
func (s *Store) build(versions []*version) (built, error) {
	var (
		documents []*profile.Document
		findings  source.Findings
		named     = map[string]source.Position{}
	)
	for _, v := range versions {
		own, problems := profile.Load(v.file)
		if len(problems) == 0 {
			problems = v.parameters.Override(own)
		}
		findings = append(findings, problems...)
		for _, d := range own {
			if earlier, ok := named[d.Metadata.Name]; ok {
				findings = append(findings, d.Node.Finding("metadata.name", "the profile %q is already defined at %s", d.Metadata.Name, earlier).Of(source.DuplicateName))
				continue
			}
			named[d.Metadata.Name] = d.Node.Position()
			documents = append(documents, d)
		}
	}
	program, err := s.compile(documents)
	if len(findings) == 0 {
		return built{documents, program}, err
	}
	// Errors in rules are reported together with it.
	var more source.Findings
	if errors.As(err, &more) {
		findings = append(findings, more...)
	}
	return built{}, findings.Err()
}

// State is the state of a profile's versions.
type State string

// The states of profiles.
const (
	// StateValid: the newest version is active.
	StateValid State = "valid"
	// StateLastGood: the newest version is invalid, and the last valid one stays active.
	StateLastGood State = "last-good"
	// StateInvalid: the newest version is invalid, and there is no valid one.
	StateInvalid State = "invalid"
)

// Status is the state of a file of profiles.
type Status struct {
	// Source is the file: a path, or configmap/<namespace>/<name>/<key>.
	Source string
	// Profiles are the names of its profiles, as far as they are known.
	Profiles []string
	State    State
	// Err is the error in the newest version, or nil.
	Err error

	served *version
	claims []mutation.Registration
}

// statusOf returns the status of a unit after a selection.
func statusOf(u *unit) Status {
	status := Status{Source: u.source, State: StateValid, served: u.served}
	documents := documentsIn(u.newest.file)
	if len(documents) == 0 && u.good != nil {
		documents = documentsIn(u.good.file)
	}
	for _, d := range documents {
		if d.Metadata.Name != "" {
			status.Profiles = append(status.Profiles, d.Metadata.Name)
		}
	}
	switch {
	case u.served == nil:
		status.State, status.Err = StateInvalid, u.newest.err
		for _, d := range documents {
			status.claims = append(status.claims, compiler.Claims(d)...)
		}
	case u.served != u.newest:
		status.State, status.Err = StateLastGood, u.newest.err
	}
	return status
}

// name returns the names of the profiles in the file, or its source.
func (s *Status) name() string {
	if len(s.Profiles) == 0 {
		return s.Source
	}
	return strings.Join(s.Profiles, "+")
}

// maxFindings limits the findings in a message to a client of the API server; the log has all.
const maxFindings = 3

// reason returns the message for denied objects of an invalid profile.
func (s *Status) reason() string {
	return fmt.Sprintf("the profile %s is invalid and has no earlier valid version; fix it: %s", s.name(), s.findings())
}

// findings returns the first findings in one line, and the number of the others.
func (s *Status) findings() string {
	lines := findingLines(s.Err)
	if len(lines) == 0 {
		lines = []string{s.Err.Error()}
	}
	if more := len(lines) - maxFindings; more > 0 {
		lines = append(lines[:maxFindings:maxFindings], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}

// findingLines returns the findings in an error as lines.
func findingLines(err error) []string {
	var findings source.Findings
	errors.As(err, &findings)
	lines := make([]string, len(findings))
	for i, finding := range findings {
		lines[i] = finding.Error()
	}
	return lines
}

// problems joins the errors of the newest versions, each once.
func problems(statuses []Status) error {
	var findings source.Findings
	var others []error
	for i := range statuses {
		var own source.Findings
		switch err := statuses[i].Err; {
		case err == nil:
		case errors.As(err, &own):
			for _, finding := range own {
				if !slices.ContainsFunc(findings, func(f source.Finding) bool { return f.Error() == finding.Error() }) {
					findings = append(findings, finding)
				}
			}
		case !slices.ContainsFunc(others, func(other error) bool { return other.Error() == err.Error() }):
			others = append(others, err)
		}
	}
	return errors.Join(append(others, findings.Err())...)
}
