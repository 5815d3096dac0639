// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package drift finds objects of control planes that differ from the result of the profiles: those admitted while the
// webhook was unavailable, not installed, or running other profiles, and those with values of removed rules. It
// computes the webhook's response to an update without changes; if this is a patch, the object has drifted. On request
// it touches such objects, one at a time at a limited rate, so that the webhook mutates them.
//
// It reads page by page, keeps no objects, and writes only touches, which change nothing themselves. Start reading at
// Finder.Find and Toucher.Touch.
package drift

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// Engine computes the results of the webhook.
type Engine interface {
	// Registrations returns the webhooks that its profiles need, and Profiles their versions.
	Registrations() []mutation.Registration
	Profiles() []mutation.ProfileVersion
	// Admit mutates one object; its error is a *mutation.Failure.
	Admit(context.Context, mutation.Request) (*mutation.Result, error)
}

// Finder looks for objects that have drifted.
type Finder struct {
	API    API
	Engine Engine
	// Namespace restricts the search to one namespace; empty means all with webhooks.
	Namespace string
	// Parallel is the number of namespaces that are searched concurrently; 0 means one.
	Parallel int
	// Progress receives the number of checked namespaces, and Left is called for each checked one; each may be nil.
	Progress func(done, of int)
	Left     func(namespace string)
}

// Summary counts the searched objects.
type Summary struct {
	// ControlPlanes counts the namespaces, and Objects the objects in them with rules.
	ControlPlanes int `json:"controlPlanes"`
	Objects       int `json:"objects"`
	// OptedOut are the namespaces with the opt-out annotation. They are not checked.
	OptedOut []string `json:"optedOut,omitempty"`
	// Unread lists namespaces that could not be read completely.
	Unread []UnreadNamespace `json:"unread,omitempty"`
	// Found are the findings by their states.
	Found map[State]int `json:"found"`
}

// UnreadNamespace is a namespace that could not be read.
type UnreadNamespace struct {
	Namespace string `json:"namespace"`
	Problem   string `json:"problem"`
}

// Drifted returns the number of drifted objects.
func (s Summary) Drifted() int {
	count := 0
	for state, n := range s.Found {
		if state.Drifted() {
			count += n
		}
	}
	return count
}

// search is the state of one call of Find.
type search struct {
	*Finder
	registrations []mutation.Registration

	// mutex guards the following fields; each is called under it.
	mutex   sync.Mutex
	summary Summary
	done    int
	each    func(Finding) error
	// stopped is the error of each.
	stopped error
}

