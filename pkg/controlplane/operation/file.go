// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"encoding/base64"
	"fmt"
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// file writes a file of the node, or removes one.
func file() Definition {
	return Definition{
		Name: "file",
		Summary: "writes or removes a file of the node; the content comes from the profile (content), a file next to it (contentFrom), " +
			"a Secret (secretRef) or an image (imageRef); ifAbsent keeps an existing file",
		Example: "file: {path: /opt/bin/hello.sh, permissions: 0755, content: \"#!/bin/sh\\necho ${ shoot.region }\\n\"}",
		Examples: []string{
			"file: {path: /opt/bin/hello.sh, permissions: \"0700\", encoding: b64, transmitUnencoded: true, contentFrom: files/hello.sh}",
			"file: {path: /etc/cloud.conf, ifAbsent: true, secretRef: {name: cloudprovider, dataKey: cloud.conf}}",
			"file: {path: /opt/bin/tool, imageRef: {image: registry.example.com/tool:v1, filePathInImage: /tool}}",
			"file: {path: /etc/old.conf, remove: true}",
		},
		Arguments: []Argument{
			{Name: "path", Type: fixedText, Required: true, Summary: "absolute path on the node"},
			{Name: "permissions", Type: Type{Form: Octal}, Summary: "the mode in octal digits, such as 0755"},
			{Name: "content", Type: longText, Summary: "the content"},
			{Name: "contentFrom", Type: fixedText, Summary: "a file next to the profile with the content; ${ } in it is not evaluated"},
			{Name: "encoding", Type: oneOfTexts("", "b64"), Summary: "b64 writes the content as base64 into the OperatingSystemConfig"},
			{Name: "secretRef", Summary: "the Secret in the shoot's namespace with the content", Type: members(
				Argument{Name: "name", Type: anyText, Required: true, Summary: "the Secret"},
				Argument{Name: "dataKey", Type: anyText, Required: true, Summary: "the key in its data"},
			)},
			{Name: "imageRef", Summary: "the container image that contains the file", Type: members(
				Argument{Name: "image", Type: anyText, Required: true, Summary: "the image"},
				Argument{Name: "filePathInImage", Type: anyText, Required: true, Summary: "the path in the image"},
			)},
			{Name: "transmitUnencoded", Type: computed(boolean), Summary: "whether the content is sent without encoding, so that it can be changed before it reaches the node"},
			{Name: "ifAbsent", Type: boolean, Summary: "whether an existing file is kept"},
			{Name: "remove", Type: boolean, Summary: "whether the file is removed"},
		},
		Parts:   target.Files,
		compile: compileFile,
	}
}

func compileFile(c *Context, arguments source.Node, at string) ([]Write, source.Findings) {
	var findings source.Findings
	name, encoding := textOf(arguments.Get("path")), textOf(arguments.Get("encoding"))
	if !path.IsAbs(name) || path.Clean(name) != name {
		findings = append(findings, memberOr(arguments, "path").Finding(at+".path", "must be an absolute path without . and ..").Of(source.WrongValue))
	}
	if name == target.KubeletConfigurationPath {
		findings = append(findings, memberOr(arguments, "path").
			Finding(at+".path", "the kubelet's configuration is edited with configuration and featureGates on the target kubelet").
			Of(OtherOperation))
	}
	if encoding != "" && encoding != "b64" {
		findings = append(findings, arguments.Get("encoding").Finding(at+".encoding", "must be b64 or empty, is %q", encoding).Of(source.WrongValue))
	}
	write := Write{Place: Place{Kind: File, Name: name}, At: arguments, Path: at}
	if isTrue(arguments.Get("remove")) {
		write.Value, write.Apply = Remove(), func(o *target.Object, v Resolved) error { return filePath(name).write(o.Document.Root(), v) }
		return []Write{write}, findings
	}
	fields, problems := compileFileFields(c, arguments, at)
	if findings = append(findings, problems...); len(findings) > 0 {
		return nil, findings
	}
	write.Value, findings = c.Tree(fields, at)
	ifAbsent := isTrue(arguments.Get("ifAbsent"))
	write.Apply = func(o *target.Object, v Resolved) error { return setFile(o, name, encoding, ifAbsent, v.JSON) }
	return []Write{write}, findings
}

// compileFileFields returns the file for an OperatingSystemConfig, as YAML. Its content may still contain expressions.
func compileFileFields(c *Context, arguments source.Node, at string) (source.Node, source.Findings) {
	content, findings := compileFileContent(c, arguments, at)
	fields := mapping(arguments)
	if field := arguments.Get("permissions"); !field.Absent() {
		mode, err := permissions(field)
		if err != nil {
			findings = append(findings, field.Finding(at+".permissions", "%s", err).Of(source.WrongValue))
		}
		add(fields, "permissions", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatUint(mode, 10)})
	}
	if field := arguments.Get("transmitUnencoded"); !field.Absent() {
		findings = append(findings, checkBoolean(field, at+".transmitUnencoded")...)
		add(content, "transmitUnencoded", field.Node)
	}
	add(fields, "content", content)
	return source.Node{Node: fields, File: arguments.File}, findings
}

