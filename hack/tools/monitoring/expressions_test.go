// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// root is the folder of the repository.
var root = filepath.Join("..", "..", "..")

// metrics returns the labels of each metric, by its name in Prometheus.
func metrics(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^- `(graft_[a-z_]+)(?:\\{([a-z,]+)\\})?` \\(([a-z]+)\\):").FindAllStringSubmatch(string(page), -1) {
		// Labels that Prometheus adds for each scraped Pod.
		labels := append(strings.Split(row[2], ","), "namespace", "pod", "job", "instance")
		if strings.HasPrefix(row[1], "graft_server_") {
			labels = append(labels, "server") // the page names it above the list: all metrics of a server have it
		}
		if row[3] != "histogram" {
			known[row[1]] = labels
			continue
		}
		known[row[1]+"_bucket"] = append(labels, "le")
		known[row[1]+"_sum"], known[row[1]+"_count"] = labels, labels
	}
	if len(known) < 70 {
		t.Fatalf("docs/reference/metrics.md names %d metrics", len(known))
	}
	return known
}

// expressions returns the expressions of a chart's alerts and dashboards, by their place.
func expressions(t *testing.T, chart string) map[string]string {
	t.Helper()
	all := map[string]string{}
	rules, problems := rulefmt.ParseFile(filepath.Join(chart, "alerts.yaml"), false, model.UTF8Validation)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			all["the alert "+rule.Alert] = rule.Expr
		}
	}
	for _, p := range readDashboard(t, chart).Panels {
		for _, target := range p.Targets {
			all["the panel "+p.Title+", "+target.RefID] = target.Expr
		}
	}
	return all
}

// dashboard has the checked parts of a Plutono dashboard.
type dashboard struct {
	Title  string  `json:"title"`
	UID    string  `json:"uid"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int       `json:"id"`
	Title       string    `json:"title"`
	Type        string    `json:"type"`
	Description string    `json:"description"`
	Datasource  string    `json:"datasource"`
	GridPos     rectangle `json:"gridPos"`
	Targets     []target  `json:"targets"`
}

type rectangle struct{ X, Y, W, H int }

type target struct {
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
	RefID        string `json:"refId"`
}

func readDashboard(t *testing.T, chart string) dashboard {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(chart, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// charts are the folders of the charts that install a program.
func charts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "charts", "*", "alerts.yaml"))
	if err != nil || len(files) != 3 {
		t.Fatalf("there are alerts of %v, %v", files, err)
	}
	for i := range files {
		files[i] = filepath.Dir(files[i])
	}
	return files
}

// TestExpressions checks that every expression of alerts and dashboards is valid and uses existing metrics and labels.
func TestExpressions(t *testing.T) {
	known := metrics(t)
	for _, chart := range charts(t) {
		for where, expression := range expressions(t, chart) {
			t.Run(filepath.Base(chart)+"/"+where, func(t *testing.T) {
				parsed, err := parser.ParseExpr(expression)
				if err != nil {
					t.Fatal(err)
				}
				asked := 0
				parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
					if s, ok := node.(*parser.VectorSelector); ok {
						asked++
						checkSelector(t, known, s)
					}
					return nil
				})
				labels := labelsOf(known, parsed)
				parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
					if a, ok := node.(*parser.AggregateExpr); ok {
						for _, label := range a.Grouping {
							if !slices.Contains(labels, label) {
								t.Errorf("the expression groups by %s, which is not a label of its metrics", label)
							}
						}
					}
					return nil
				})
				if asked == 0 {
					t.Error("the expression uses no metric")
				}
			})
		}
	}
}

// own are metrics of Prometheus' client libraries, and of Prometheus itself.
var own = map[string]bool{"process_resident_memory_bytes": true, "process_cpu_seconds_total": true, "go_goroutines": true}

func checkSelector(t *testing.T, known map[string][]string, s *parser.VectorSelector) {
	t.Helper()
	labels, ok := known[s.Name]
	if !ok && !own[s.Name] {
		t.Errorf("no program has the metric %s", s.Name)
		return
	}
	for _, matcher := range s.LabelMatchers {
		if matcher.Name != "__name__" && !own[s.Name] && !slices.Contains(labels, matcher.Name) {
			t.Errorf("%s has no label %s", s.Name, matcher.Name)
		}
	}
}

// labelsOf are the labels of all metrics in an expression.
func labelsOf(known map[string][]string, e parser.Expr) []string {
	labels := []string{"pod", "namespace"}
	parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			labels = append(labels, known[s.Name]...)
		}
		return nil
	})
	return labels
}

// TestDashboards checks that dashboards can be displayed: identifiers are unique, panels fit into 24 columns, and
// legends use labels of their expressions.
func TestDashboards(t *testing.T) {
	uids := map[string]bool{}
	for _, chart := range charts(t) {
		t.Run(filepath.Base(chart), func(t *testing.T) {
			d := readDashboard(t, chart)
			if d.Title == "" || d.UID == "" || uids[d.UID] || len(d.Panels) < 8 {
				t.Errorf("title %q, uid %q, %d panels", d.Title, d.UID, len(d.Panels))
			}
			uids[d.UID] = true
			ids, taken := map[int]bool{}, map[[2]int]string{}
			for _, p := range d.Panels {
				if ids[p.ID] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 {
					t.Errorf("the panel %d, %q, lies at %+v", p.ID, p.Title, p.GridPos)
				}
				ids[p.ID] = true
				for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
					for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
						if other := taken[[2]int{x, y}]; other != "" {
							t.Fatalf("%s lies over %s", p.Title, other)
						}
						taken[[2]int{x, y}] = p.Title
					}
				}
				p.check(t)
			}
		})
	}
}

var mentioned = regexp.MustCompile(`\{\{\s*([a-z_]+)\s*\}\}`)

func (p panel) check(t *testing.T) {
	t.Helper()
	if p.Type == "row" {
		return
	}
	if p.Datasource != "prometheus-seed" || p.Description == "" || len(p.Targets) == 0 {
		t.Errorf("%s has the source %q, %d targets and the description %q", p.Title, p.Datasource, len(p.Targets), p.Description)
	}
	for _, target := range p.Targets {
		parsed, err := parser.ParseExpr(target.Expr)
		if err != nil {
			t.Errorf("%s: %v", p.Title, err)
			continue
		}
		left := []string{}
		parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
			if a, ok := node.(*parser.AggregateExpr); ok {
				left = append(left, a.Grouping...)
			}
			return nil
		})
		for _, label := range mentioned.FindAllStringSubmatch(target.LegendFormat, -1) {
			if !slices.Contains(left, label[1]) {
				t.Errorf("%s: the legend of %s uses %s, but the query drops it", p.Title, target.RefID, label[1])
			}
		}
	}
}

// TestAlertsAreDocumented compares the page on monitoring with the alerts.
func TestAlertsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "operations", "monitoring.md"))
	if err != nil {
		t.Fatal(err)
	}
	var there, documented []string
	for _, chart := range charts(t) {
		for where := range expressions(t, chart) {
			if name, ok := strings.CutPrefix(where, "the alert "); ok {
				there = append(there, name)
			}
		}
	}
	for _, match := range regexp.MustCompile("(?m)^- `(Graft[A-Za-z]+)`: ").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, match[1])
	}
	slices.Sort(there)
	slices.Sort(documented)
	if diff := cmp.Diff(there, documented); diff != "" {
		t.Errorf("(-there +documented)\n%s", diff)
	}
}
