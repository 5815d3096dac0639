// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden/comparison"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
)

// The forms of what is held: the readable difference, the objects that changed in one file, or in a folder.
const (
	diffForm   = "diff"
	yamlForm   = "yaml"
	folderForm = "folder"
)

// held is a golden file or folder.
type held struct{ form, path string }

func (tr *trial) hold(form, path string) { tr.holds = append(tr.holds, held{form, path}) }

// hold compares a golden file, or those of a folder, with what was got.
func (r *run) hold(ctx context.Context, h held) ([]golden.Golden, error) {
	if h.form == folderForm {
		return r.holdFolder(h.path)
	}
	if h.form == diffForm {
		text, err := r.diff(ctx)
		if err != nil {
			return nil, err
		}
		g, err := golden.Hold(h.path, []byte(text))
		return []golden.Golden{g}, err
	}
	data, err := golden.Read(h.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading a golden file: %w", err)
	}
	g := golden.Golden{Path: h.path, Missing: err != nil}
	err = r.holdObjects(&g, data)
	return []golden.Golden{g}, err
}

// at is the place of a golden file.
func at(path string) source.Position { return source.Position{File: path} }

// nothingChanges is what a golden file of objects says where there are none.
const nothingChanges = "# No object changes.\n"

// holdObjects compares a file with objects: those in it are as they were admitted, and all others stay as they came.
func (r *run) holdObjects(g *golden.Golden, data []byte) error {
	wanted, findings := manifest.Parse(source.File{Name: g.Path, Data: data})
	if err := findings.Err(); err != nil {
		return err
	}
	differences, listed := r.compare(wanted)
	for _, o := range r.objects {
		if o.denied == nil && o.changed() && !listed[o] {
			differences, listed[o] = append(differences, "+ "+o.String()+" changes, and is not in the file\n"), true
		}
	}
	if g.Same = len(differences) == 0 && !g.Missing; g.Same {
		return nil
	}
	var err error
	if g.Got, err = r.yaml(data, listed); err != nil {
		return err
	}
	if g.Failure = golden.Missing(g.Path); !g.Missing {
		g.Failure = golden.Failure{At: at(g.Path), Message: golden.Differs, Diff: strings.Join(differences, "")}
	}
	return nil
}

// compare says how the objects differ from those that were got, and which are meant by them.
func (r *run) compare(wanted []manifest.Object) ([]string, map[*object]bool) {
	var differences []string
	listed := map[*object]bool{}
	for _, want := range wanted {
		o := r.find(want)
		switch {
		case o == nil:
			differences = append(differences, "- "+want.String()+" is not there\n")
		case o.denied != nil:
			differences = append(differences, "- "+want.String()+" is denied: "+o.reason()+"\n")
		default:
			listed[o] = true
			if !sameJSON(want.JSON, o.result) {
				text := lineDiff(want.JSON, o.result)
				if text == "" {
					text = "  differs in the order of members, or in what only the API server writes\n"
				}
				differences = append(differences, "  "+want.String()+"\n"+indented(text))
			}
		}
	}
	return differences, listed
}

func indented(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(line[:2] + "  " + line[2:])
	}
	return out.String()
}

func (r *run) find(want manifest.Object) *object {
	for _, o := range r.objects {
		if o.Kind == want.Kind && o.Group() == want.Group() && o.Name == want.Name && (want.Namespace == "" || want.Namespace == o.Namespace) {
			return o
		}
	}
	return nil
}

func sameJSON(a, b []byte) bool {
	var one, other any
	return json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &other) == nil && comparison.Equal(one, other)
}

// yaml are the listed objects as one file, below the comment with which the file began.
func (r *run) yaml(before []byte, listed map[*object]bool) ([]byte, error) {
	var out bytes.Buffer
	for line := range bytes.Lines(before) {
		if line[0] != '#' && line[0] != '\n' || bytes.HasPrefix(line, []byte(nothingChanges)) {
			break
		}
		out.Write(line)
	}
	head := out.Len()
	for _, o := range r.objects {
		if !listed[o] {
			continue
		}
		text, err := yaml.JSONToYAML(o.result)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", o, err)
		}
		if out.Len() > head {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	if out.Len() == head {
		out.WriteString(nothingChanges)
	}
	return out.Bytes(), nil
}

// holdFolder compares the files of a folder, each of which has some of the objects. A changed object that is in none gets a file.
func (r *run) holdFolder(folder string) ([]golden.Golden, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("reading golden files: %w", err)
	}
	var goldens []golden.Golden
	known := map[*object]bool{}
	for _, entry := range entries {
		if entry.IsDir() || strings.HasPrefix(entry.Name(), ".") || filepath.Ext(entry.Name()) != yamlSuffix {
			continue
		}
		g := golden.Golden{Path: filepath.Join(folder, entry.Name())}
		data, err := golden.Read(g.Path)
		if err != nil {
			return nil, fmt.Errorf("reading a golden file: %w", err)
		}
		wanted, findings := manifest.Parse(source.File{Name: g.Path, Data: data})
		if err := findings.Err(); err != nil {
			return nil, err
		}
		differences, listed := r.compare(wanted)
		for o := range listed {
			known[o] = true
		}
		if g.Same = len(differences) == 0; !g.Same {
			g.Failure = golden.Failure{At: at(g.Path), Message: golden.Differs, Diff: strings.Join(differences, "")}
			if len(listed) > 0 {
				if g.Got, err = r.yaml(data, listed); err != nil {
					return nil, err
				}
			}
		}
		goldens = append(goldens, g)
	}
	for _, o := range r.objects {
		if o.denied != nil || !o.changed() || known[o] {
			continue
		}
		g := golden.Golden{Path: filepath.Join(folder, golden.Slug(strings.ToLower(o.Kind)+"-"+o.Name)+yamlSuffix), Missing: true}
		g.Failure = golden.Missing(g.Path)
		if g.Got, err = r.yaml(nil, map[*object]bool{o: true}); err != nil {
			return nil, err
		}
		goldens = append(goldens, g)
	}
	return goldens, nil
}

// diff is what became of the objects, those that stayed as they were left out. Where the same becomes of several of a kind, it is
// written once, below all their names.
func (r *run) diff(ctx context.Context) (string, error) {
	type key struct{ kind, text string }
	var order []key
	names := map[key][]string{}
	for _, o := range r.objects {
		var text string
		if o.denied != nil {
			text = "  denied: " + string(o.denied.Reason) + "\n"
		} else {
			change, err := o.change(ctx)
			if err != nil {
				return "", err
			}
			if text = sections(render.Sections(change.Edits(), 1), true); text == "" {
				continue
			}
		}
		k := key{o.Kind, text}
		if names[k] == nil {
			order = append(order, k)
		}
		names[k] = append(names[k], o.String()+"\n")
	}
	if len(order) == 0 {
		return "no object changes\n", nil
	}
	blocks := make([]string, len(order))
	for i, k := range order {
		blocks[i] = strings.Join(names[k], "") + k.text
	}
	return strings.Join(blocks, "\n"), nil
}
