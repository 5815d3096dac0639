// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/time/rate"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/drift"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/seed"
)

// driftOptions are the flags of graft drift.
type driftOptions struct {
	profiles   profileFlags
	connection seed.Connection
	namespace  string
	output     string
	touch, yes bool
	rate       float64
	limit      int
	rbac       bool
}

func newDriftCommand(s *Streams) *cobra.Command {
	o := &driftOptions{profiles: profileFlags{mark: true}}
	command := &cobra.Command{
		Use:   "drift",
		Short: "Find objects of a seed that missed the webhook, and touch them",
		Long: `Find objects of a seed that missed the webhook, and touch them.

It compares each object with rules with the result of the webhook for an unchanged update. Objects differ if
they were admitted without the webhook or with other profiles, or if they have values of removed rules. Without
--profile, it reads the profiles from the ConfigMaps of the seed, as the chart installs them; profiles from
images must be given. Nothing is changed.

--touch sends an empty patch to each object that differs, at a limited rate, so that the webhook mutates it.
Without --yes, it only says how many these are. Changed Pod templates roll: graft diff --live --no-dry-run shows
them.

Exit status: 0; 1 if objects differ or are denied, and were not fixed; 2 if the command failed.`,
		Example: `  # objects that the installed webhook has missed (seed.yaml does not exist here)
  graft drift --kubeconfig seed.yaml  # exit 2

  # fix ten objects, one every five seconds
  graft drift --touch --yes --rate 0.2 --limit 10 --kubeconfig seed.yaml  # exit 2

  # permissions for a CronJob with the extension's ServiceAccount, as rules of a ClusterRole
  graft drift --rbac -p example/profiles/openstack/profile.yaml`,
		Args: atMost("no argument", 0),
		RunE: func(command *cobra.Command, _ []string) error { return o.run(command.Context(), s) },
	}
	set := command.Flags()
	set.StringArrayVarP(&o.profiles.paths, "profile", "p", nil, "file or folder with profiles (repeatable; default: those in ConfigMaps of the seed)")
	o.profiles.addInstallationTo(set)
	set.StringVar(&o.connection.Kubeconfig, "kubeconfig", "", "kubeconfig of the seed (default: KUBECONFIG, or ~/.kube/config)")
	set.StringVar(&o.connection.Context, "kube-context", "", "context in the kubeconfig (default: the current one)")
	set.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the control plane (default: all)")
	set.StringVarP(&o.output, "output", "o", "text", "output format: text, json")
	set.BoolVar(&o.touch, "touch", false, "touch objects that differ, so that the webhook mutates them")
	set.BoolVarP(&o.yes, "yes", "y", false, "with --touch: confirm it")
	set.Float64Var(&o.rate, "rate", 1, "with --touch: objects per second, at most 50")
	set.IntVar(&o.limit, "limit", 0, "with --touch: maximum number of objects; 0 means all")
	set.BoolVar(&o.rbac, "rbac", false, "only print the permissions for objects with rules, as rules of a ClusterRole (default profile: profile.yaml)")
	choices(command, "output", "text", "json")
	return command
}

// fastest is the highest rate of touches: each may roll pods.
const fastest = 50

func (o *driftOptions) run(ctx context.Context, s *Streams) error {
	switch {
	case o.rate <= 0 || o.rate > fastest:
		return fmt.Errorf("--rate must be more than 0 and at most %d", fastest)
	case o.limit < 0:
		return errors.New("--limit must be 0 or more")
	}
	if o.rbac {
		return o.writePermissions(s)
	}
	connected, err := seed.Connect(o.connection)
	if err != nil {
		return err
	}
	profiles, err := o.load(ctx, connected)
	if err != nil {
		return err
	}
	result := &driftResult{Seed: connected.Host(), Profiles: []string{}, Findings: []driftFinding{}}
	for _, version := range profiles.Program.Profiles() {
		result.Profiles = append(result.Profiles, version.Version())
	}
	engine := seed.NewEngine(connected, profiles.Program)
	if err := o.find(ctx, s, connected, engine, result); err != nil {
		return fmt.Errorf("reading the seed %s: %w", connected.Host(), err)
	}
	if o.touch {
		if err := o.touchAll(ctx, s, connected, engine, result); err != nil {
			return err
		}
	}
	if err := result.write(s, o.output); err != nil {
		return err
	}
	return result.status()
}

// load reads the profiles that are named, or those of the seed.
func (o *driftOptions) load(ctx context.Context, from *seed.Seed) (*loaded, error) {
	if len(o.profiles.paths) > 0 {
		return o.profiles.load()
	}
	files, err := from.Profiles(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the seed %s: %w", from.Host(), err)
	}
	images, err := from.ProfileImages(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the seed %s: %w (--profile avoids this request)", from.Host(), err)
	}
	if len(images) > 0 {
		return nil, fmt.Errorf("the extension in the seed %s has profiles in images, which graft drift cannot read (%s): extract them, "+
			"and name all profiles with --profile, also those in ConfigMaps", from.Host(), strings.Join(images, ", "))
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the seed %s has no ConfigMap with profiles: name profiles with --profile", from.Host())
	}
	return o.profiles.compile(files)
}

