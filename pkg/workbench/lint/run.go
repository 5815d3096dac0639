// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package lint finds all mistakes in documents for Graft, shows their positions, and fixes unambiguous ones. Kinds of
// documents are a registry (kind.go): each provides the checks of its loader, and lint adds none.
// Rules have pages (rules.go), which are the source of docs/lint.
//
// It uses no flags and no terminal, and writes only the files to repair. Start reading at Read, Run, Repair and
// Report.Write.
package lint

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/catalog"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/controlplane"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// Report is the result of lint.
type Report struct {
	// Findings are sorted by place.
	Findings source.Findings
	// Documents counts the checked documents, and Files their files.
	Documents, Files int

	// LeftOut are YAML files of folders without a document of Graft.
	LeftOut []string

	texts map[string]*text
}

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

// Run checks the documents in files. If a check panics, Run panics with a profile.Panic.
func Run(o Options, inputs []Input) *Report {
	r := &Report{texts: map[string]*text{}}
	attached := map[string]bool{} // the files that documents of other files use
	folders := map[string]bool{}  // the folders that other commands read as profiles
	var order []string
	sets := map[string]*set{}
	for _, input := range inputs {
		in := filepath.Dir(input.Name)
		for name := range input.Attachments {
			attached[filepath.Join(in, filepath.FromSlash(name))] = true
		}
		folders[in] = folders[in] || bytes.Contains(input.Data, []byte(v1alpha1.GroupVersion.String())) && !profile.IsOther(input.File)
	}
	for _, input := range inputs {
		name := input.Name
		if o.Together {
			name = ""
		}
		if sets[name] == nil {
			sets[name] = &set{map[*DocumentKind][]profile.Part{}, map[*DocumentKind]source.Findings{}}
			order = append(order, name)
		}
		r.add(sets[name], input, folders[filepath.Dir(input.Name)] && !attached[filepath.Clean(input.Name)])
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
	r.LeftOut = slices.DeleteFunc(r.LeftOut, func(name string) bool { return attached[filepath.Clean(name)] })
	r.Findings = slices.Concat(found...)
	r.Findings.Sort()
	return r
}

// set are documents that are active together.
type set struct {
	parts map[*DocumentKind][]profile.Part
	// known holds findings about the documents' texts; those without a kind are about documents of other programs.
	known map[*DocumentKind]source.Findings
}

// check fails with a profile.Panic only.
func (s *set) check(o Options) (source.Findings, error) {
	findings := s.known[nil]
	for i := range kinds {
		k := &kinds[i]
		if len(s.parts[k]) == 0 {
			continue
		}
		found, err := profile.Guard(filesOf(s.parts[k]), func(files []source.File) (source.Findings, error) {
			parts := slices.DeleteFunc(slices.Clone(s.parts[k]), func(part profile.Part) bool {
				return !slices.ContainsFunc(files, func(file source.File) bool { return file.Name == part.File.Name })
			})
			return k.Check(o, parts, s.known[k]), nil
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

// add sorts the documents of a file by their kinds. A file beside a profile must be valid YAML, as in all commands.
func (r *Report) add(s *set, input Input, besideProfile bool) {
	mentioned := func(group string) bool { return bytes.Contains(input.Data, []byte(group)) }
	if input.Found && !slices.ContainsFunc(groups, mentioned) && !besideProfile {
		r.LeftOut = append(r.LeftOut, input.Name)
		return
	}
	parts, problems := profile.Parse(input.File)
	var first *DocumentKind
	documents := r.Documents
	for _, part := range parts {
		kind := kindOf(part.Node)
		if input.Found && !ours(valueOf(part.Node, "apiVersion")) {
			continue
		}
		if kind == nil || !kind.Heads && valueOf(part.Node, "kind") != kind.Kind {
			s.known[nil] = append(s.known[nil], unknown(part.Node))
		}
		if kind != nil {
			s.parts[kind] = append(s.parts[kind], part)
		}
		r.Documents++
		first = cmp.Or(first, kind)
	}
	isValid := len(problems) == 0 || len(parts) > 0 && !besideProfile
	if input.Found && isValid && r.Documents == documents {
		r.LeftOut = append(r.LeftOut, input.Name)
		return
	}
	r.Files++
	r.texts[input.Name] = newText(input.Data)
	s.known[first] = append(s.known[first], problems...)
}

// Input is a file with documents.
type Input struct {
	source.File

	// Found means that the file was found in a folder and may not belong to Graft.
	Found bool
}

// Read reads files, folders with all below them, and the standard input for "-", each once. In folders it takes *.yaml and *.yml; entries that
// begin with a dot are left out. It fails if one of them is unreadable.
func Read(paths []string, stdin io.Reader) ([]Input, error) {
	var inputs []Input
	seen := map[string]bool{}
	for _, path := range paths {
		if path == "-" {
			if seen[path] {
				continue
			}
			seen[path] = true
			data, err := io.ReadAll(io.LimitReader(stdin, maximumSize))
			if err != nil {
				return nil, fmt.Errorf("reading the standard input: %w", err)
			}
			inputs = append(inputs, Input{File: source.File{Name: "stdin", Data: data}})
			continue
		}
		names, err := manifest.Below(path, folder.IsYAML)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, cause(err))
		}
		for _, name := range names {
			if seen[filepath.Clean(name)] {
				continue
			}
			seen[filepath.Clean(name)] = true
			data, err := manifest.ReadAt(path, name, maximumSize)
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", name, cause(err))
			}
			inputs = append(inputs, Input{File: folder.Attach(source.File{Name: name, Data: data}), Found: name != path})
		}
	}
	return inputs, nil
}

// maximumSize limits the size of one file in bytes. Documents of Graft are smaller; other YAML files in a folder may be
// larger.
const maximumSize = 64 << 20

// cause returns an error without the path, which the message already contains.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Options are the settings of an installation for its documents.
type Options struct {
	compiler.Options
	// Override sets parameters; nil for none.
	Override func([]*profile.Document) error
	// Together means that the documents of all files are active together; otherwise those of each file.
	Together bool
}

// DocumentKind is a kind of document.
type DocumentKind struct {
	APIVersion, Kind string
	// Heads means that the check also reports a misspelt kind.
	Heads bool
	// Check returns the known and all further findings of documents that are active together.
	Check func(o Options, parts []profile.Part, known source.Findings) source.Findings
}

// kinds are the kinds of documents.
var kinds = []DocumentKind{
	// Checked as the webhook does when it loads profiles.
	{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindProviderProfile, Heads: true,
		Check: func(o Options, parts []profile.Part, known source.Findings) source.Findings {
			documents, findings := profile.Decode(parts, known)
			if o.Override != nil {
				findings = append(findings, source.FindingsOf(source.Node{}, "", o.Override(documents)).Of(source.WrongValue)...)
			}
			_, problems := compiler.Check(documents, o.Options)
			return append(findings, inBoth(documents, o.Options, problems)...)
		},
	},
	// Checked as graft-network-provider does when it loads profiles, as far as that needs no files of its machine.
	{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindNetworkProfile, Heads: true,
		Check: func(_ Options, parts []profile.Part, known source.Findings) source.Findings {
			documents, findings := profile.DecodeNetworks(parts, known)
			_, problems := policy.Compile(documents)
			problems = append(problems, catalog.Check(policy.Clouds(documents))...)
			return append(findings, problems.Beyond(findings)...)
		},
	},
	// Checked as in graft-resource-interpreter. Kinds that the server only leaves unregistered are errors here.
	{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindInterpreterProfile, Heads: true,
		Check: func(_ Options, parts []profile.Part, known source.Findings) source.Findings {
			documents, findings := profile.DecodeInterpreters(parts, known)
			_, problems := rule.Compile(documents)
			for i := range problems {
				if problems[i].Rule == rule.ComponentsRevised {
					problems[i].Severity = source.Error
				}
			}
			return append(findings, problems.Beyond(findings)...)
		},
	},
	// Tables are checked as graft test does when it reads them.
	{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindProviderProfileTest,
		Check: checkTable(func(table source.Node) source.Findings { return controlplane.New(nil).Table(table).Findings }),
	},
	{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindInterpreterProfileTest,
		Check: checkTable(func(table source.Node) source.Findings { return interpreter.New().Table(table).Findings }),
	},
	// Configurations are checked as the program does when it starts.
	{
		APIVersion: configv1alpha1.GroupVersion.String(), Kind: configv1alpha1.KindControllerConfiguration, Heads: true,
		Check: checkConfiguration(configv1alpha1.DecodeControllerConfiguration),
	},
	{
		APIVersion: configv1alpha1.GroupVersion.String(), Kind: configv1alpha1.KindNetworkProviderConfiguration, Heads: true,
		Check: checkConfiguration(configv1alpha1.DecodeNetworkProviderConfiguration),
	},
	{
		APIVersion: configv1alpha1.GroupVersion.String(), Kind: configv1alpha1.KindResourceInterpreterConfiguration, Heads: true,
		Check: checkConfiguration(decodeInterpreterConfiguration),
	},
}

// Kinds returns the names of the known kinds.
func Kinds() []string {
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.Kind)
	}
	return names
}

