// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// node compares an OperatingSystemConfig, which is two targets.
func (d *differ) node() {
	node, _ := target.Lookup("node")
	d.owner = node
	d.units()
	d.files()
	d.specFields("cri", "criConfig")
	d.specFields("providerConfig", "providerConfig")
}

// kubelet runs something for the other target.
func (d *differ) kubelet(do func()) {
	node := d.owner
	d.owner, _ = target.Lookup("kubelet")
	do()
	d.owner = node
}

// specFields compares the members of an object below spec.
func (d *differ) specFields(operation, member string) {
	before, after := treeAt(d.before, "spec", member), treeAt(d.after, "spec", member)
	if after == nil {
		return
	}
	for _, field := range union(after, before) {
		is, has := after[field]
		if !has {
			d.remove(operation, nil, field)
			continue
		}
		value, removed, changed := mergeDiff(before[field], is, field)
		if changed {
			d.add(operation, nil, value, "set", field)
		}
		for _, below := range removed {
			d.remove("fields", nil, append(pathTo("spec", member, field), below...).String())
		}
	}
	drop(d.before, "spec", member)
	drop(d.after, "spec", member)
}

// files compares the files of a node by their paths.
func (d *differ) files() {
	was, order, ok := keyed(at(d.before, "spec", "files"), "path")
	is, now, isOk := keyed(at(d.after, "spec", "files"), "path")
	if !ok || !isOk {
		return
	}
	for _, name := range order {
		if is[name] == nil {
			d.add("file", nil, tree{"path": name, "remove": true})
		}
	}
	for _, name := range now {
		if !equal(was[name], is[name]) {
			d.file(name, was[name], is[name])
		}
	}
	drop(d.before, "spec", "files")
	drop(d.after, "spec", "files")
}

// file compares one file; before is nil for a new one.
func (d *differ) file(name string, before, after tree) {
	if d.textFile(name, before, after) || !path.IsAbs(name) || path.Clean(name) != name {
		return
	}
	is, _ := inlineOf(after)
	if value := fileArguments(name, after, is); value != nil {
		d.add("file", nil, value)
	}
}

// textFile compares a file by what its text says; false where the whole file is to be written.
func (d *differ) textFile(name string, before, after tree) bool {
	was, isText := inlineOf(before)
	is, willBeText := inlineOf(after)
	same := before != nil && isText && willBeText && equal(before["permissions"], after["permissions"])
	switch {
	case same && was == is:
		return true
	case d.subject.secrets.spans(was, is):
		return false
	case name == target.KernelSettingsPath && willBeText && (same || before == nil && plainSettings(after)):
		return d.settings(was, is)
	case !same:
		return false
	case name == target.KubeletConfigurationPath:
		return d.configuration(was, is)
	}
	return d.document([]argument{{"file", name}}, was, is, path.Ext(name) == ".json")
}

// plainSettings says whether the file of kernel settings is as the operation would make it.
func plainSettings(file tree) bool {
	return textAt(file, "content", "inline", "encoding") == "" && fmt.Sprint(file["permissions"]) == "420"
}

// inlineOf is the text of a file's content; false where it has none that is UTF-8.
func inlineOf(file tree) (string, bool) {
	inline := treeAt(file, "content", "inline")
	if inline == nil {
		return "", false
	}
	parsed, err := document.Parse(rawOf(inline))
	if err != nil {
		return "", false
	}
	content, err := document.ContentOf(parsed.Root())
	if err != nil || !utf8.Valid(content.Text()) {
		return "", false
	}
	return string(content.Text()), true
}

// fileArguments are the arguments for a whole file; nil where there are none for it.
func fileArguments(name string, file tree, text string) tree {
	out := tree{"path": name}
	if mode, ok := file["permissions"].(json.Number); ok {
		number, err := strconv.ParseUint(mode.String(), 10, 12)
		if err != nil {
			return nil
		}
		out["permissions"] = octal(number)
	}
	content := treeAt(file, "content")
	switch {
	case treeAt(content, "inline") != nil:
		data := textAt(content, "inline", "data")
		if encoding := textAt(content, "inline", "encoding"); encoding != "" {
			decoded, err := base64.StdEncoding.DecodeString(data)
			if encoding != "b64" || err != nil || !utf8.Valid(decoded) {
				return nil
			}
			out["encoding"] = encoding
		}
		out["content"] = text
	case treeAt(content, "secretRef") != nil:
		out["secretRef"] = content["secretRef"]
	case treeAt(content, "imageRef") != nil:
		out["imageRef"] = content["imageRef"]
	default:
		return nil
	}
	if unencoded, ok := content["transmitUnencoded"]; ok {
		out["transmitUnencoded"] = unencoded
	}
	return out
}

// octal are the permissions of a file, which are written as octal digits.
type octal uint64

// MarshalText writes 0755.
func (o octal) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0%03o", uint64(o)), nil }

// settings compares kernel settings; false where something else than a setting differs.
func (d *differ) settings(before, after string) bool {
	was, wasRest := settingsIn(before)
	is, isRest := settingsIn(after)
	if wasRest != isRest {
		return false
	}
	for _, name := range union(is, was) {
		now, has := is[name]
		old, had := was[name]
		switch {
		case had == has && old == now:
		case !has:
			d.remove("sysctl", nil, name)
		default:
			d.add("sysctl", nil, now, "set", name)
		}
	}
	return true
}

// settingsIn are the settings in a file, and all other lines that are not empty.
func settingsIn(text string) (map[string]string, string) {
	settings, rest := map[string]string{}, ""
	for line := range strings.SplitSeq(text, "\n") {
		name, value, found := strings.Cut(line, "=")
		name = strings.TrimPrefix(strings.TrimSpace(name), "-")
		switch {
		case strings.TrimSpace(line) == "":
		case !found || strings.HasPrefix(name, "#") || strings.HasPrefix(name, ";"):
			rest += line + "\n"
		default:
			settings[name] = strings.TrimSpace(value)
		}
	}
	return settings, rest
}
