// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Report is the result of lint.
type Report struct {
	// Findings are sorted by place.
	Findings source.Findings
	// Documents counts the checked documents, and Files their files.
	Documents, Files int

	// LeftOut are files that were found in folders and not looked at, by the reason why.
	LeftOut map[string][]string

	texts map[string]*text
}

// The reasons why files are left out.
const (
	notNamedYAML = "not .yaml or .yml"
	notOurs      = "no document of Graft"
)

// Count counts the findings of a severity.
func (r *Report) Count(s source.Severity) int {
	return len(slices.DeleteFunc(slices.Clone(r.Findings), func(f source.Finding) bool { return f.Severity != s }))
}

// Fixable counts the findings that can be fixed.
func (r *Report) Fixable() int {
	return len(slices.DeleteFunc(slices.Clone(r.Findings), func(f source.Finding) bool { return f.Fix == nil }))
}

// Failed reports whether there is a finding of at least this severity.
func (r *Report) Failed(least source.Severity) bool {
	return slices.ContainsFunc(r.Findings, func(f source.Finding) bool { return f.Severity <= least })
}

// Run checks the documents in files. Where a check panics it does so, too, with a profile.Panic.
func Run(o Options, inputs []Input) *Report {
	r := &Report{texts: map[string]*text{}, LeftOut: map[string][]string{}}
	attached := attachments(inputs)
	var order []string
	sets := map[string]*set{}
	for _, input := range inputs {
		name := input.Name
		if o.Together {
			name = ""
		}
		if sets[name] == nil {
			sets[name] = &set{parts: map[*Kind][]profile.Part{}, known: map[*Kind]source.Findings{}}
			order = append(order, name)
		}
		r.add(sets[name], input)
	}
	found := make([]source.Findings, len(order))
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range order {
		work.Go(func() error {
			var err error
			found[i], err = sets[name].check(o)
			return err
		})
	}
	if err := work.Wait(); err != nil {
		panic(err) // where the caller can recover
	}
	r.LeftOut[notOurs] = slices.DeleteFunc(r.LeftOut[notOurs], func(name string) bool { return attached[filepath.Clean(name)] })
	r.Findings = slices.Concat(found...)
	r.Findings.Sort()
	return r
}

// set are documents that are active together.
type set struct {
	parts map[*Kind][]profile.Part
	// known holds findings about the documents' texts, and other those about documents of other programs.
	known map[*Kind]source.Findings
	other source.Findings
}

// check fails with a profile.Panic only.
func (s *set) check(o Options) (source.Findings, error) {
	findings := s.other
	for i := range kinds {
		k := &kinds[i]
		if len(s.parts[k]) == 0 {
			continue
		}
		found, err := profile.Guard(filesOf(s.parts[k]), func(files []source.File) (source.Findings, error) {
			return k.Check(o, partsOf(files, s.parts[k]), s.known[k]), nil
		})
		if err != nil {
			return nil, err
		}
		findings = append(findings, found...)
	}
	return findings, nil
}

// filesOf returns the files of parts, each once.
func filesOf(parts []profile.Part) []source.File {
	var files []source.File
	for i, part := range parts {
		if i == 0 || part.File.Name != parts[i-1].File.Name {
			files = append(files, part.File)
		}
	}
	return files
}

// partsOf returns the parts in the files.
func partsOf(files []source.File, parts []profile.Part) []profile.Part {
	named := map[string]bool{}
	for _, file := range files {
		named[file.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(parts), func(part profile.Part) bool { return !named[part.File.Name] })
}

// add sorts the documents of a file by their kinds.
func (r *Report) add(s *set, input Input) {
	switch {
	case input.Unread:
		r.LeftOut[notNamedYAML] = append(r.LeftOut[notNamedYAML], input.Name)
		return
	case input.Found && !mentionsUs(input.Data):
		r.LeftOut[notOurs] = append(r.LeftOut[notOurs], input.Name)
		return
	}
	parts, problems := profile.Parse(input.File)
	var first *Kind
	documents := r.Documents
	for _, part := range parts {
		kind := kindOf(part.Node)
		switch {
		case input.Found && !ours(valueOf(part.Node, "apiVersion")):
			continue
		case kind == nil:
			s.other = append(s.other, unknown(part.Node))
		default:
			if !kind.Heads && valueOf(part.Node, "kind") != kind.Kind {
				s.other = append(s.other, unknown(part.Node))
			}
			s.parts[kind] = append(s.parts[kind], part)
		}
		if r.Documents++; first == nil {
			first = kind
		}
	}
	if input.Found && len(parts) > 0 && r.Documents == documents {
		r.LeftOut[notOurs] = append(r.LeftOut[notOurs], input.Name)
		return
	}
	r.Files++
	r.texts[input.Name] = newText(input.Data)
	if first == nil {
		s.other = append(s.other, problems...)
		return
	}
	s.known[first] = append(s.known[first], problems...)
}

// attachments returns the files that documents of other files use.
func attachments(inputs []Input) map[string]bool {
	attached := map[string]bool{}
	for _, input := range inputs {
		for name := range input.Attachments {
			attached[filepath.Join(filepath.Dir(input.Name), filepath.FromSlash(name))] = true
		}
	}
	return attached
}

// mentionsUs reports whether a file may contain a document of Graft.
func mentionsUs(data []byte) bool {
	return slices.ContainsFunc(groups(), func(group string) bool { return bytes.Contains(data, []byte(group)) })
}
