// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// embeddedDocument defines the operation that edits a document inside the object.
func embeddedDocument() Definition {
	return Definition{
		Name: "document",
		Summary: "edits YAML or JSON that stands in a field of the object (at: a path as in fields) or in a file of the node (file: its path): sets and " +
			"removes fields by path and appends to lists what they lack; all else stays as it is, comments too. A field that is an object " +
			"itself, such as spec.providerConfig, is a document as well",
		Example: "document: {at: 'data[\"config.yaml\"]', set: {leaderElection.leaderElect: true}, append: {targetClientConnection.namespaces: [monitoring]}}",
		Examples: []string{
			"document: {at: 'data[\"config.json\"]', format: json, encoding: b64, remove: ['rules[name=old]']}",
			"document: {file: /etc/containerd/options.yaml, set: {log.level: \"${ pool.name }\"}}",
		},
		Arguments: []Argument{
			{Name: "at", Type: fixedText, Summary: "the path of the field; one of at and file is needed"},
			{Name: "file", Type: fixedText, Summary: "absolute path of the file on the node"},
			{Name: "format", Type: oneOfTexts("yaml", "json"), Summary: "what a text is written in; yaml by default"},
			{Name: "encoding", Type: oneOfTexts("plain", "b64"), Summary: "b64 where the field has the text in base64; a file says it itself"},
			{Name: "set", Type: mappingOf(orNull(anyTree)), Summary: "fields to set, by path; mappings are merged, and null removes"},
			{Name: "append", Type: mappingOf(computed(listOf(anyTree))), Summary: "required items by the path of the list; missing ones are appended"},
			{Name: "remove", Type: names, Summary: "paths of fields and of items of lists to remove"},
		},
		Parts:   target.Metadata,
		Compile: compileDocument,
	}
}

// documentArguments are the arguments of document.
type documentArguments struct {
	At       source.Node   `json:"at"`
	File     source.Node   `json:"file"`
	Format   string        `json:"format"`
	Encoding string        `json:"encoding"`
	Set      source.Node   `json:"set"`
	Append   source.Node   `json:"append"`
	Remove   []source.Node `json:"remove"`
}

func compileDocument(c *Context, arguments source.Node, at string) ([]Write, source.Findings) {
	var a documentArguments
	findings := source.Decode(arguments, at, &a)
	if a.Format != "" && !slices.Contains([]string{"yaml", "json"}, a.Format) {
		findings = append(findings, arguments.Finding(at+".format", "must be yaml or json, is %q", a.Format).Of(source.WrongValue))
	}
	if a.Encoding != "" && !slices.Contains([]string{"plain", "b64"}, a.Encoding) {
		findings = append(findings, arguments.Finding(at+".encoding", "must be plain or b64, is %q", a.Encoding).Of(source.WrongValue))
	}
	place, problems := compileDocumentPlace(c, a, arguments, at)
	if findings = append(findings, problems...); len(findings) > 0 {
		return nil, findings
	}
	f := fieldCompiler{
		context: c, place: Place{Kind: DocumentField, Container: place.name},
		apply: func(p fieldPath) func(*target.Object, Resolved) error {
			return place.edit(p, func(e *embedded, v Resolved) error {
				if v.Absent {
					return e.remove(p)
				}
				return e.merge(p, v.JSON)
			})
		},
		trace: place.trace,
		appendTo: func(p fieldPath, several bool) func(*target.Object, Resolved) error {
			return place.edit(p, func(e *embedded, v Resolved) error { return e.add(p, v.JSON, several) })
		},
	}
	return f.compile(arguments, at, fieldEdits{Set: a.Set, Append: a.Append, Remove: a.Remove})
}

func compileDocumentPlace(c *Context, a documentArguments, arguments source.Node, at string) (documentPlace, source.Findings) {
	place := documentPlace{format: a.Format, encoding: a.Encoding}
	switch {
	case a.At.Absent() == a.File.Absent():
		return place, source.Findings{arguments.Finding(at, "exactly one of at and file is needed").Of(source.ExclusiveFields)}
	case !a.File.Absent():
		place.name, place.file = a.File.Value, a.File.Value
		if problem := checkDocumentFile(c, a); problem != "" {
			return place, source.Findings{a.File.Finding(at+".file", "%s", problem).Of(WrongPath)}
		}
		return place, nil
	}
	problem := checkName(a.At.Value)
	field, err := parsePath(a.At.Value)
	switch {
	case problem != "":
	case a.At.Kind != yaml.ScalarNode || err != nil:
		problem = fmt.Sprintf("is no path of a field: %v", err)
	default:
		place.name, place.field = field.String(), field
		problem = checkDocumentField(c.Target, field)
	}
	if problem != "" {
		return place, source.Findings{a.At.Finding(at+".at", "%s", problem).Of(WrongPath)}
	}
	return place, nil
}

func checkDocumentFile(c *Context, a documentArguments) string {
	switch name := a.File.Value; {
	case !c.Target.Has(target.Files):
		return "only the target node has files"
	case checkName(name) != "":
		return checkName(name)
	case !path.IsAbs(name) || path.Clean(name) != name:
		return "must be an absolute path without . and .."
	case name == target.KubeletConfigurationPath:
		return "the kubelet's configuration is edited with configuration and featureGates on the target kubelet"
	case a.Encoding != "":
		return "a file says itself how it is encoded; leave encoding out"
	}
	return ""
}

// checkDocumentField returns the operation to use instead for a field; the provider's configuration is a document.
func checkDocumentField(t *target.Target, field fieldPath) string {
	problem := checkOwner(t, field, false)
	switch {
	case problem == "" || t.Has(target.NodeSpec) && field.String() == "spec.providerConfig":
		return ""
	case t.Has(target.Files) && field[0].Key == "spec" && len(field) > 1 && field[1].Key == "files":
		return "a document in a file of the node is named by file"
	}
	return problem
}
