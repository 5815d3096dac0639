// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"go/format"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
)

// dumpOf is a release with the same flags in all components.
func dumpOf(t *testing.T, release string, minor kubeflags.Minor, text string) dump {
	t.Helper()
	d := dump{release: release, minor: minor, parts: map[string]componentDump{}}
	for _, component := range append([]string{configuration}, components...) {
		var p componentDump
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		if p.Plugins == "" {
			p.Plugins = "on by default: default enabled ones (On). Comma-delimited list of admission plugins: Off, On."
		}
		d.parts[component] = p
	}
	return d
}

func TestMerge(t *testing.T) {
	dumps := []dump{
		dumpOf(t, "v1.31.2", 31, `{"flags":{"old":{"type":"bool"},"late":{"type":"int","deprecated":"x"},"both":{"type":"string"}},"gates":{"A":{"stage":"alpha"}},"fields":{"a":"bool"},
			"plugins":"default enabled ones (On, Went). Comma-delimited list of admission plugins: Off, On, Went. And so on."}`),
		dumpOf(t, "v1.32.0", 32, `{"flags":{"late":{"type":"int64","deprecated":"y"},"both":{"type":"string"}},"gates":{"A":{"stage":"beta","default":true}},"fields":{"a":"bool","b":"list","b[]":"string"}}`),
		dumpOf(t, "v1.33.9", 33, `{"flags":{"late":{"type":"int64","deprecated":"y"},"new":{"type":"duration"},"both":{"type":"string"}},"gates":{"B":{"stage":"ga","default":true,"locked":true}},"fields":{"a":"bool"}}`),
	}
	delete(dumps[2].parts["kubelet"].Gates, "B")
	merged, err := merge(dumps)
	if err != nil {
		t.Fatal(err)
	}
	var got kubeflags.Table
	if err := json.Unmarshal(merged.bytes(), &got); err != nil {
		t.Fatal(err)
	}
	flags := map[string]kubeflags.FlagHistory{
		"old":  {Span: kubeflags.Span{Removed: 32}, Type: "bool"},
		"late": {Type: "int64", Deprecated: 31, Message: "y"},
		"new":  {Span: kubeflags.Span{Since: 33}, Type: "duration"},
		"both": {Type: "string"},
	}
	want := kubeflags.Table{
		Releases: []string{"v1.31.2", "v1.32.0", "v1.33.9"}, Versions: []kubeflags.Minor{31, 32, 33},
		Flags: map[string]map[string]kubeflags.FlagHistory{},
		Gates: map[string]map[string]kubeflags.GateHistory{"*": {}},
		Plugins: map[string]kubeflags.PluginHistory{
			"Off": {}, "On": {Default: true}, "Went": {Span: kubeflags.Span{Removed: 32}, Default: true},
		},
		Fields: map[string]kubeflags.FieldHistory{
			"a": {Kind: "bool"}, "b": {Span: kubeflags.Span{Since: 32, Removed: 33}, Kind: "list"}, "b[]": {Span: kubeflags.Span{Since: 32, Removed: 33}, Kind: "string"},
		},
	}
	for _, component := range components {
		want.Flags[component] = flags
		want.Gates[component] = map[string]kubeflags.GateHistory{"B": {33: {Stage: kubeflags.GA, Default: true, Locked: true}}}
	}
	want.Gates["*"]["A"] = kubeflags.GateHistory{31: {Stage: kubeflags.Alpha}, 32: {Stage: kubeflags.Beta, Default: true}}
	delete(want.Gates["kubelet"], "B")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// TestBytes checks that the table in use has the format that this program writes.
func TestBytes(t *testing.T) {
	want, err := os.ReadFile("../../pkg/controlplane/kubeflags/table.json")
	if err != nil {
		t.Fatal(err)
	}
	var known table
	if err := json.Unmarshal(want, &known.Table); err != nil {
		t.Fatal(err)
	}
	if got := known.bytes(); !bytes.Equal(want, got) {
		t.Errorf("table.json has another format:\n%s", cmp.Diff(strings.SplitAfter(string(want), "\n"), strings.SplitAfter(string(got), "\n")))
	}
}

func TestMergeWrong(t *testing.T) {
	none := `{}`
	without := func(d dump) dump { d.parts["kube-apiserver"] = componentDump{Plugins: "no list"}; return d }
	for name, test := range map[string]struct {
		want  string
		dumps []dump
	}{
		"rejects releases with a gap":                      {"v1.33.0 does not follow v1.31.0", []dump{dumpOf(t, "v1.31.0", 31, none), dumpOf(t, "v1.33.0", 33, none)}},
		"rejects a flag that was removed and added again":  {"removed in 1.32 and added again in 1.33", []dump{dumpOf(t, "v1.31.0", 31, `{"flags":{"a":{"type":"bool"}}}`), dumpOf(t, "v1.32.0", 32, none), dumpOf(t, "v1.33.0", 33, `{"flags":{"a":{"type":"bool"}}}`)}},
		"rejects a help text without plugins":              {"kube-apiserver of v1.32.0: the help of --enable-admission-plugins lists no plugins", []dump{dumpOf(t, "v1.31.0", 31, none), without(dumpOf(t, "v1.32.0", 32, none))}},
		"rejects a field that changes its kind":            {"a is a list in v1.32.0 and was a bool", []dump{dumpOf(t, "v1.31.0", 31, `{"fields":{"a":"bool"}}`), dumpOf(t, "v1.32.0", 32, `{"fields":{"a":"list"}}`)}},
		"rejects a field that was removed and added again": {"removed in 1.32 and added again in 1.33", []dump{dumpOf(t, "v1.31.0", 31, `{"fields":{"a":"bool"}}`), dumpOf(t, "v1.32.0", 32, none), dumpOf(t, "v1.33.0", 33, `{"fields":{"a":"bool"}}`)}},
	} {
		if _, err := merge(test.dumps); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestProgram checks that the generated program is formatted Go, with and without entries of older releases.
func TestProgram(t *testing.T) {
	for _, custom := range []bool{true, false} {
		var out bytes.Buffer
		if err := program.Execute(&out, struct{ CustomGlobalFlags bool }{custom}); err != nil {
			t.Fatal(err)
		}
		formatted, err := format.Source(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(formatted), out.String()); diff != "" {
			t.Errorf("the program is not formatted (-formatted +program):\n%s", diff)
		}
		if got := strings.Contains(out.String(), "AddCustomGlobalFlags"); got != custom {
			t.Errorf("custom flags: %t, want %t", got, custom)
		}
	}
}

func TestAskWrong(t *testing.T) {
	if _, err := readRelease(t.TempDir(), "1.34"); err == nil {
		t.Error("1.34 is taken for a release")
	}
}
