// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestSARIF checks rules beyond the SARIF schema: results name their rules, regions are not empty, and fixes are inside
// the file.
func TestSARIF(t *testing.T) {
	input := Input{File: golden.Read(t, "testdata/reports/everything/profile.yaml")}
	var out strings.Builder
	if err := Run(Options{}, []Input{input}).Write(&out, "sarif", Style{}); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex *int
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn, EndLine, EndColumn int }
					}
				}
				Fixes []struct {
					ArtifactChanges []struct {
						ArtifactLocation struct{ URI string }
						Replacements     []struct{ DeletedRegion struct{ StartLine int } }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &log); err != nil {
		t.Fatal(err)
	}
	run, fixes := log.Runs[0], 0
	for _, result := range run.Results {
		if result.RuleIndex == nil || run.Tool.Driver.Rules[*result.RuleIndex].ID != result.RuleID {
			t.Errorf("the result of %s has the rule %v", result.RuleID, result.RuleIndex)
		}
		place := result.Locations[0].PhysicalLocation
		if r := place.Region; r.StartLine < 1 || r.StartColumn < 1 || r.EndLine != r.StartLine || r.EndColumn <= r.StartColumn {
			t.Errorf("%s is at %+v", result.RuleID, r)
		}
		for _, fix := range result.Fixes {
			fixes++
			if change := fix.ArtifactChanges[0]; change.ArtifactLocation != place.ArtifactLocation || len(change.Replacements) != 1 {
				t.Errorf("the fix of %s is %+v", result.RuleID, fix)
			}
		}
	}
	if fixes < 5 {
		t.Errorf("%d fixes", fixes)
	}
}

// TestReports checks the output for each file in testdata/reports in each format.
func TestReports(t *testing.T) {
	for _, folder := range cases(t, "testdata/reports/*") {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			input := Input{File: golden.Read(t, filepath.Join(folder, "profile.yaml"))}
			input.Name = "some folder/profile.yaml"
			report := Run(Options{}, []Input{input})
			for _, format := range Formats {
				var out strings.Builder
				if err := report.Write(&out, format, Style{Version: "v1"}); err != nil {
					t.Fatal(err)
				}
				golden.Compare(t, filepath.Join(folder, "want."+format), out.String())
			}
			var out strings.Builder
			if err := report.Write(&out, "text", Style{Colour: true, Width: 60}); err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join(folder, "want.colour"), out.String())
		})
	}
}

// TestDuplicateKeys checks the findings about duplicate keys in documents of each kind, with lists of different
// lengths.
func TestDuplicateKeys(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind, func(t *testing.T) {
			input := Input{File: golden.Read(t, filepath.Join("testdata", "duplicates", kind+".yaml"))}
			input.Name = "f.yaml"
			report := Run(Options{}, []Input{input})
			golden.Compare(t, filepath.Join("testdata", "duplicates", kind+".txt"), lines(report))
		})
	}
}