// kindOf returns the actual or probable kind of a document, or nil if it is unknown.
func kindOf(n source.Node) *DocumentKind {
	apiVersion, name := valueOf(n, "apiVersion"), valueOf(n, "kind")
	meant := func(k DocumentKind) bool { return k.Kind == name || name == "" && k.APIVersion == apiVersion }
	if i := slices.IndexFunc(kinds, meant); i >= 0 {
		return &kinds[i]
	}
	near := func(k DocumentKind) bool { return strings.Contains(source.Suggest(name, Kinds()), `"`+k.Kind+`"`) }
	if i := slices.IndexFunc(kinds, near); i >= 0 && ours(apiVersion) {
		return &kinds[i]
	}
	return nil
}

// valueOf returns the text of a field, or an empty string.
func valueOf(n source.Node, field string) string {
	if value := n.Get(field); value.Node != nil {
		return value.Value
	}
	return ""
}

// ours reports whether an apiVersion belongs to one of the groups of the kinds.
func ours(apiVersion string) bool {
	return slices.ContainsFunc(groups, func(group string) bool { return strings.HasPrefix(apiVersion, group) })
}

// groups are the groups of the kinds.
var groups = []string{v1alpha1.GroupVersion.Group + "/", configv1alpha1.GroupVersion.Group + "/"}

