// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// sysctl sets kernel settings in the file that Gardener keeps for them.
func sysctl() Definition {
	return Definition{
		Name:      "sysctl",
		Summary:   "sets and removes kernel settings in " + target.KernelSettingsPath + ": replaces the line of a setting in place, or appends it",
		Example:   "sysctl: {set: {net.ipv4.ip_forward: 1}}",
		Examples:  []string{"sysctl: {remove: [net.ipv4.tcp_tw_reuse]}"},
		Arguments: setAndRemove("settings", mappingOf(anyText).named(settingName)),
		Parts:     target.Files,
		compile:   compileSysctl,
	}
}

var settingName = regexp.MustCompile(`^[a-zA-Z0-9_-]+([./][a-zA-Z0-9_*-]+)+$`)

func compileSysctl(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	return writeBuilder{
		place: Place{Kind: KernelSetting},
		value: c.Text,
		check: matches(settingName, "the name of a kernel setting, such as net.ipv4.ip_forward"),
		apply: setSetting,
	}.compileEdits(arguments, path)
}

func setSetting(o *target.Object, name string, v Resolved) error {
	if strings.ContainsAny(v.Text(), "\r\n") {
		return nested(fmt.Errorf("the value of %s has several lines", name), "%s", target.KernelSettingsPath)
	}
	if o.File(target.KernelSettingsPath) == nil {
		if v.Absent {
			return nil
		}
		return filePath(target.KernelSettingsPath).merge(o.Document.Root(), fmt.Appendf(nil,
			`{"permissions":420,"content":{"inline":{"encoding":"","data":%s}}}`, document.Quote(name+" = "+v.Text()+"\n")))
	}
	content, err := o.Content(target.KernelSettingsPath)
	if err != nil {
		return err
	}
	return nested(content.SetText(editSettings(content.Text(), name, v)), "%s", target.KernelSettingsPath)
}

// editSettings replaces the first line that sets name, removes further ones, or adds one at the end.
func editSettings(text []byte, name string, v Resolved) []byte {
	var (
		out  bytes.Buffer
		done = v.Absent
		line = name + " = " + v.Text()
	)
	for _, old := range bytes.SplitAfter(text, []byte("\n")) {
		key, value, found := strings.Cut(string(old), "=")
		if !found || strings.TrimPrefix(strings.TrimSpace(key), "-") != name {
			out.Write(old)
			continue
		}
		if done {
			continue
		}
		done = true
		if strings.TrimSpace(value) == v.Text() {
			out.Write(old)
			continue
		}
		out.WriteString(line)
		if bytes.HasSuffix(old, []byte("\n")) {
			out.WriteByte('\n')
		}
	}
	if !done {
		if out.Len() > 0 && !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
			out.WriteByte('\n')
		}
		out.WriteString(line + "\n")
	}
	return out.Bytes()
}
