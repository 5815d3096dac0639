// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	gotypes "go/types"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// metric is a metric in the source code.
type metric struct {
	name, kind, help string
	labels           []string
}

var metricName = regexp.MustCompile(`^graft_[a-z_]+$`)

// writeMetrics writes all metrics of the programs. It reads them from the source code, because no program
// exports all of them at once.
func writeMetrics(out *bytes.Buffer) error {
	all, err := readMetrics(os.DirFS("."), "pkg", "cmd")
	if err != nil {
		return err
	}
	out.WriteString(`
# Metrics

For operators who write queries. Look up the name, type and labels of each metric. The programs also have the metrics of
Go and of the process (` + "`go_…`, `process_…`" + `). Labels never contain input of callers. [The
charts](../operations/monitoring.md) have alerts and dashboards.
`)
	programOf := regexp.MustCompile(`^graft_(server_|network_|interpreter_)?`)
	for _, program := range []struct{ title, prefix string }{
		{"All three programs", "graft_server_"}, {"The extension", "graft_"}, {"The network provider", "graft_network_"}, {"The resource interpreter", "graft_interpreter_"},
	} {
		fmt.Fprintf(out, "\n## %s\n\n", program.title)
		if program.prefix == "graft_server_" {
			out.WriteString("The label `server` names the program: `extension`, `network-provider` or `resource-interpreter`.\n\n")
		}
		for _, m := range all {
			if programOf.FindString(m.name) != program.prefix {
				continue
			}
			name := m.name
			if len(m.labels) > 0 {
				name += "{" + strings.Join(m.labels, ",") + "}"
			}
			item(out, code(name), m.kind, prose(m.help))
		}
	}
	return nil
}

// readMetrics returns the metrics in the Go files below folders, sorted by name.
func readMetrics(files fs.FS, folders ...string) ([]metric, error) {
	var all []metric
	for _, folder := range folders {
		err := fs.WalkDir(files, folder, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			source, err := fs.ReadFile(files, name)
			if err != nil || !bytes.Contains(source, []byte("prometheus")) {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, m := range metricsIn(file) {
				all = append(all, m.ofServers()...)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// ofServers returns the metric of each server that has it: its name in the source is "graft_" + server + "_…".
func (m metric) ofServers() []metric {
	suffix, ok := strings.CutPrefix(m.name, "graft__")
	if !ok {
		return []metric{m}
	}
	var all []metric
	for _, server := range []string{"network", "interpreter"} {
		m.name = "graft_" + server + "_" + suffix
		all = append(all, m)
	}
	return all
}

// constructor matches the functions that create metrics. The name of a metric decides whether NewDesc describes a
// counter or a gauge.
var constructor = regexp.MustCompile(`(?i)^(?:.*\.)?(?:new)?(counter|gauge|histogram|desc)(?:vec|func)?$`)

// metricsIn returns the metrics of a file: from constructors with options, and from functions with a name and a
// help text.
func metricsIn(file *ast.File) []metric {
	var all []metric
	for node := range ast.Preorder(file) {
		call, ok := node.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			continue
		}
		match := constructor.FindStringSubmatch(gotypes.ExprString(call.Fun))
		var m metric
		if options, ok := call.Args[0].(*ast.CompositeLit); ok {
			m.name, m.help = member(options, "Name"), member(options, "Help")
		} else if n := len(call.Args); n > 1 {
			m.name, m.help = literal(call.Args[0]), literal(call.Args[1])
			if m.name == "" && n > 2 { // after the registry
				m.name, m.help = literal(call.Args[1]), literal(call.Args[2])
			}
		}
		// A metric without help text is not registered.
		if match == nil || m.help == "" || !metricName.MatchString(m.name) {
			continue
		}
		if m.kind = strings.ToLower(match[1]); m.kind == "desc" {
			m.kind = "gauge"
			if strings.HasSuffix(m.name, "_total") {
				m.kind = "counter"
			}
		}
		for _, argument := range call.Args[1:] {
			if list, ok := argument.(*ast.CompositeLit); ok {
				for _, label := range list.Elts {
					m.labels = append(m.labels, literal(label))
				}
			}
		}
		all = append(all, m)
	}
	return all
}

// member returns a string field of a composite literal.
func member(of *ast.CompositeLit, key string) string {
	for _, element := range of.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if name, ok := pair.Key.(*ast.Ident); ok && name.Name == key {
				return literal(pair.Value)
			}
		}
	}
	return ""
}

// literal returns the value of a string literal or a concatenation of literals.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}