func compileFileContent(c *Context, arguments source.Node, at string) (*yaml.Node, source.Findings) {
	content, sources := mapping(arguments), 0
	for _, name := range []string{"secretRef", "imageRef"} {
		if reference := arguments.Get(name); !reference.Absent() {
			sources++
			add(content, name, reference.Node)
		}
	}
	text, findings := compileTextOrFile(c, arguments, at)
	if text != nil {
		sources++
		inline := mapping(arguments)
		add(inline, "encoding", textAt(arguments, textOf(arguments.Get("encoding"))).Node)
		add(inline, "data", text)
		add(content, "inline", inline)
	}
	if sources != 1 && len(findings) == 0 {
		findings = append(findings, arguments.Finding(at, "exactly one of content, contentFrom, secretRef and imageRef is needed").Of(source.ExclusiveFields))
	}
	return content, findings
}

// compileTextOrFile returns the text of content, or the text of the file named by contentFrom, in which ${ } has no
// meaning. It returns nil if neither is set.
func compileTextOrFile(c *Context, arguments source.Node, at string) (*yaml.Node, source.Findings) {
	content, contentFrom := arguments.Get("content"), arguments.Get("contentFrom")
	switch {
	case !content.Absent() && !contentFrom.Absent():
		return nil, source.Findings{contentFrom.Finding(at+".contentFrom", "content is given too").Of(source.ExclusiveFields)}
	case !content.Absent():
		if content.Kind != yaml.ScalarNode || content.Tag != "!!str" {
			return nil, source.Findings{content.Finding(at+".content", "must be a string").Of(source.WrongType)}
		}
		return content.Node, nil
	case contentFrom.Absent():
		return nil, nil
	}
	if why, refused := c.Refused[contentFrom.Value]; refused {
		return nil, source.Findings{contentFrom.Finding(at+".contentFrom", "%s", why).Of(source.MissingFile)}
	}
	data, ok := c.Files[contentFrom.Value]
	if !ok {
		return nil, source.Findings{contentFrom.Finding(at+".contentFrom", "there is no file %q next to the profile", contentFrom.Value).Of(source.MissingFile)}
	}
	return textAt(contentFrom, literal(string(data))).Node, nil
}

// permissions reads 0755, as a number or in quotes.
func permissions(n source.Node) (uint64, error) {
	mode, err := strconv.ParseUint(n.Value, 8, 12)
	if n.Kind != yaml.ScalarNode || err != nil {
		return 0, fmt.Errorf("must be octal digits such as 0755, is %q", n.Value)
	}
	return mode, nil
}

// checkBoolean reports a value that is neither a boolean nor an expression.
func checkBoolean(n source.Node, at string) source.Findings {
	if n.Absent() || n.Tag == "!!bool" || (n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${")) {
		return nil
	}
	return source.Findings{n.Finding(at, "must be true or false").Of(source.WrongType)}
}

// textAt returns a string that has the position of another value.
func textAt(at source.Node, text string) source.Node {
	return source.Node{Node: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: at.Line, Column: at.Column}, File: at.File}
}

// mapping returns an empty mapping that has the position of another value.
func mapping(at source.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: at.Line, Column: at.Column}
}

// add appends a member to a mapping.
func add(to *yaml.Node, key string, value *yaml.Node) {
	to.Content = append(to.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}

// setFile writes the file; raw is the file without its path, its content as plain text.
func setFile(o *target.Object, name, encoding string, ifAbsent bool, raw []byte) error {
	root := o.Document.Root()
	present := o.File(name)
	if present != nil && ifAbsent {
		return nil
	}
	wanted, err := document.Parse(raw)
	if err != nil {
		return err
	}
	defer wanted.Release()
	inline := wanted.Root().Find("content", "inline")
	if data := inline.Get("data"); data.Kind() == document.String && encoding == "b64" {
		text, _ := data.Text()
		if _, err := inline.Set("data", document.Quote(base64.StdEncoding.EncodeToString([]byte(text)))); err != nil {
			return err
		}
	}
	for _, kind := range []string{"inline", "secretRef", "imageRef", "transmitUnencoded"} {
		if present != nil && wanted.Root().Find("content", kind) == nil {
			present.Get("content").Remove(kind)
		}
	}
	return filePath(name).mergeNode(root, wanted.Root())
}

// filePath returns the path of a file in an OperatingSystemConfig.
func filePath(path string) fieldPath { return pathOf("spec", "files").item("path", path) }
