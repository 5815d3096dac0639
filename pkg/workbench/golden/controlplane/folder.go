// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// The names of further files and folders of a case.
const (
	presentName = "present"
	oldName     = "old"
	inName      = "in"
	yamlSuffix  = ".yaml"
)

// Folder implements golden.Kind: the case in a folder, once for each version that it names.
func (t *Tester) Folder(path string) (golden.Suite, source.Findings) {
	r := folderReader{tester: t, path: path}
	if r.node, r.findings = golden.ReadCase(path, &r.written); len(r.findings) == 0 {
		r.read()
	}
	return golden.Suite{Cases: r.cases, Held: r.held()}, r.findings
}

type folderReader struct {
	tester   *Tester
	path     string
	node     source.Node
	written  v1alpha1.TestFolder
	cases    []*golden.Case
	findings source.Findings
}

func (r *folderReader) add(err error) {
	r.findings = append(r.findings, source.FindingsOf(source.Node{File: r.path}, "", err)...)
}

func (r *folderReader) read() {
	s := layer(r.node)
	versions, findings := s.versions(nil)
	expected, more := compileExpectations(r.written.Expect, "expect", readProfiles(golden.ProfilesFor(r.path, r.written.Profiles, r.tester.profiles)))
	r.findings = append(append(r.findings, findings...), more...)
	cluster, in := r.manifests("cluster"), r.manifests(inName)
	present, old := r.manifests(presentName), r.manifests(oldName)
	if len(r.findings) > 0 {
		return
	}
	for _, version := range versions {
		tr := &trial{setting: s, parameters: s.Parameters, at: r.node.Position(), expected: expected}
		tr.profiles = golden.ProfilesFor(r.path, r.written.Profiles, r.tester.profiles)
		tr.input.Present = present
		if findings := tr.set(r.node, version, ""); len(findings) > 0 {
			r.findings = append(r.findings, findings...)
			return
		}
		tr.input.Objects = append(append(tr.input.Objects, cluster...), in...)
		tr.input.Old = old
		title := ""
		if len(versions) > 1 {
			title = version
		}
		c := &golden.Case{
			Suite: filepath.Dir(r.path), Name: join(", ", filepath.Base(r.path), title), Position: r.node.Position(), Test: tr,
		}
		c.Goldens = r.goldens(tr, title)
		r.cases = append(r.cases, c)
	}
}

// manifests are the objects of a file or folder of the case; none where there is neither.
func (r *folderReader) manifests(name string) []manifest.Object {
	var all []manifest.Object
	for _, path := range []string{filepath.Join(r.path, name+yamlSuffix), filepath.Join(r.path, name)} {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		objects, err := manifest.ReadWith(path, golden.Read)
		if err != nil {
			r.add(err)
		}
		all = append(all, objects...)
	}
	return all
}

// goldens are what a version holds: want.diff, want.yaml and want/, those that are there; with several versions, each has its own,
// such as want.1.34.2.diff. Where nothing is there and nothing else is expected, it is the readable difference.
func (r *folderReader) goldens(tr *trial, version string) []string {
	var paths []string
	for _, form := range []string{diffForm, yamlForm} {
		path := filepath.Join(r.path, join(".", "want", version)+"."+form)
		if _, err := os.Stat(path); err == nil {
			tr.hold(form, path)
			paths = append(paths, path)
		}
	}
	folder := filepath.Join(r.path, golden.WantFolder)
	if info, err := os.Stat(folder); err == nil && info.IsDir() && version == "" {
		tr.hold(folderForm, folder)
	} else if len(paths) == 0 && len(r.written.Expect) == 0 {
		path := filepath.Join(r.path, join(".", "want", version)+"."+diffForm)
		tr.hold(diffForm, path)
		paths = append(paths, path)
	}
	return paths
}

// held are the golden files that are there but those of want/, which are known when the objects are.
func (r *folderReader) held() []string {
	entries, err := os.ReadDir(r.path)
	if err != nil {
		r.add(err)
	}
	var held []string
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, "want.") && (strings.HasSuffix(name, "."+diffForm) || strings.HasSuffix(name, "."+yamlForm)) {
			held = append(held, filepath.Join(r.path, name))
		}
	}
	return held
}
