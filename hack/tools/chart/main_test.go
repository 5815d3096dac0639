// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.name }}}\n"
	for name, test := range map[string]struct {
		template string
		want     string // part of the error; empty when there must be none
	}{
		"correct":            {template: configMap + "data: {a: b}\n---\n# nothing\n"},
		"a kind not known":   {template: "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: x}\nwhatever: 1\n"},
		"unknown field":      {template: configMap + "dta: {a: b}\n", want: `unknown field "dta"`},
		"duplicate key":      {template: configMap + "data: {a: b, a: c}\n", want: "already set"},
		"no name":            {template: "apiVersion: v1\nkind: ConfigMap\n", want: "ConfigMap has no name"},
		"no kind":            {template: "metadata: {name: x}\n", want: "apiVersion or kind is missing"},
		"value not defined":  {template: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.nme }}}\n", want: "nme"},
		"template broken":    {template: "{{ if }}", want: "rendering"},
		"nothing is written": {template: "{{ if false }}a: b{{ end }}", want: "no template gave a manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run([]string{writeChart(t, test.template)}, "", false)
			switch {
			case test.want == "" && err != nil:
				t.Fatalf("unexpected error: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("got error %v, want one with %q", err, test.want)
			}
		})
	}
	if err := run(nil, "", false); err == nil {
		t.Error("no folders must be an error")
	}
}

func TestValues(t *testing.T) {
	folder := writeChart(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n{{ if eq .Values.name \"other\" }}dta: {a: b}{{ end }}\n")
	if err := run([]string{folder}, "", false); err != nil {
		t.Error(err)
	}
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte("name: other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{folder}, values, false); err == nil || !strings.Contains(err.Error(), "dta") {
		t.Errorf("with other values: %v", err)
	}
	if err := run([]string{folder}, values+"x", false); err == nil {
		t.Error("values that are not there must be an error")
	}
}

// writeChart makes a chart with one template in a temporary folder.
func writeChart(t *testing.T, template string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml":              "apiVersion: v2\nname: sample\nversion: 0.1.0\n",
		"values.yaml":             "name: x\n",
		"templates/manifest.yaml": template,
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
