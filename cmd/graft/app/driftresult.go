// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
)

// driftResult is the result of graft drift.
type driftResult struct {
	Seed string `json:"seed"`
	// Profiles are the versions that were looked with.
	Profiles []string `json:"profiles"`
	drift.Summary
	Findings []driftFinding `json:"findings"`
	// Touched are touches by their outcomes; nil: nothing was to be touched.
	Touched map[drift.Outcome]int `json:"touched,omitempty"`
}

// driftFinding is a finding with the outcome of its touch.
type driftFinding struct {
	drift.Finding
	Touched      drift.Outcome `json:"touched,omitempty"`
	TouchProblem string        `json:"touchProblem,omitempty"`
}

func compareFindings(a, b driftFinding) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Set, b.Set))
}

// drifted returns the drifted objects, each once.
func (r *driftResult) drifted() []*driftFinding {
	var all []*driftFinding
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.State.Drifted() && (len(all) == 0 || !all[len(all)-1].Same(f.Object)) {
			all = append(all, f)
		}
	}
	return all
}

func (r *driftResult) write(s *Streams, form string) error {
	if form == driftJSON {
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	if err := r.table(s); err != nil {
		return err
	}
	_, err := fmt.Fprint(s.Out, r.words())
	return err
}

// table has a line for each finding.
func (r *driftResult) table(s *Streams) error {
	if len(r.Findings) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "STATE\tNAMESPACE\tOBJECT\tSET\tMARK\tWHY\n")
	for _, f := range r.Findings {
		state := string(f.State)
		if f.Touched != "" {
			state += ", " + string(f.Touched)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", state, f.Namespace, f.Object, f.Set, cmp.Or(f.Versions(), "-"), f.why())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(s.Out)
	return err
}

// why describes a finding in a few words.
func (f driftFinding) why() string {
	switch {
	case f.TouchProblem != "":
		return f.TouchProblem
	case f.Problem != "":
		return f.Problem
	case len(f.Rules) > 0:
		return strings.Join(f.Rules, ", ")
	case f.State == drift.Marked:
		return "the profiles change nothing"
	default:
		return "values of removed rules"
	}
}

// words describes the searched objects, the findings and the actions.
func (r *driftResult) words() string {
	var out strings.Builder
	var parts []string
	for _, state := range drift.States() {
		if n := r.Found[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	profiles := strings.Join(r.Profiles, ", ")
	if r.Objects == 0 && len(parts) == 0 {
		fmt.Fprintf(&out, "No object was looked at with %s.\n", profiles)
	} else {
		if len(parts) == 0 {
			parts = []string{"all are as they should be"}
		}
		objects, planes := counted(r.Objects, "object", "objects"), counted(r.ControlPlanes, "control plane", "control planes")
		fmt.Fprintf(&out, "%s of %s looked at with %s: %s.\n", objects, planes, profiles, strings.Join(parts, ", "))
	}
	for _, outcome := range drift.Outcomes() {
		if n := r.Touched[outcome]; n > 0 {
			fmt.Fprintf(&out, "Touched, %s: %d.\n", outcome, n)
		}
	}
	if len(r.OptedOut) > 0 {
		fmt.Fprintf(&out, "Left alone, as their namespaces say so: %s.\n", strings.Join(r.OptedOut, ", "))
	}
	for _, unread := range r.Unread {
		fmt.Fprintf(&out, "%s could not be read: %s\n", unread.Namespace, unread.Problem)
	}
	return out.String()
}

// status returns the error that determines the exit status.
func (r *driftResult) status() error {
	switch {
	case len(r.Unread) > 0:
		return errors.New("some control planes could not be read")
	case r.Found[drift.Unknown] > 0:
		return errors.New("the result of the profiles is unknown for some objects")
	}
	left := r.Found[drift.Denied]
	for _, f := range r.drifted() {
		if f.Touched != drift.Fixed && f.Touched != drift.Gone {
			left++
		}
	}
	if left > 0 {
		return found{}
	}
	return nil
}