func (o *driftOptions) find(ctx context.Context, s *Streams, from *seed.Seed, engine *seed.Engine, result *driftResult) (err error) {
	meter := newMeter(s, "control plane")
	defer meter.done()
	f := drift.Finder{API: from, Engine: engine, Namespace: o.namespace, Parallel: liveParallel, Progress: meter.step, Left: engine.Leave}
	result.Summary, err = f.Find(ctx, func(f drift.Finding) error {
		result.Findings = append(result.Findings, driftFinding{Finding: f})
		return nil
	})
	slices.SortFunc(result.Findings, compareFindings)
	if err == nil && result.ControlPlanes+len(result.Unread)+len(result.OptedOut) == 0 {
		return seed.ErrNoControlPlane
	}
	return err
}

// touchAll touches the objects that differ.
func (o *driftOptions) touchAll(ctx context.Context, s *Streams, to *seed.Seed, engine *seed.Engine, result *driftResult) error {
	todo := result.drifted()
	if o.limit > 0 && len(todo) > o.limit {
		todo = todo[:o.limit]
	}
	if len(todo) == 0 {
		return nil
	}
	if !o.yes {
		return fmt.Errorf("to touch %s of %s, at most %v a second, give --yes", counted(len(todo), "object", "objects"), to.Host(), o.rate)
	}
	result.Touched = map[drift.TouchResult]int{}
	meter := newMeter(s, "object")
	defer meter.done()
	toucher := &drift.Toucher{API: to, Engine: engine, Limiter: rate.NewLimiter(rate.Limit(o.rate), 1)}
	streak := &drift.Streak{}
	for i, f := range todo {
		outcome, err := toucher.Touch(ctx, f.ObjectRef)
		if outcome == "" {
			return err
		}
		if i+1 == len(todo) || todo[i+1].Namespace != f.Namespace {
			engine.Leave(f.Namespace)
		}
		if f.Touched = outcome; err != nil {
			f.TouchProblem = err.Error()
		}
		result.Touched[outcome]++
		meter.step(i+1, len(todo))
		if streak.Seen(outcome) {
			fmt.Fprintln(s.Err, streak)
			break
		}
	}
	return nil
}

// writePermissions shows the rules of a ClusterRole.
func (o *driftOptions) writePermissions(s *Streams) error {
	profiles, err := o.profiles.load()
	if err != nil {
		return err
	}
	fmt.Fprintln(s.Out, "rules:")
	for _, p := range drift.Permissions(profiles.Program.Registrations()) {
		verbs := "verbs: [list]"
		if len(p.Names) > 0 {
			verbs = "resourceNames: [" + strings.Join(p.Names, ", ") + "], verbs: [get]"
		}
		fmt.Fprintf(s.Out, "- {apiGroups: [%q], resources: [%s], %s}\n", p.Group, p.Resource, verbs)
	}
	return nil
}

// driftResult is the result of graft drift.
type driftResult struct {
	Seed string `json:"seed"`
	// Profiles are the versions that were looked with.
	Profiles []string `json:"profiles"`
	drift.Summary
	Findings []driftFinding `json:"findings"`
	// Touched are touches by their outcomes; nil: nothing was to be touched.
	Touched map[drift.TouchResult]int `json:"touched,omitempty"`
}

// driftFinding is a finding with the outcome of its touch.
type driftFinding struct {
	drift.Finding
	Touched      drift.TouchResult `json:"touched,omitempty"`
	TouchProblem string            `json:"touchProblem,omitempty"`
}

func compareFindings(a, b driftFinding) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Set, b.Set))
}

// drifted returns the drifted objects, each once.
func (r *driftResult) drifted() []*driftFinding {
	var all []*driftFinding
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.State.Drifted() && (len(all) == 0 || !all[len(all)-1].Same(f.ObjectRef)) {
			all = append(all, f)
		}
	}
	return all
}

func (r *driftResult) write(s *Streams, form string) error {
	if form == "json" {
		return render.WriteJSON(s.Out, r)
	}
	_, err := fmt.Fprint(s.Out, r.table()+r.words())
	return err
}

// table returns a line for each finding.
func (r *driftResult) table() string {
	if len(r.Findings) == 0 {
		return ""
	}
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "STATE\tNAMESPACE\tOBJECT\tSET\tMARK\tWHY\n")
	for _, f := range r.Findings {
		state := string(f.State)
		if f.Touched != "" {
			state += ", " + string(f.Touched)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", state, f.Namespace, f.ObjectRef, f.Set, cmp.Or(f.Versions(), "-"), f.why())
	}
	_ = table.Flush() // a Builder does not fail
	return out.String() + "\n"
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
		fmt.Fprintf(&out, "No object was checked with %s.\n", profiles)
	} else {
		if len(parts) == 0 {
			parts = []string{"no drift"}
		}
		objects, planes := counted(r.Objects, "object", "objects"), counted(r.ControlPlanes, "control plane", "control planes")
		fmt.Fprintf(&out, "%s of %s checked with %s: %s.\n", objects, planes, profiles, strings.Join(parts, ", "))
	}
	for _, outcome := range drift.Outcomes() {
		if n := r.Touched[outcome]; n > 0 {
			fmt.Fprintf(&out, "Touched, %s: %d.\n", outcome, n)
		}
	}
	if len(r.OptedOut) > 0 {
		fmt.Fprintf(&out, "Skipped, because their namespaces are annotated: %s.\n", strings.Join(r.OptedOut, ", "))
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
