// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// versions validates the constraints on the versions of Kubernetes and Gardener.
func (v *validator) versions() {
	for field, text := range map[string]string{"kubernetes": v.document.Kubernetes, "gardener": v.document.Gardener} {
		if _, err := semver.NewConstraint(text); text != "" && err != nil {
			v.add(source.WrongValue, field, "%q is not a version constraint, such as \">= 1.31\" or \">= 1.31, < 1.35\"", text)
		}
	}
}

// Supports reports whether the profile supports shoots of a Kubernetes version, such as 1.34.2 or 1.34.
// Suffixes after - or + are ignored, as in satisfies. An invalid version is supported only by a profile without
// a constraint.
func (d *Document) Supports(version string) bool {
	if d.Kubernetes == "" {
		return true
	}
	constraint, err := semver.NewConstraint(d.Kubernetes)
	if err != nil {
		return false
	}
	parsed, err := semver.NewVersion(version)
	if err != nil {
		return false
	}
	return constraint.Check(semver.New(parsed.Major(), parsed.Minor(), parsed.Patch(), "", ""))
}

// imageVector validates the path of the image vector. The file itself is read when the profile is compiled.
func (v *validator) imageVector() {
	path := v.document.ImageVector
	if path.At.Absent() || path.At.Node == nil {
		return
	}
	if !fs.ValidPath(path.Value) || path.Value == "." {
		v.add(source.InvalidName, "imageVector", "%q is not the path of a file next to the profile, such as images.yaml", path.Value)
	}
}

// head matches the keys apiVersion and kind, at the begin of a line or in a flow mapping.
var head = regexp.MustCompile(`(?m)(?:^|[{,])[ \t]*["']?(?:apiVersion|kind)["']?[ \t]*:`)

// IsOther reports whether a file has valid YAML documents, but none for the programs that load profiles: documents
// without apiVersion and kind, of other projects, and tables of tests. A profile with a mistake in its head, or one that
// is being written, is not such a file. Neither is an object that contains a profile, such as its ConfigMap: in place of
// the profile, it would remove the rules.
func IsOther(file source.File) bool {
	contains := bytes.Contains(file.Data, []byte(v1alpha1.GroupVersion.String()))
	foreign := func(n source.Node) bool { return isForeign(n, contains) }
	if !head.Match(file.Data) {
		foreign = func(source.Node) bool { return true }
	}
	other, _, _ := attempt([]source.File{file}, func(files []source.File) (bool, error) {
		nodes, findings := source.Parse(files[0])
		mayBeProfile := slices.ContainsFunc(nodes, func(n source.Node) bool { return !foreign(n) })
		return len(nodes) > 0 && len(findings) == 0 && !mayBeProfile, nil
	}) // a panic is reported when the file is loaded
	return other
}

// isForeign reports whether a document with apiVersion and kind is a table of tests, or of another project: neither the
// apiVersion nor the kind resembles those of profiles. No document of a file that contains profiles as text is one of
// another project.
func isForeign(n source.Node, contains bool) bool {
	apiVersion, kind := n.Get("apiVersion"), n.Get("kind")
	if apiVersion.Absent() || kind.Absent() {
		return false
	}
	if strings.Contains(apiVersion.Value, "graft") {
		return kind.Value == v1alpha1.KindProviderProfileTest || kind.Value == v1alpha1.KindInterpreterProfileTest
	}
	profiles := []string{v1alpha1.KindProviderProfile, v1alpha1.KindNetworkProfile, v1alpha1.KindInterpreterProfile}
	return !contains && !slices.Contains(profiles, kind.Value) && source.Suggest(kind.Value, profiles) == ""
}

// topLevel matches the begin of a top-level field.
var topLevel = regexp.MustCompile(`(?m)^[A-Za-z]`)

// maxBeginnings limits the attempts of Beginning.
const maxBeginnings = 16

// ParseBeginning returns the profiles in the longest valid part at the begin of a file that names the providers of a
// profile. It is for files that cannot be parsed. The profiles are incomplete and must not become active.
func ParseBeginning(file source.File) []*Document {
	starts := topLevel.FindAllIndex(file.Data, -1)
	for i := len(starts) - 1; i > 0 && i >= len(starts)-maxBeginnings; i-- {
		cut := source.File{Name: file.Name, Data: file.Data[:starts[i][0]]}
		documents, _, _ := attempt([]source.File{cut}, func(files []source.File) ([]*Document, error) {
			documents, _ := Load(files...)
			return documents, nil
		}) // a panic is reported when the file is loaded
		documents = slices.DeleteFunc(documents, func(d *Document) bool { return len(d.Providers) == 0 })
		if len(documents) > 0 {
			return documents
		}
	}
	return nil
}
