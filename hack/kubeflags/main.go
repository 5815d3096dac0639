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
// main; release.go reads the releases.
package main

import (
	"cmp"
	"encoding/json"
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
	log.SetFlags(0)
	var dumps []dump
	for _, release := range releases {
		found, err := readRelease(".cache/kubeflags", release)
		if err != nil {
			log.Fatalf("reading the flags of Kubernetes %s: %s", release, err)
		}
		dumps = append(dumps, found)
	}
	merged, err := merge(dumps)
	if err != nil {
		log.Fatalf("merging the flags of all versions: %s", err)
	}
	if err := os.WriteFile("pkg/controlplane/kubeflags/table.json", merged.bytes(), 0o644); err != nil {
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

// table is the result.
type table struct{ kubeflags.Table }

// merge merges the data of all releases. It fails if a minor version is missing.
func merge(dumps []dump) (*table, error) {
	t := &table{kubeflags.Table{
		Flags: map[string]map[string]kubeflags.FlagHistory{}, Plugins: map[string]kubeflags.PluginHistory{}, Fields: map[string]kubeflags.FieldHistory{},
	}}
	for i, d := range dumps {
		if i > 0 && d.minor != dumps[i-1].minor+1 {
			return nil, fmt.Errorf("%s does not follow %s: there must be one release for each minor version", d.release, dumps[i-1].release)
		}
		t.Releases = append(t.Releases, d.release)
		t.Versions = append(t.Versions, d.minor)
	}
	for _, component := range components {
		if err := t.mergeFlags(dumps, component); err != nil {
			return nil, fmt.Errorf("merging the flags of %s: %w", component, err)
		}
	}
	t.Gates = mergeGates(dumps)
	if err := t.mergePlugins(dumps); err != nil {
		return nil, fmt.Errorf("merging the admission plugins: %w", err)
	}
	if err := t.mergeFields(dumps); err != nil {
		return nil, fmt.Errorf("merging the fields of the KubeletConfiguration: %w", err)
	}
	return t, nil
}

// spans returns the first and last version of each name in the mappings of all releases. It fails if a name disappears
// and returns, which a span cannot express.
func spans[V any](dumps []dump, of func(int) map[string]V) (map[string]kubeflags.Span, error) {
	all := map[string]kubeflags.Span{}
	for i, d := range dumps {
		names := of(i)
		for name := range names {
			s, known := all[name]
			if s.Removed != 0 {
				return nil, fmt.Errorf("%s: removed in %s and added again in %s", name, s.Removed, d.minor)
			}
			if !known && i > 0 {
				s.Since = d.minor
			}
			all[name] = s
		}
		for name, s := range all {
			if _, ok := names[name]; !ok && s.Removed == 0 {
				s.Removed = d.minor
				all[name] = s
			}
		}
	}
	return all, nil
}

// mergeFlags adds a row for each flag, with type and message of the newest version that has the flag. It is
// deprecated since the first of the consecutive versions that deprecate it.
func (t *table) mergeFlags(dumps []dump, component string) error {
	found, err := spans(dumps, func(i int) map[string]flagOf { return dumps[i].parts[component].Flags })
	rows := map[string]kubeflags.FlagHistory{}
	for _, d := range dumps {
		for _, name := range slices.Sorted(maps.Keys(d.parts[component].Flags)) {
			f := d.parts[component].Flags[name]
			row := kubeflags.FlagHistory{Span: found[name], Type: f.Type}
			if f.Deprecated != "" {
				row.Deprecated, row.Message = cmp.Or(rows[name].Deprecated, d.minor), f.Deprecated
			}
			rows[name] = row
		}
	}
	t.Flags[component] = rows
	return err
}

// mergePlugins adds an entry for each admission plugin of kube-apiserver.
func (t *table) mergePlugins(dumps []dump) error {
	var plugins []map[string]bool
	for _, d := range dumps {
		found, err := pluginsOf(d.parts["kube-apiserver"].Plugins)
		if err != nil {
			return fmt.Errorf("kube-apiserver of %s: %w", d.release, err)
		}
		plugins = append(plugins, found)
	}
	found, err := spans(dumps, func(i int) map[string]bool { return plugins[i] })
	for _, on := range plugins {
		for name := range on {
			t.Plugins[name] = kubeflags.PluginHistory{Span: found[name], Default: on[name]}
		}
	}
	return err
}

func (t *table) mergeFields(dumps []dump) error {
	found, err := spans(dumps, func(i int) map[string]string { return dumps[i].parts[configuration].Fields })
	for _, d := range dumps {
		for path, kind := range d.parts[configuration].Fields {
			if known, ok := t.Fields[path]; ok && known.Kind != kind {
				return fmt.Errorf("%s is a %s in %s and was a %s", path, kind, d.release, known.Kind)
			}
			t.Fields[path] = kubeflags.FieldHistory{Span: found[path], Kind: kind}
		}
	}
	return err
}

// mergeGates returns the history of each gate. Histories that are equal for all components are moved to "*".
func mergeGates(dumps []dump) map[string]map[string]kubeflags.GateHistory {
	gates := map[string]map[string]kubeflags.GateHistory{"*": {}}
	for _, component := range components {
		of := map[string]kubeflags.GateHistory{}
		for _, d := range dumps {
			for name, g := range d.parts[component].Gates {
				if of[name] == nil {
					of[name] = kubeflags.GateHistory{}
				}
				of[name][d.minor] = kubeflags.GateState{Stage: kubeflags.Stage(g.Stage), Default: g.Default, Locked: g.Locked}
			}
		}
		gates[component] = of
	}
	for name, history := range gates[components[0]] {
		if slices.ContainsFunc(components, func(c string) bool { return !maps.Equal(gates[c][name], history) }) {
			continue
		}
		gates["*"][name] = history
		for _, component := range components {
			delete(gates[component], name)
		}
	}
	return gates
}

// bytes returns the table in JSON with one entry per line, for readable diffs.
func (t *table) bytes() []byte {
	return fmt.Appendf(nil, "{\n\"releases\": %s,\n\"versions\": %s,\n\"flags\": %s,\n\"gates\": %s,\n\"plugins\": %s,\n\"fields\": %s\n}\n",
		raw(t.Releases), raw(t.Versions), lines(t.Flags, entries), lines(t.Gates, entries), entries(t.Plugins), entries(t.Fields))
}

func entries[V any](of map[string]V) string { return lines(of, raw) }

// lines returns a mapping in JSON with one entry per line.
func lines[V any](of map[string]V, encode func(V) string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, "\n"+raw(name)+": "+encode(of[name]))
	}
	return "{" + strings.Join(all, ",") + "}"
}

// raw returns a value in JSON. It panics on an error, which cannot occur for these types.
func raw[V any](value V) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSpace(out.String())
}