// unknown returns the finding about a document of an unknown kind.
func unknown(n source.Node) source.Finding {
	apiVersion, kind, known := valueOf(n, "apiVersion"), n.Get("kind"), strings.Join(Kinds(), ", ")
	if len(n.Fields()) == 0 {
		return n.Finding("", "is not a document of Graft: write apiVersion and kind, such as apiVersion: %s and kind: %s",
			kinds[0].APIVersion, kinds[0].Kind).Of(source.UnknownKind)
	}
	if kind.Absent() {
		return n.Finding("kind", "is missing: must be one of %s", known).Of(source.UnknownKind)
	}
	of, similar := "", source.Suggest(kind.Value, Kinds())
	switch {
	case ours(apiVersion):
	case similar != "":
		of = fmt.Sprintf(" of %q", apiVersion)
	default:
		of = " of " + apiVersion
		if apiVersion == "" {
			of = " without an apiVersion"
		}
		return kind.Finding("kind", "%s%s is not a document of Graft; its kinds are %s; other documents in folders are ignored", kind.Value, of, known).
			Of(source.UnknownKind)
	}
	return kind.Finding("kind", "unknown kind %q%s%s: must be one of %s", kind.Value, of, similar, known).Of(source.UnknownKind).Instead(kind, Kinds())
}

// inBoth drops warnings about profiles that name both generations of Gardener if they hold for one of these only.
func inBoth(documents []*profile.Document, o compiler.Options, found source.Findings) source.Findings {
	both := map[string]bool{}
	for _, d := range documents {
		both[d.Node.File] = d.Gardener != "" && contract.Today.For(d.Gardener) && contract.Labelled.For(d.Gardener)
	}
	if o.Generation == contract.Labelled || !slices.ContainsFunc(found, func(f source.Finding) bool { return both[f.File] }) {
		return found
	}
	o.Generation = contract.Labelled
	_, older := compiler.Check(documents, o)
	return slices.DeleteFunc(found, func(f source.Finding) bool {
		return f.Severity == source.Warning && both[f.File] && !slices.ContainsFunc(older, func(other source.Finding) bool {
			return other.Position == f.Position && other.Rule == f.Rule
		})
	})
}

// checkTable checks tables of tests one by one.
func checkTable(read func(source.Node) source.Findings) func(Options, []profile.Part, source.Findings) source.Findings {
	return func(_ Options, parts []profile.Part, known source.Findings) source.Findings {
		findings := known
		for _, part := range parts {
			findings = append(findings, read(part.Node).Of(WrongTest).Beyond(known)...)
		}
		return findings
	}
}

// WrongTest is an invalid table of tests.
const WrongTest source.LintRule = "wrong-test"

// decodeInterpreterConfiguration decodes a configuration, and fails for unknown names of Gardener's optional profiles.
func decodeInterpreterConfiguration(file source.File) (*configv1alpha1.ResourceInterpreterConfiguration, error) {
	config, err := configv1alpha1.DecodeResourceInterpreterConfiguration(file)
	if err != nil {
		return nil, err
	}
	var findings source.Findings
	known := gardener.Optional()
	documents, _ := source.Parse(file)
	for _, document := range documents {
		for i, node := range document.Get("profiles").Get("optional").Items() {
			if name := config.Profiles.Optional[i]; !slices.Contains(known, name) {
				finding := node.Finding(fmt.Sprintf("profiles.optional[%d]", i), "there is no optional profile %q of Gardener%s; there are %s", name,
					source.Suggest(name, known), strings.Join(known, ", "))
				findings = append(findings, finding.Of(source.WrongValue).Instead(node, known))
			}
		}
	}
	return config, findings.Err()
}

// checkConfiguration checks the files of configurations. The decoders also return the known findings.
func checkConfiguration[T any](decode func(source.File) (T, error)) func(Options, []profile.Part, source.Findings) source.Findings {
	return func(_ Options, parts []profile.Part, _ source.Findings) source.Findings {
		var findings source.Findings
		for _, file := range filesOf(parts) {
			_, err := decode(file)
			findings = append(findings, source.FindingsOf(source.Node{File: file.Name}, "", err)...)
		}
		return findings
	}
}
