// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// finding is one of a Deployment of a control plane.
func finding(name string, state drift.State) driftFinding {
	return driftFinding{Finding: drift.Finding{
		ObjectRef: drift.ObjectRef{Set: target.ControlPlane, Provider: "acme", Namespace: "shoot", Group: "apps", Version: "v1", Kind: "Deployment",
			Resource: "deployments", Name: name},
		Target: name, State: state,
	}}
}

// sampleDrift has a finding of each kind.
func sampleDrift() *driftResult {
	touched, failed, gone := finding("a", drift.Outdated), finding("b", drift.Unmutated), finding("c", drift.Edited)
	touched.Mark, touched.Rules, touched.Touched = []string{"acme@01234567"}, []string{"acme/x", "acme/y"}, drift.Fixed
	failed.Touched, failed.TouchProblem = drift.Failed, "touching Deployment b of shoot: no"
	denied := finding("d", drift.Denied)
	denied.Problem = "ContractBroken: no"
	return &driftResult{
		Seed: "https://seed", Profiles: []string{"acme@76543210"}, Findings: []driftFinding{touched, failed, gone, denied, finding("e", drift.Marked)},
		Summary: drift.Summary{
			ControlPlanes: 1, Objects: 12, OptedOut: []string{"shoot--x"},
			Found: map[drift.State]int{drift.Outdated: 1, drift.Unmutated: 1, drift.Edited: 1, drift.Denied: 1, drift.Marked: 1},
		},
		Touched: map[drift.TouchResult]int{drift.Fixed: 1, drift.Failed: 1},
	}
}

// TestDriftText checks the text output.
func TestDriftText(t *testing.T) {
	var out bytes.Buffer
	if err := sampleDrift().write(&Streams{Out: &out}, "text"); err != nil {
		t.Fatal(err)
	}
	const want = `STATE              NAMESPACE  OBJECT        SET           MARK           WHY
outdated, fixed    shoot      Deployment a  controlplane  acme@01234567  acme/x, acme/y
unmutated, failed  shoot      Deployment b  controlplane  -              touching Deployment b of shoot: no
edited             shoot      Deployment c  controlplane  -              values of removed rules
denied             shoot      Deployment d  controlplane  -              ContractBroken: no
marked             shoot      Deployment e  controlplane  -              the profiles change nothing

12 objects of 1 control plane checked with acme@76543210: 1 unmutated, 1 outdated, 1 edited, 1 marked, 1 denied.
Touched, fixed: 1.
Touched, failed: 1.
Skipped, because their namespaces are annotated: shoot--x.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDriftWords checks the summary without drift, and without control planes.
func TestDriftWords(t *testing.T) {
	for name, c := range map[string]struct {
		summary drift.Summary
		want    string
	}{
		"all objects conform": {
			drift.Summary{ControlPlanes: 2, Objects: 1},
			"1 object of 2 control planes checked with acme@76543210, base@01234567: no drift.\n",
		},
		"all opted out": {
			drift.Summary{OptedOut: []string{"shoot--x", "shoot--y"}},
			"No object was checked with acme@76543210, base@01234567.\nSkipped, because their namespaces are annotated: shoot--x, shoot--y.\n",
		},
		"no control plane could be read": {
			drift.Summary{Unread: []drift.UnreadNamespace{{Namespace: "shoot--x", Problem: "no"}}},
			"No object was checked with acme@76543210, base@01234567.\nshoot--x could not be read: no\n",
		},
		"no object was checked": {drift.Summary{ControlPlanes: 1}, "No object was checked with acme@76543210, base@01234567.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := driftResult{Profiles: []string{"acme@76543210", "base@01234567"}, Summary: c.summary}
			if diff := cmp.Diff(c.want, r.words()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestDriftJSON checks the fields that docs/usage/output.md describes.
func TestDriftJSON(t *testing.T) {
	var out bytes.Buffer
	if err := sampleDrift().write(&Streams{Out: &out}, "json"); err != nil {
		t.Fatal(err)
	}
	var read map[string]any
	if err := json.Unmarshal(out.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	first := read["findings"].([]any)[0]
	delete(read, "findings")
	want := map[string]any{
		"seed": "https://seed", "profiles": []any{"acme@76543210"}, "controlPlanes": 1.0, "objects": 12.0, "optedOut": []any{"shoot--x"},
		"found": map[string]any{"outdated": 1.0, "unmutated": 1.0, "edited": 1.0, "denied": 1.0, "marked": 1.0}, "touched": map[string]any{"fixed": 1.0, "failed": 1.0},
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want = map[string]any{
		"set": "controlplane", "provider": "acme", "namespace": "shoot", "group": "apps", "version": "v1", "kind": "Deployment", "resource": "deployments",
		"name": "a", "target": "a", "state": "outdated", "mark": []any{"acme@01234567"}, "rules": []any{"acme/x", "acme/y"}, "touched": "fixed",
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDriftStatus checks the exit status.
func TestDriftStatus(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *driftResult)
		want   int
	}{
		"an object still differs":           {func(*driftResult) {}, 1},
		"all is fixed":                      {func(r *driftResult) { r.Findings, r.Found = r.Findings[:1], map[drift.State]int{drift.Outdated: 1} }, 0},
		"only a mark":                       {func(r *driftResult) { r.Findings, r.Found = r.Findings[4:], map[drift.State]int{drift.Marked: 1} }, 0},
		"an object is denied":               {func(r *driftResult) { r.Findings, r.Found = r.Findings[3:4], map[drift.State]int{drift.Denied: 1} }, 1},
		"a control plane is unread":         {func(r *driftResult) { r.Unread = []drift.UnreadNamespace{{Namespace: "x", Problem: "y"}} }, 2},
		"the state of an object is unknown": {func(r *driftResult) { r.Found[drift.Unknown] = 1 }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r, status := sampleDrift(), 0
			c.change(r)
			var left found
			if err := r.status(); errors.As(err, &left) {
				status = statusFound
			} else if err != nil {
				status = statusFailed
			}
			if status != c.want {
				t.Errorf("the status is %d, want %d", status, c.want)
			}
		})
	}
	if todo := sampleDrift().drifted(); len(todo) != 3 {
		t.Errorf("%d are to be touched", len(todo))
	}
}
