// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Options are the settings of an installation for its documents.
type Options struct {
	Generation contract.Generation
	// Kubernetes restricts the served versions; nil means all known ones.
	Kubernetes     *semver.Constraints
	ImageOverwrite *image.Vector
	// Override sets parameters; nil for none.
	Override func([]*profile.Document) error
	// Together says that the documents of all files are active together; else those of a file are.
	Together bool
}

// Kind is a kind of document.
type Kind struct {
	APIVersion, Kind string
	// Heads says that the check judges the kind itself, where another one is written that is near.
	Heads bool
	// Check returns the known and all further findings of documents that are active together.
	Check func(o Options, parts []profile.Part, known source.Findings) source.Findings
}

// kinds are the kinds of documents, one a line.
var kinds = []Kind{
	providerProfile,
	networkProfile,
	interpreterProfile,
	providerProfileTest,
	interpreterProfileTest,
	controllerConfiguration,
	networkProviderConfiguration,
	resourceInterpreterConfiguration,
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
func kindOf(n source.Node) *Kind {
	apiVersion, name := valueOf(n, "apiVersion"), valueOf(n, "kind")
	meant := func(k Kind) bool { return k.Kind == name || name == "" && k.APIVersion == apiVersion }
	if i := slices.IndexFunc(kinds, meant); i >= 0 {
		return &kinds[i]
	}
	near := func(k Kind) bool { return strings.Contains(source.Suggest(name, Kinds()), strconv.Quote(k.Kind)) }
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
	return slices.ContainsFunc(groups(), func(group string) bool { return strings.HasPrefix(apiVersion, group) })
}

// groups returns the groups of the kinds, each with a trailing slash.
func groups() []string {
	var found []string
	for _, kind := range kinds {
		group, _, _ := strings.Cut(kind.APIVersion, "/")
		found = append(found, group+"/")
	}
	return found
}

// unknown returns the finding about a document of an unknown kind.
func unknown(n source.Node) source.Finding {
	apiVersion, kind := valueOf(n, "apiVersion"), n.Get("kind")
	switch {
	case len(n.Fields()) == 0:
		return n.Finding("", "is no document: apiVersion and kind say what one is, such as apiVersion: %s and kind: %s",
			kinds[0].APIVersion, kinds[0].Kind).Of(source.UnknownKind)
	case kind.Absent():
		return n.Finding("kind", "is missing: must be one of %s", strings.Join(Kinds(), ", ")).Of(source.UnknownKind)
	}
	of := ""
	if !ours(apiVersion) {
		if source.Suggest(kind.Value, Kinds()) == "" {
			return kind.Finding("kind", "%s is none of Graft's documents; those are %s; other documents in folders are ignored",
				named(kind.Value, apiVersion), strings.Join(Kinds(), ", ")).Of(source.UnknownKind)
		}
		of = fmt.Sprintf(" of %q", apiVersion)
	}
	return kind.Finding("kind", "unknown kind %q%s%s: must be one of %s", kind.Value, of, source.Suggest(kind.Value, Kinds()), strings.Join(Kinds(), ", ")).
		Of(source.UnknownKind).Instead(kind, Kinds())
}

// named returns the name of a kind with its group and version, if any.
func named(kind, apiVersion string) string {
	if apiVersion == "" {
		return kind + " without an apiVersion"
	}
	return kind + " of " + apiVersion
}
