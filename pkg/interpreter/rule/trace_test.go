// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
)

// TestTraceAgrees checks that a trace has the same answers to the questions of testdata/answers, with the same rules,
// and a failed rule for each failure of a rule.
func TestTraceAgrees(t *testing.T) {
	folders, err := filepath.Glob("testdata/answers/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no test cases found: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			program := load(t, golden.Read(t, filepath.Join(folder, "profile.yaml")))
			for _, a := range questions(t, folder) {
				response, failed := program.Interpret(context.Background(), a.request())
				trace, err := program.Trace(context.Background(), a.request())
				if err != nil {
					t.Fatalf("%s: %v", a.Name, err)
				}
				if (failed != nil) != (trace.Failure != nil) || failed != nil && failed.Error() != trace.Failure.Error() {
					t.Errorf("%s: the failure is %v, and in the trace %v", a.Name, failed, trace.Failure)
				}
				if diff := cmp.Diff(response, trace.Response); diff != "" {
					t.Errorf("%s: the answer (-want +trace):\n%s", a.Name, diff)
				}
				if failed != nil {
					continue
				}
				var applied []string
				for _, r := range trace.Rules {
					if r.Outcome == rule.Failed {
						t.Errorf("%s: %s failed: %v", a.Name, r.At, r.Failure)
					}
					if r.Outcome == rule.Applied || r.Outcome == rule.Unchanged {
						applied = append(applied, r.At)
					}
				}
				if diff := cmp.Diff(response.Because, applied); diff != "" {
					t.Errorf("%s: the rules that apply (-answer +trace):\n%s", a.Name, diff)
				}
			}
		})
	}
}

// TestTrace checks the trace of each rule.
func TestTrace(t *testing.T) {
	program := load(t, golden.Read(t, "testdata/traces/profile.yaml"))
	var out strings.Builder
	for _, a := range questions(t, "testdata/traces") {
		trace, err := program.Trace(context.Background(), a.request())
		if err != nil {
			t.Fatalf("%s: %v", a.Name, err)
		}
		out.WriteString("## " + a.Name + "\n")
		for _, r := range trace.Rules {
			fmt.Fprintf(&out, "%s: %s, held %t, missed %t\n", r.At, r.Outcome, r.Held, r.Missed)
			if r.Failure != nil {
				fmt.Fprintf(&out, "  %d %s\n", r.Failure.Code, r.Failure.Message)
			}
		}
	}
	golden.Compare(t, "testdata/traces/want.txt", out.String())
}

// TestTraceStopped checks that a trace ends with its context.
func TestTraceStopped(t *testing.T) {
	program := load(t, golden.Read(t, "testdata/traces/profile.yaml"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, a := range questions(t, "testdata/traces") {
		if _, err := program.Trace(ctx, a.request()); err == nil {
			t.Errorf("%s is traced", a.Name)
		}
	}
}
