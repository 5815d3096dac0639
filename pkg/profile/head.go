// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"io/fs"
	"regexp"
	"slices"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// versions checks the constraints on the versions of Kubernetes and Gardener that the profile supports.
func (v *validator) versions() {
	for field, text := range map[string]string{"kubernetes": v.document.Kubernetes, "gardener": v.document.Gardener} {
		if _, err := semver.NewConstraint(text); text != "" && err != nil {
			v.add(source.WrongValue, field, "%q is no constraint on versions, such as \">= 1.31\" or \">= 1.31, < 1.35\"", text)
		}
	}
}

// Supports says whether the profile is for shoots of this version of Kubernetes, such as 1.34.2 or 1.34. What follows a - or a +
// does not count, as in satisfies; what is no version is supported by a profile without a constraint only.
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

// imageVector checks the path of the image vector; whether the file is there and what it says is found when the profile is compiled.
func (v *validator) imageVector() {
	path := v.document.ImageVector
	if path.At.Absent() || path.At.Node == nil {
		return
	}
	if !fs.ValidPath(path.Value) || path.Value == "." {
		v.add(source.InvalidName, "imageVector", "%q is no path of a file beside the profile, such as images.yaml", path.Value)
	}
}

// head is a key by which a document says what it is, at the beginning of a line or in a mapping that is written in braces.
var head = regexp.MustCompile(`(?m)(?:^|[{,])[ \t]*["']?(?:apiVersion|kind)["']?[ \t]*:`)

// IsOther says whether a file holds documents, and none that says by apiVersion or kind what it is: it is no profile, not even one with a
// mistake in its head, or one that is just being written.
func IsOther(file source.File) bool {
	if head.Match(file.Data) {
		return false
	}
	other, _, _ := attempt([]source.File{file}, func(files []source.File) (bool, error) {
		nodes, findings := source.Parse(files[0])
		return len(nodes) > 0 && len(findings) == 0, nil
	}) // a panic is told when the file is loaded
	return other
}

// topLevel is the beginning of a field of a document itself.
var topLevel = regexp.MustCompile(`(?m)^[A-Za-z]`)

// maxBeginnings bounds how many beginnings of a file Beginning reads.
const maxBeginnings = 16

// Beginning returns the profiles in the longest beginning of a file that is YAML and names the providers of a profile. It is for a file that
// cannot be parsed: what follows the first mistake is not read, so that its profiles must not be put in force.
func Beginning(file source.File) []*Document {
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