// Find calls each for every finding, one at a time; with several namespaces in parallel, their order is undefined. It
// fails if each, the context, or the list of namespaces fails; the summary contains namespaces that cannot be read.
func (f *Finder) Find(ctx context.Context, each func(Finding) error) (Summary, error) {
	s := &search{Finder: f, registrations: f.Engine.Registrations(), each: each, summary: Summary{Found: map[State]int{}}}
	all, err := f.namespaces(ctx)
	if err != nil {
		return s.summary, err
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(max(1, f.Parallel))
	for _, one := range all {
		group.Go(func() error { return s.namespace(inner, one, len(all)) })
	}
	err = group.Wait()
	slices.Sort(s.summary.OptedOut)
	slices.SortFunc(s.summary.Unread, func(a, b UnreadNamespace) int { return strings.Compare(a.Namespace, b.Namespace) })
	return s.summary, err
}

// namespace searches one namespace.
func (s *search) namespace(ctx context.Context, n facts.Namespace, of int) error {
	var err error
	optedOut := n.Annotations[annotation.OptOut] != ""
	if !optedOut {
		err = s.objects(ctx, n)
	}
	if s.Left != nil {
		s.Left(n.Name)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.done++
	if s.Progress != nil {
		s.Progress(s.done, of)
	}
	switch {
	case s.stopped != nil:
		return s.stopped
	case ctx.Err() != nil:
		return ctx.Err()
	case optedOut:
		s.summary.OptedOut = append(s.summary.OptedOut, n.Name)
	case err != nil:
		s.summary.Unread = append(s.summary.Unread, UnreadNamespace{n.Name, err.Error()})
	default:
		s.summary.ControlPlanes++
	}
	return nil
}

// objects checks all objects of a namespace with rules.
func (s *search) objects(ctx context.Context, n facts.Namespace) error {
	var selected []mutation.Registration
	var forms []target.Form
	for _, r := range s.registrations {
		if r.Selects(n.Name, n.Labels) {
			selected, forms = append(selected, r), append(forms, r.Forms...)
		}
	}
	if selected == nil {
		return errNotSelected
	}
	for _, form := range Distinct(forms) {
		seen := map[string]bool{}
		err := Objects(ctx, s.API, form, n.Name, objectPage, func(raw json.RawMessage) error {
			current, name, err := ReadObject(raw, form)
			if err != nil || seen[name] {
				return err
			}
			seen[name] = true
			for _, r := range selected {
				if r.Has(form.Group, form.Kind, name) {
					err = errors.Join(err, s.object(ctx, r, n.Name, form, name, current))
				}
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("reading %s: %w", form.Resource, err)
		}
	}
	return nil
}

// errNotSelected means that no profile has a webhook for the given namespace.
var errNotSelected = errors.New("the profiles have no webhook for it: its labels name other providers, or none")

// Distinct returns each form once, and omits named forms if there is one for all names of the kind. A prefix of names stands
// for all names, because the API cannot select it.
func Distinct(forms []target.Form) []target.Form {
	var all []target.Form
	for _, form := range forms {
		form.Parts, form.Older = 0, false
		if strings.HasSuffix(form.Name, "*") {
			form.Name = ""
		}
		if !slices.Contains(all, form) {
			all = append(all, form)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(f target.Form) bool {
		anyName := f
		anyName.Name = ""
		return f.Name != "" && slices.Contains(all, anyName)
	})
}

// Objects calls each for the existing objects of a form in a namespace, in pages of at most limit objects. It ignores a kind
// that does not exist. It fails if the objects cannot be read or each fails.
func Objects(ctx context.Context, api API, form target.Form, namespace string, limit int, each func(json.RawMessage) error) error {
	var err error
	if form.Name == "" {
		err = List(ctx, api, form, namespace, "", limit, each)
	} else {
		var raw []byte
		if raw, err = api.Read(ctx, Path(form, namespace, form.Name), nil); err == nil {
			err = each(raw)
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// object checks an object for one webhook, and reports the finding.
func (s *search) object(ctx context.Context, r mutation.Registration, namespace string, form target.Form, name string, current []byte) error {
	finding, selected, err := check(ctx, s.Engine, ObjectRef{
		Set: r.Set, Provider: r.Provider, Garden: r.Garden, Namespace: namespace, Group: form.Group, Version: form.Version, Kind: form.Kind,
		Resource: form.Resource, Name: name,
	}, current)
	if err != nil || !selected {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.summary.Objects++; finding.State == "" {
		return nil
	}
	s.summary.Found[finding.State]++
	if s.stopped == nil {
		s.stopped = s.each(finding)
	}
	return s.stopped
}

// State is the state of an object.
type State string

// The states of objects that are found.
const (
	// Unmutated: the profiles change it, and it has no mark: no webhook has seen it.
	Unmutated State = "unmutated"
	// Outdated: the profiles change it, and its mark names other versions of profiles.
	Outdated State = "outdated"
	// Edited: the profiles change it, although its mark names the current versions: it was later written without the
	// webhook, or the objects of lookups have changed.
	Edited State = "edited"
	// Marked: the profiles do not change it, but its mark names another version. Nothing needs to be done, unless a
	// removed rule wrote a pod template, a unit or a file, which is not recorded.
	Marked State = "marked"
	// Denied: the profiles refuse it.
	Denied State = "denied"
	// Unknown: the result of the profiles is unknown, because an object that they read is missing or unreadable.
	Unknown State = "unknown"
)

// States returns all states.
func States() []State { return []State{Unmutated, Outdated, Edited, Marked, Denied, Unknown} }

// Drifted reports whether the object differs from the result of the profiles and a touch would fix it.
func (s State) Drifted() bool { return s == Unmutated || s == Outdated || s == Edited }

// ObjectRef identifies an object and its webhook.
type ObjectRef struct {
	Set target.Set `json:"set"`
	// Provider is the value of the set's namespace label; empty for the garden namespace (see Garden).
	Provider string `json:"provider,omitempty"`
	Garden   bool   `json:"garden,omitempty"`

	Namespace string `json:"namespace"`
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Resource  string `json:"resource"`
	Name      string `json:"name"`
}

// String returns the kind and the name of the object.
func (o ObjectRef) String() string { return o.Kind + " " + o.Name }

// Same reports whether both are the same object, possibly for different webhooks.
func (o ObjectRef) Same(other ObjectRef) bool {
	return o.Namespace == other.Namespace && o.Group == other.Group && o.Resource == other.Resource && o.Name == other.Name
}

// path returns the API path of the object.
func (o ObjectRef) path() string {
	return Path(target.Form{Group: o.Group, Version: o.Version, Resource: o.Resource}, o.Namespace, o.Name)
}

// Finding is an object that has drifted, is denied, or cannot be checked.
type Finding struct {
	ObjectRef
	// Target is its name in the contract.
	Target string `json:"target"`
	State  State  `json:"state"`
	// Mark has the versions of profiles of the last mutation, from its annotation: <profile>@<beginning of the hash>.
	Mark []string `json:"mark,omitempty"`
	// Rules lists the rules that would change it. It is empty if only values of removed rules would be restored.
	Rules []string `json:"rules,omitempty"`
	// Problem is the reason for the states Denied and Unknown.
	Problem string `json:"problem,omitempty"`
}

// Versions returns the mark as one string.
func (f Finding) Versions() string { return strings.Join(f.Mark, ",") }

// ReadObject returns a stored object and its name. It adds the kind, which kube-apiserver omits in lists, and removes the
// managed fields.
func ReadObject(raw []byte, form target.Form) (object []byte, name string, err error) {
	parsed, err := document.Parse(raw)
	if err != nil {
		return nil, "", err
	}
	root := parsed.Root()
	version := schema.GroupVersion{Group: form.Group, Version: form.Version}.String()
	for key, value := range map[string]string{"apiVersion": version, "kind": form.Kind} {
		if root.Get(key) == nil {
			if _, err := root.Set(key, document.Quote(value)); err != nil {
				return nil, "", err
			}
		}
	}
	root.Get("metadata").Remove("managedFields")
	name, _ = root.Find("metadata", "name").Text()
	return parsed.Bytes(), name, nil
}

// check computes the webhook's response to an update of an object without changes. The state is empty if the object is
// up to date; selected is false if no rule concerns it.
func check(ctx context.Context, e Engine, of ObjectRef, current []byte) (f Finding, selected bool, err error) {
	parsed, err := document.Parse(current)
	if err != nil {
		return f, false, fmt.Errorf("%s: %w", of, err)
	}
	f = Finding{ObjectRef: of, Mark: annotation.Marks(parsed, of.Set)}
	result, err := e.Admit(ctx, mutation.Request{
		Set: of.Set, Provider: of.Provider, Garden: of.Garden, Operation: "UPDATE", Namespace: of.Namespace, Name: of.Name, Group: of.Group,
		Version: of.Version, Kind: of.Kind, Object: current, OldObject: current,
	})
	if ctx.Err() != nil {
		return f, false, ctx.Err()
	}
	var failure *mutation.Failure
	switch {
	case errors.As(err, &failure):
		f.State, f.Target, f.Problem = Denied, failure.Target, string(failure.Reason)+": "+failure.Error() // as in the webhook's answer
		if failure.Code() >= http.StatusInternalServerError {
			f.State = Unknown
		}
		return f, true, nil
	case err != nil:
		return f, false, fmt.Errorf("%s: %w", of, err)
	case result.Target == "":
		return f, false, nil
	}
	f.Target = result.Target
	older := slices.ContainsFunc(f.Mark, func(mark string) bool {
		return !slices.ContainsFunc(e.Profiles(), func(p mutation.ProfileVersion) bool { return p.Version() == mark })
	})
	switch {
	case result.Patch == nil && older:
		f.State = Marked
	case result.Patch == nil:
	case len(f.Mark) == 0:
		f.State = Unmutated
	case older:
		f.State = Outdated
	default:
		f.State = Edited
	}
	if result.Patch != nil {
		f.Rules = changing(result)
	}
	return f, true, nil
}

// changing returns the rules that change the object, each once.
func changing(result *mutation.Result) []string {
	var rules []string
	for _, applied := range result.Applied {
		if name := applied.Profile + "/" + applied.Rule; applied.Outcome == mutation.Changed && !slices.Contains(rules, name) {
			rules = append(rules, name)
		}
	}
	return rules
}

// namespaceForm is the form of namespaces.
var namespaceForm = target.Form{Version: "v1", Kind: "Namespace", Resource: "namespaces"}

// namespaces returns the namespaces with webhooks, sorted by name, or only the given one.
func (f *Finder) namespaces(ctx context.Context) ([]facts.Namespace, error) {
	if f.Namespace == "" {
		return ControlPlanes(ctx, f.API, f.Engine.Registrations())
	}
	one, err := ReadNamespace(ctx, f.API, f.Namespace)
	return []facts.Namespace{one}, err
}

// ReadNamespace reads a namespace. It fails if the namespace does not exist (see apierrors.IsNotFound) or is unreadable.
func ReadNamespace(ctx context.Context, api API, name string) (facts.Namespace, error) {
	raw, err := api.Read(ctx, Path(namespaceForm, "", name), nil)
	if err != nil {
		return facts.Namespace{}, fmt.Errorf("reading the Namespace %s: %w", name, err)
	}
	return facts.DecodeNamespace(raw)
}

// ControlPlanes returns the namespaces with webhooks, sorted by name. It fails if they are unreadable.
func ControlPlanes(ctx context.Context, api API, registrations []mutation.Registration) ([]facts.Namespace, error) {
	found := map[string]facts.Namespace{}
	selectors, garden := selectorsOf(registrations)
	for _, selector := range selectors {
		err := List(ctx, api, namespaceForm, "", selector, namespacePage, func(raw json.RawMessage) error {
			one, err := facts.DecodeNamespace(raw)
			found[one.Name] = one
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listing namespaces: %w", err)
		}
	}
	if garden {
		switch one, err := ReadNamespace(ctx, api, target.GardenNamespace); {
		case err == nil:
			found[one.Name] = one
		case !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b facts.Namespace) int { return strings.Compare(a.Name, b.Name) }), nil
}

// selectorsOf returns the label selectors of namespaces, one for each set, and whether there is a webhook for the
// garden.
func selectorsOf(registrations []mutation.Registration) (selectors []string, garden bool) {
	providers := map[target.Set][]string{}
	for _, r := range registrations {
		if r.Garden {
			garden = true
		} else if !slices.Contains(providers[r.Set], r.Provider) {
			providers[r.Set] = append(providers[r.Set], r.Provider)
		}
	}
	for _, set := range slices.Sorted(maps.Keys(providers)) {
		selectors = append(selectors, fmt.Sprintf("%s in (%s)", set.NamespaceLabel(), strings.Join(providers[set], ",")))
	}
	return selectors, garden
}

// Permission is a permission for objects of a kind, in addition to those that every installation has: to read
// namespaces and Clusters.
type Permission struct {
	Group    string `json:"group"`
	Resource string `json:"resource"`
	// Names restricts the permission to objects with these names; nil means all objects.
	Names []string `json:"names,omitempty"`
}

// Permissions returns the permissions for all objects with rules, sorted.
func Permissions(registrations []mutation.Registration) []Permission {
	var forms []target.Form
	for _, r := range registrations {
		forms = append(forms, r.Forms...)
	}
	var all []Permission
	for _, form := range Distinct(forms) {
		at := slices.IndexFunc(all, func(p Permission) bool { return p.Group == form.Group && p.Resource == form.Resource })
		if at < 0 {
			all, at = append(all, Permission{Group: form.Group, Resource: form.Resource}), len(all)
		}
		if form.Name != "" && !slices.Contains(all[at].Names, form.Name) {
			all[at].Names = append(all[at].Names, form.Name)
		}
	}
	for i := range all {
		slices.Sort(all[i].Names)
	}
	slices.SortFunc(all, func(a, b Permission) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Resource, b.Resource))
	})
	return all
}
