// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

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
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// TimeLimited limits the time of an engine for each object, including lookups, to Timeout.
type TimeLimited struct {
	Engine
	Timeout time.Duration
}

// Admit calls the engine with the timeout. It fails as the engine does, or when the timeout has passed.
func (t TimeLimited) Admit(ctx context.Context, r mutation.Request) (*mutation.Result, error) {
	ctx, end := context.WithTimeout(ctx, t.Timeout)
	defer end()
	return t.Engine.Admit(ctx, r)
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
	// known are the versions of the profiles.
	known []string

	// mutex guards the following fields; each is called under it.
	mutex   sync.Mutex
	summary Summary
	done    int
	each    func(Finding) error
}

// Find calls each for every finding, one at a time; with several namespaces in parallel, their order is undefined. It
// fails if each, the context, or the list of namespaces fails; the summary contains namespaces that cannot be read.
func (f *Finder) Find(ctx context.Context, each func(Finding) error) (Summary, error) {
	s := &search{Finder: f, registrations: f.Engine.Registrations(), known: versionsOf(f.Engine), each: each, summary: Summary{Found: map[State]int{}}}
	all, err := f.namespaces(ctx, s.registrations)
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

func versionsOf(e Engine) []string {
	var known []string
	for _, version := range e.Profiles() {
		known = append(known, version.Version())
	}
	return known
}

// namespace searches one namespace.
func (s *search) namespace(ctx context.Context, n namespace, of int) error {
	var err error
	if n.optOut == "" {
		err = s.objects(ctx, n)
	}
	if s.Left != nil {
		s.Left(n.name)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.done++
	if s.Progress != nil {
		s.Progress(s.done, of)
	}
	var refused *stop
	switch {
	case errors.As(err, &refused):
		return refused.error
	case ctx.Err() != nil:
		return ctx.Err()
	case n.optOut != "":
		s.summary.OptedOut = append(s.summary.OptedOut, n.name)
	case err != nil:
		s.summary.Unread = append(s.summary.Unread, UnreadNamespace{n.name, err.Error()})
	default:
		s.summary.ControlPlanes++
	}
	return nil
}

// stop is an error returned by the callback for findings.
type stop struct{ error }

// objects checks all objects of a namespace with rules.
func (s *search) objects(ctx context.Context, n namespace) error {
	var selected []mutation.Registration
	var forms []target.Form
	for _, r := range s.registrations {
		if r.Selects(n.name, n.labels) {
			selected, forms = append(selected, r), append(forms, r.Forms...)
		}
	}
	if selected == nil {
		return errNotSelected
	}
	for _, form := range distinct(forms) {
		seen := map[string]bool{}
		err := s.form(ctx, n.name, form, func(raw json.RawMessage) error {
			o, err := readObject(raw, form)
			if err != nil || seen[o.name] {
				return err
			}
			seen[o.name] = true
			for _, r := range selected {
				if r.Has(form.Group, form.Kind, o.name) {
					err = errors.Join(err, s.object(ctx, r, n.name, form, o))
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

// distinct returns each form once, and omits named forms if there is one for all names of the kind.
func distinct(forms []target.Form) []target.Form {
	var all []target.Form
	for _, form := range forms {
		form.Parts, form.Older = 0, false
		if strings.HasSuffix(form.Name, "*") {
			form.Name = "" // the API cannot select a prefix of names
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

// form reads the existing objects of a form. It ignores a kind that does not exist.
func (s *search) form(ctx context.Context, namespace string, form target.Form, each func(json.RawMessage) error) error {
	var err error
	if form.Name == "" {
		err = list(ctx, s.API, pathOf(form, namespace, ""), "", objectPage, each)
	} else {
		var raw []byte
		if raw, err = get(ctx, s.API, pathOf(form, namespace, form.Name)); err == nil {
			err = each(raw)
		}
	}
	if notFound(err) {
		return nil
	}
	return err
}

// object checks an object for one webhook, and reports the finding.
func (s *search) object(ctx context.Context, r mutation.Registration, namespace string, form target.Form, o object) error {
	finding, selected, err := check(ctx, s.Engine, s.known, Object{
		Set: r.Set, Provider: r.Provider, Garden: r.Garden, Namespace: namespace, Group: form.Group, Version: form.Version, Kind: form.Kind,
		Resource: form.Resource, Name: o.name,
	}, o)
	if err != nil || !selected {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.summary.Objects++; finding.State == "" {
		return nil
	}
	s.summary.Found[finding.State]++
	if err := s.each(finding); err != nil {
		return &stop{err}
	}
	return nil
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

// Object identifies an object and its webhook.
type Object struct {
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
func (o Object) String() string { return o.Kind + " " + o.Name }

// Same reports whether both are the same object, possibly for different webhooks.
func (o Object) Same(other Object) bool {
	return o.Namespace == other.Namespace && o.Group == other.Group && o.Resource == other.Resource && o.Name == other.Name
}

// path returns the API path of the object.
func (o Object) path() string {
	return pathOf(target.Form{Group: o.Group, Version: o.Version, Resource: o.Resource}, o.Namespace, o.Name)
}

// Finding is an object that has drifted, is denied, or cannot be checked.
type Finding struct {
	Object
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

// object is a stored object of the cluster.
type object struct {
	name string
	raw  []byte
}

// readObject adds the kind to an object of a list, because kube-apiserver omits it there.
func readObject(raw []byte, form target.Form) (object, error) {
	parsed, err := document.Parse(raw)
	if err != nil {
		return object{}, err
	}
	root := parsed.Root()
	version := schema.GroupVersion{Group: form.Group, Version: form.Version}.String()
	for key, value := range map[string]string{"apiVersion": version, "kind": form.Kind} {
		if root.Get(key) == nil {
			if _, err := root.Set(key, document.Quote(value)); err != nil {
				return object{}, err
			}
		}
	}
	root.Get("metadata").Remove("managedFields")
	name, _ := root.Find("metadata", "name").Text()
	return object{name, parsed.Bytes()}, nil
}

// check computes the webhook's response to an update of an object without changes. The state is empty if the object is
// up to date; selected is false if no rule concerns it. known lists the versions of the profiles.
func check(ctx context.Context, e Engine, known []string, of Object, o object) (f Finding, selected bool, err error) {
	parsed, err := document.Parse(o.raw)
	if err != nil {
		return f, false, fmt.Errorf("%s: %w", of, err)
	}
	f = Finding{Object: of, Mark: annotation.Marks(parsed, of.Set)}
	result, err := e.Admit(ctx, mutation.Request{
		Set: of.Set, Provider: of.Provider, Garden: of.Garden, Operation: "UPDATE", Namespace: of.Namespace, Name: of.Name, Group: of.Group,
		Version: of.Version, Kind: of.Kind, Object: o.raw, OldObject: o.raw,
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
	older := slices.ContainsFunc(f.Mark, func(version string) bool { return !slices.Contains(known, version) })
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

// namespace holds the required data of a namespace.
type namespace struct {
	name   string
	labels map[string]string
	// optOut is the reason in the opt-out annotation; empty without one.
	optOut string
}

// namespaces returns the namespaces with webhooks, sorted by name, or only the given one.
func (f *Finder) namespaces(ctx context.Context, registrations []mutation.Registration) ([]namespace, error) {
	found := map[string]namespace{}
	take := func(raw json.RawMessage) error {
		one, err := readNamespace(raw)
		found[one.name] = one
		return err
	}
	if only := f.Namespace; only != "" {
		raw, err := get(ctx, f.API, pathOf(namespaceForm, "", only))
		if err == nil {
			err = take(raw)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the Namespace %s: %w", only, err)
		}
		return slices.Collect(maps.Values(found)), nil
	}
	selectors, garden := selectorsOf(registrations)
	for _, selector := range selectors {
		if err := list(ctx, f.API, pathOf(namespaceForm, "", ""), selector, namespacePage, take); err != nil {
			return nil, fmt.Errorf("listing namespaces: %w", err)
		}
	}
	if garden {
		raw, err := get(ctx, f.API, pathOf(namespaceForm, "", target.GardenNamespace))
		if err == nil {
			err = take(raw)
		}
		if err != nil && !notFound(err) {
			return nil, fmt.Errorf("reading the Namespace %s: %w", target.GardenNamespace, err)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b namespace) int { return strings.Compare(a.name, b.name) }), nil
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

func readNamespace(raw json.RawMessage) (namespace, error) {
	var read struct {
		Metadata struct {
			Name        string            `json:"name"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return namespace{}, fmt.Errorf("decoding a Namespace: %w", err)
	}
	return namespace{read.Metadata.Name, read.Metadata.Labels, read.Metadata.Annotations[annotation.OptOut]}, nil
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
	for _, form := range distinct(forms) {
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
