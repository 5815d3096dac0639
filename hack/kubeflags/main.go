// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command kubeflags writes pkg/controlplane/kubeflags/table.json: the flags and feature gates of
// kube-apiserver, kube-controller-manager, kube-scheduler and kubelet, the admission plugins of kube-apiserver,
// and the fields of the KubeletConfiguration, for each minor version of Kubernetes. It gets them from the
// components themselves: for each release it creates a module in .cache/kubeflags, compiles a small program
// with the components' options, and reads its output. Cluster-autoscaler is omitted, because it is not part of
// Kubernetes' module.
//
// `make kubeflags` runs it from the root of the module. Compiling a release takes minutes, so it is not part of
// `make generate`. The output of a release is cached until its number or the program changes. Start reading at
// main; release.go reads the releases, merge.go writes the table.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
)

// releases has one release for each minor version with published modules of Kubernetes. Patch
// releases usually change neither flags nor gates. To find newer ones, run `go list -m -versions
// k8s.io/kubernetes`.
var releases = []string{"v1.31.0", "v1.32.2", "v1.33.13", "v1.34.4", "v1.35.4", "v1.36.3", "v1.37.1"}

// components are the arguments of program.go.tmpl.
var components = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"}

func main() {
	cache := flag.String("cache", ".cache/kubeflags", "the folder in which releases are compiled")
	output := flag.String("output", "pkg/controlplane/kubeflags/table.json", "the file that is written")
	names := flag.String("releases", strings.Join(releases, ","), "the releases, oldest first, one for each minor version")
	flag.Parse()
	log.SetFlags(0)

	var dumps []dump
	for _, release := range strings.Split(*names, ",") {
		found, err := ask(*cache, release)
		if err != nil {
			log.Fatal(fmt.Errorf("reading the flags of Kubernetes %s: %w", release, err))
		}
		dumps = append(dumps, found)
	}
	merged, err := merge(dumps)
	if err != nil {
		log.Fatal(fmt.Errorf("merging the flags of all versions: %w", err))
	}
	if err := os.WriteFile(*output, merged.bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

// pluginHelp matches the help of --enable-admission-plugins, which lists the default plugins and then all
// (kubernetes: staging/src/k8s.io/apiserver/pkg/server/options/admission.go).
var pluginHelp = regexp.MustCompile(`default enabled ones \(([\w, ]+)\)\. Comma-delimited list of admission plugins: ([\w, ]+)\.`)

// pluginsOf parses the help of --enable-admission-plugins: each plugin, and whether it is enabled by default.
func pluginsOf(help string) (map[string]bool, error) {
	match := pluginHelp.FindStringSubmatch(help)
	if match == nil {
		return nil, fmt.Errorf("the help of --enable-admission-plugins lists no plugins: %q", help)
	}
	on := strings.Split(match[1], ", ")
	plugins := map[string]bool{}
	for _, name := range strings.Split(match[2], ", ") {
		plugins[name] = slices.Contains(on, name)
	}
	return plugins, nil
}

// mergePlugins returns an entry for each admission plugin of kube-apiserver.
func mergePlugins(dumps []dump) (map[string]kubeflags.PluginHistory, error) {
	const apiserver = "kube-apiserver"
	known := map[string]map[string]bool{}
	for _, d := range dumps {
		plugins, err := pluginsOf(d.parts[apiserver].Plugins)
		if err != nil {
			return nil, fmt.Errorf("kube-apiserver of %s: %w", d.release, err)
		}
		known[d.parts[apiserver].Plugins] = plugins
	}
	merged := map[string]kubeflags.PluginHistory{}
	for _, d := range dumps {
		for name, on := range known[d.parts[apiserver].Plugins] {
			s, err := span(dumps, func(p part) bool { _, ok := known[p.Plugins][name]; return ok }, apiserver)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			merged[name] = kubeflags.PluginHistory{Span: s, Default: on}
		}
	}
	return merged, nil
}

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

// mergeFlags returns a row for each flag, with type and message of the newest version that has the flag. It is
// deprecated since the first of the consecutive versions that deprecate it.
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
