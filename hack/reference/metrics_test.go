// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestReadMetrics(t *testing.T) {
	const head = "package p\nimport \"github.com/prometheus/client_golang/prometheus\"\n"
	for name, test := range map[string]struct {
		source string
		want   []metric
	}{
		"reads a counter with labels": {
			`var x = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "graft_a_total", Help: "A."}, []string{"b", "c"})`,
			[]metric{{"graft_a_total", "counter", "A.", []string{"b", "c"}}},
		},
		"a histogram with buckets": {
			`var x = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "graft_a", Help: "A " + "b.", Buckets: []float64{1}})`,
			[]metric{{name: "graft_a", kind: "histogram", help: "A b."}},
		},
		"reads a gauge from NewDesc": {
			`var x = prometheus.NewDesc("graft_a", "A.", []string{"b"}, nil)`, []metric{{"graft_a", "gauge", "A.", []string{"b"}}},
		},
		"a description of a counter": {
			`var x = prometheus.NewDesc("graft_a_total", "A.", []string{"b"}, nil)`, []metric{{"graft_a_total", "counter", "A.", []string{"b"}}},
		},
		"a function of this package":     {`var x = gauge("graft_a", "A.")`, []metric{{name: "graft_a", kind: "gauge", help: "A."}}},
		"a metric without a description": {`var x = prometheus.NewCounter(prometheus.CounterOpts{Name: "graft_a"})`, nil},
		"a metric of both servers": {`var x = prometheus.NewGauge(prometheus.GaugeOpts{Name: "graft_" + server + "_a", Help: "A."})`, []metric{
			{name: "graft_interpreter_a", kind: "gauge", help: "A."}, {name: "graft_network_a", kind: "gauge", help: "A."},
		}},
		"ignores calls of other functions": {`var x = say("graft_a", "A.")`, nil},
		"ignores names of other programs":  {`var x = gauge("go_a", "A.")`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readMetrics(fstest.MapFS{
				"p/x.go": {Data: []byte(head + test.source)}, "p/x_test.go": {Data: []byte(head + `var y = gauge("graft_y", "Y.")`)},
			}, "p")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(metric{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestAllMetricsAreRead checks that the page has every metric in the source exactly once.
func TestAllMetricsAreRead(t *testing.T) {
	root := filepath.Join("..", "..")
	all, err := readMetrics(os.DirFS(root), "pkg", "cmd")
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	for _, m := range all {
		read = append(read, m.name)
	}
	var written []string
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob(filepath.Join(root, "pkg", "*", "*", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	higher, err := filepath.Glob(filepath.Join(root, "pkg", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Concat(files, deeper, higher) {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(source, []byte(`"github.com/prometheus/client_golang/prometheus"`)) && !regexp.MustCompile(`_test\.go$`).MatchString(file) {
			for _, match := range regexp.MustCompile(`"(graft_[a-z_]+[a-z])"`).FindAllSubmatch(source, -1) {
				written = append(written, string(match[1]))
			}
			for _, match := range regexp.MustCompile(`"graft_" \+ server \+ "_([a-z_]+)"`).FindAllSubmatch(source, -1) {
				written = append(written, "graft_network_"+string(match[1]), "graft_interpreter_"+string(match[1]))
			}
		}
	}
	slices.Sort(written)
	written = slices.DeleteFunc(written, func(name string) bool { return name == "graft_uncounted" }) // which is no series
	if diff := cmp.Diff(written, read); diff != "" || len(read) < 60 {
		t.Errorf("of %d (-written +read)\n%s", len(read), diff)
	}
}
