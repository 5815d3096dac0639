// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
)

// table is the result.
type table struct{ kubeflags.Table }

// merge merges the data of all releases. It fails if a minor version is missing.
func merge(dumps []dump) (*table, error) {
	t := &table{kubeflags.Table{Flags: map[string]map[string]kubeflags.FlagRow{}}}
	for i, d := range dumps {
		if i > 0 && d.minor != dumps[i-1].minor+1 {
			return nil, fmt.Errorf("%s does not follow %s: there must be one release for each minor version", d.release, dumps[i-1].release)
		}
		t.Releases = append(t.Releases, d.release)
		t.Versions = append(t.Versions, kubeflags.Minor(d.minor))
	}
	for _, component := range components {
		flags, err := t.mergeFlags(dumps, component)
		if err != nil {
			return nil, fmt.Errorf("merging the flags of %s: %w", component, err)
		}
		t.Flags[component] = flags
	}
	t.Gates = mergeGates(dumps)
	var err error
	if t.Plugins, err = mergePlugins(dumps); err != nil {
		return nil, fmt.Errorf("merging the admission plugins: %w", err)
	}
	if t.Fields, err = mergeFields(dumps); err != nil {
		return nil, fmt.Errorf("merging the fields of the KubeletConfiguration: %w", err)
	}
	return t, nil
}

// span returns the first and last version that has a property. It fails if the property disappears and returns,
// which a span cannot express.
func span(dumps []dump, in func(part) bool, component string) (kubeflags.Span, error) {
	var s kubeflags.Span
	was := false
	for i, d := range dumps {
		is := in(d.parts[component])
		switch {
		case is && s.Removed != 0:
			return s, fmt.Errorf("removed in %s and added again in 1.%d", s.Removed, d.minor)
		case is && !was && i > 0:
			s.Since = kubeflags.Minor(d.minor)
		case !is && was:
			s.Removed = kubeflags.Minor(d.minor)
		}
		was = is
	}
	return s, nil
}

// mergeFlags returns a row for each flag. Type and message are those of the newest version that has the flag.
// It is deprecated since the first of the consecutive versions that deprecate it.
func (t *table) mergeFlags(dumps []dump, component string) (map[string]kubeflags.FlagRow, error) {
	rows := map[string]kubeflags.FlagRow{}
	for _, d := range dumps {
		for _, name := range slices.Sorted(maps.Keys(d.parts[component].Flags)) {
			f := d.parts[component].Flags[name]
			row := kubeflags.FlagRow{Type: f.Type}
			if f.Deprecated != "" {
				row.Deprecated, row.Message = kubeflags.Minor(d.minor), t.message(f.Deprecated)
				if before := rows[name].Deprecated; before != 0 {
					row.Deprecated = before
				}
			}
			rows[name] = row
		}
	}
	for name, row := range rows {
		var err error
		row.Span, err = span(dumps, func(p part) bool { _, ok := p.Flags[name]; return ok }, component)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", name, err)
		}
		rows[name] = row
	}
	return rows, nil
}

// message returns the index of a message in the table, adding it if it is new. The order of calls must be
// deterministic.
func (t *table) message(text string) int {
	if i := slices.Index(t.Messages, text); i >= 0 {
		return i
	}
	t.Messages = append(t.Messages, text)
	return len(t.Messages) - 1
}

func mergeFields(dumps []dump) (map[string]kubeflags.FieldHistory, error) {
	fields := map[string]kubeflags.FieldHistory{}
	for _, d := range dumps {
		for path, kind := range d.parts[configuration].Fields {
			if known, ok := fields[path]; ok && known.Kind != kind {
				return nil, fmt.Errorf("%s is a %s in %s and was a %s", path, kind, d.release, known.Kind)
			}
			s, err := span(dumps, func(p part) bool { _, ok := p.Fields[path]; return ok }, configuration)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			fields[path] = kubeflags.FieldHistory{Span: s, Kind: kind}
		}
	}
	return fields, nil
}

// mergeGates returns a line for each gate. Lines that are equal for all components are moved to "*".
func mergeGates(dumps []dump) map[string]map[string]string {
	gates := map[string]map[string]string{"*": {}}
	for _, component := range components {
		gates[component] = map[string]string{}
		for _, d := range dumps {
			for name := range d.parts[component].Gates {
				gates[component][name] = gateLine(dumps, component, name)
			}
		}
	}
	for name, line := range gates[components[0]] {
		if slices.ContainsFunc(components, func(c string) bool { return gates[c][name] != line }) {
			continue
		}
		gates["*"][name] = line
		for _, component := range components {
			delete(gates[component], name)
		}
	}
	return gates
}

func gateLine(dumps []dump, component, name string) string {
	var words []string
	for _, d := range dumps {
		word := "."
		if g, ok := d.parts[component].Gates[name]; ok {
			word = kubeflags.GateState{Stage: kubeflags.Stage(g.Stage), Default: g.Default, Locked: g.Locked}.Word()
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// bytes returns the table in JSON with one entry per line, for readable diffs.
func (t *table) bytes() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n\"releases\": %s,\n\"versions\": %s,\n\"messages\": [", raw(t.Releases), raw(t.Versions))
	for i, message := range t.Messages {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "\n%s", raw(message))
	}
	fmt.Fprint(&out, "],\n\"flags\": {")
	writeGroups(&out, t.Flags)
	fmt.Fprint(&out, "},\n\"gates\": {")
	writeGroups(&out, t.Gates)
	fmt.Fprint(&out, "},\n\"plugins\": {")
	writeEntries(&out, t.Plugins)
	fmt.Fprint(&out, "},\n\"fields\": {")
	writeEntries(&out, t.Fields)
	fmt.Fprint(&out, "}\n}\n")
	return out.Bytes()
}

func writeGroups[V any](out *bytes.Buffer, groups map[string]map[string]V) {
	for i, group := range slices.Sorted(maps.Keys(groups)) {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "\n%s: {", raw(group))
		writeEntries(out, groups[group])
		out.WriteByte('}')
	}
}

func writeEntries[V any](out *bytes.Buffer, entries map[string]V) {
	for i, name := range slices.Sorted(maps.Keys(entries)) {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "\n%s: %s", raw(name), raw(entries[name]))
	}
}

// raw returns a value in JSON. It panics on an error, which cannot occur for these types.
func raw(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(out.Bytes())
}
