// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"go.yaml.in/yaml/v3"
	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/kubeflags"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Options are settings of an installation for all profiles.
type Options struct {
	// Generation is the generation of Gardener that is served.
	Generation contract.Generation
	// Kubernetes restricts the served versions; nil means all. Rules are checked only against the flags of these.
	Kubernetes *semver.Constraints
	// ImageOverwrite has images that take the place of those in the image vectors of profiles; nil for none.
	ImageOverwrite *image.Vector
	// Mark adds annotations to the patch that name the profiles with their versions and record the replaced values, so
	// that they can be restored.
	Mark bool
}

// Program is every loaded profile compiled. It is immutable and safe for concurrent use.
type Program struct {
	generation contract.Generation
	marks      bool
	profiles   []ProfileVersion
	scopes     map[scopeKey]map[formKey]*selection
	warnings   source.Findings
	// others holds the forms of objects that the contract does not name.
	others []*target.Form
	// partial holds the names of the targets with a rule that could not be compiled, because that rule may add parts
	// that other rules need.
	partial map[string]bool
	// memory caches results for the kubelet's texts.
	memory *memory
}

// ProfileVersion names a profile that is part of a program.
type ProfileVersion struct {
	Name, Hash string
	Providers  []string
}

// scopeKey identifies the scope of a webhook; provider is empty for the garden namespace.
type scopeKey struct {
	set      target.Set
	provider string
	garden   bool
}

// profileCompiler compiles one profile.
type profileCompiler struct {
	program  *Program
	document *profile.Document
	options  Options
	scope    *scope
	findings source.Findings
	// views holds the properties of the versions of Kubernetes, by the variable that holds the version.
	views map[string][]versionView
	// seen holds the environments of expressions, by the properties of targets that determine them.
	seen map[[2]bool]*expression.Environment
	// set is the set of which rules are compiled, and rules are those compiled so far.
	set   target.Set
	rules []*rule
	// broken holds the values and rules that could not be compiled; the names that they use are unknown.
	broken []source.Node
}

// itemName is the name of the item in expressions of a rule with forEach.
const itemName = "item"

// family represents a rule with forEach: one rule for each item of a list or a mapping. Operations do not know about
// it. For each item, computed names are inserted into the arguments and the operation is compiled with them; values are
// compiled once, when the profile is loaded.
type family struct {
	items       items
	names       []*computedName
	values      *compiledValues
	context     operation.Context
	environment *expression.Environment
	arguments   source.Node
	path        string
	generation  contract.Generation
	// members are the rules made so far, by their names; those used last.
	members *lru.Cache
	// secret says that the items come from a Secret, so that no message may tell one.
	secret bool
}

// items compute the list or mapping of a forEach.
type items struct {
	template *expression.Template
	tree     operation.Value
	node     source.Node
	// record is the type of an item with key and value. It is nil for items of a list and for unknown types.
	record *expression.Object
}

// images are those of a profile.
type images struct {
	vector *image.Vector
	// choices are maps for CEL by image.Wanted.
	choices *lru.Cache
}

// versionView provides the variables of a profile if only the version of Kubernetes is known.
type versionView struct {
	minor   kubeflags.Minor
	partial *expression.Partial
}

type formKey struct{ group, kind, name string }

// selection holds the rules for one object of the contract, which may comprise several targets: kubelet and node are
// both parts of an OperatingSystemConfig.
type selection struct {
	target *target.Target
	form   *target.Form
	rules  []*rule
	needs  needs
	// needsIn holds the needs by the kind of OperatingSystemConfig if not all rules concern each one. If nil, needs
	// holds those of every object.
	needsIn  map[concern]*needs
	contests contests
	// enforced is the selection without rules that are only observed; nil where there are none of those.
	enforced *selection
	mark     mark
	// record is the annotation that records the places that the rules write, or empty. lasts reports that there may be
	// such places.
	record string
	lasts  bool
	// confides reports that a rule, observed or not, may write values into the kubelet's texts that must not be cached.
	confides bool
	// how is for rehearsals; in an admission it is empty.
	how how
}

// contests are the places that several rules write; any: some rule computes the names of its places, so that it may be any.
type contests struct {
	places map[operation.Place]bool
	any    bool
}

// Observer is told of each step after it was applied, with the object as it then is.
type Observer func(rule Applied, step Step, object *target.Object)

// Plan is the list of changes to an object: every rule of its target with its condition and values evaluated. It is
// plain data and can be printed.
type Plan struct {
	Rules []PlannedRule
}

// PlannedRule is a rule of the plan.
type PlannedRule struct {
	rule *rule
	// Skipped says why the rule is not applied; empty when it is.
	Skipped string
	Steps   []Step
}

// Step is one write of a rule.
type Step struct {
	Place operation.Place
	Value operation.Resolved
	// Kept means that the place keeps the value of the old object; there is no new value then.
	Kept bool
	// Overridden is the later rule that writes the place differently; empty when none does. An overridden step is not applied.
	Overridden string

	write *operation.Write
	// secrecy finds the parts of the value that come from Secrets. It is nil if there are none.
	secrecy *secrecy
}

// how selects the way in which a plan is made.
type how struct {
	// exists says that the object is being updated.
	exists bool
	// rehearsed leaves out a rule that cannot be computed, and forced takes every condition for true: for samples only.
	rehearsed, forced bool
}

// concern is how an OperatingSystemConfig says which rules concern it; for other objects, purpose is empty.
type concern struct {
	purpose string
	kubelet bool
}

// needs are the facts that a selection's rules name.
type needs struct {
	cluster, object bool
	// parts are those of the Cluster.
	parts   facts.Parts
	scopes  []*scope // those that have a rule, in the order of the rules
	lookups map[*scope]map[string]bool
}

func (i *items) references() []string {
	if i.template != nil {
		return i.template.References()
	}
	return i.tree.References()
}

// references returns the dotted paths that the family needs in addition to those of its condition and values.
func (f *family) references() []string {
	references := f.items.references()
	for _, name := range f.names {
		references = append(references, name.template.References()...)
	}
	return references
}

// usesItem reports whether references contain the item.
func usesItem(references []string) bool {
	for _, reference := range references {
		if root, _, _ := strings.Cut(reference, "."); root == itemName {
			return true
		}
	}
	return false
}

// origin returns the compiled rule of a member of a family, or the rule itself.
func (r *rule) origin() *rule {
	if r.whole != nil {
		return r.whole
	}
	return r
}

// writesKubelet reports whether the rule writes only the kubelet's two texts.
func (r *rule) writesKubelet() bool {
	return r.target.Component == "kubelet" && r.family == nil && r.whole == nil && len(r.writes) > 0 &&
		!slices.ContainsFunc(r.writes, func(w operation.Write) bool {
			return !operation.InText(w.Place.Kind) || w.Place.Kind == operation.UnitOption && w.Place.Container != target.KubeletUnit
		})
}

func evaluationFailure(r *rule, err error) *Failure {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fail(DeadlineExceeded, err, "rule %s: no time was left", r)
	}
	return fail(ExpressionFailed, err, "rule %s", r)
}

// rule is a compiled rule.
type rule struct {
	target    *target.Target
	purposes  []string
	profile   string
	name      string
	position  source.Position
	path      string
	operation operation.Definition
	when      *expression.Expression
	whenText  string // as written; empty for a family, where it differs for each item
	writes    []operation.Write
	// keep means that places keep the values of the old object on UPDATE.
	keep bool
	// observed says that the rule is computed and not applied.
	observed bool
	// override means that the rule gave a reason for writing a reserved place.
	override bool
	scope    *scope
	// family is set for a rule with forEach, with samples as writes; item is set for one of its members.
	family *family
	item   string
	// whole is the rule with forEach to which this member belongs.
	whole *rule
	// reach holds the needs of its expressions; early means that its condition needs no lookup, although the rule does.
	reach *needs
	early bool
	// inKubelet says that it writes nothing but the texts of the kubelet.
	inKubelet bool
}

// String names the rule for messages: profile, rule with its item, and position.
func (r *rule) String() string {
	return fmt.Sprintf("%s/%s (%s)", r.profile, nameOf(r.name, r.item), r.position)
}

// itemReferences returns the dotted paths used by the items of the rule, or nil without forEach.
func (r *rule) itemReferences() []string {
	if r.family == nil {
		return nil
	}
	return r.family.items.references()
}

func condition(environment *expression.Environment, r v1alpha1.Rule) (*expression.Expression, source.Findings) {
	if r.When.Absent() {
		return nil, nil
	}
	path := r.Path + ".when"
	if r.When.Kind != yaml.ScalarNode || r.When.Tag != "!!str" {
		finding := r.When.Finding(path, "must be one expression in braces, such as ${ shoot.hibernated }")
		return nil, source.Findings{finding.Of(expression.WrongCondition)}
	}
	condition, err := environment.Condition(r.When.Value, expression.At(r.When))
	findings := source.FindingsOf(r.When, path, err).Of(expression.WrongResult)
	if len(findings) == 1 && findings[0].Rule == expression.WrongCondition && !strings.Contains(r.When.Value, "${") {
		braced := "${ " + r.When.Value + " }"
		if _, err := environment.Condition(braced, expression.At(r.When)); err == nil {
			findings[0] = findings[0].Write(r.When, braced)
		}
	}
	return condition, findings
}

// doubleWrites finds places that one rule writes twice.
func doubleWrites(r *rule) source.Findings {
	var findings source.Findings
	seen := map[operation.Place]operation.Write{}
	for _, write := range r.writes {
		if earlier, ok := seen[write.Place]; ok {
			findings = append(findings, write.At.Finding(write.Path, "%s is already written at %s", write.Place, earlier.At.Position()).Of(operation.WrittenTwice))
		}
		seen[write.Place] = write
	}
	return findings
}

// references returns the dotted paths of the variables that the rule needs.
func (r *rule) references() []string {
	var references []string
	if r.family != nil {
		references = r.family.references()
	}
	if r.when != nil {
		references = append(references, r.when.References()...)
	}
	for _, write := range r.writes {
		references = append(references, write.Value.References()...)
	}
	return references
}

// computedName is a key or a scalar in the arguments of a rule with forEach that depends on the item. Expressions that
// the operation compiles itself are values instead.
type computedName struct {
	node     source.Node
	path     string
	key      bool
	template *expression.Template
	// number tells samples of different names apart, and shape is the one of sampleShapes that is tried.
	number, shape int
}

// compiledValues compiles the values of a family and remembers where they stand. It is written while the profile is loaded,
// and read only from then on.
type compiledValues struct {
	environment *expression.Environment
	at          map[source.Position]bool
	templates   map[compiledValue]*expression.Template
	done        bool
}

type compiledValue struct {
	text string
	at   source.Position
}

// scope provides the names that expressions of one profile can use in addition to the facts.
type scope struct {
	profile     string
	environment *expression.Environment
	parameters  ref.Val
	lookups     []*lookup // sorted by name
	lookupsType *facts.Lookups
	variables   []*variable
	variableOf  map[string]*variable
	varType     *expression.Object
	images      *images // nil for a profile without
	// broken are the values that could not be compiled.
	broken []source.Node
	// node is the profile as it is written.
	node *yaml.Node
	// conditions says how many rules have a condition, by its text.
	conditions map[string]int
}

// lookup is a declared lookup. Its request is complete but for the names that are computed.
type lookup struct {
	request facts.LookupRequest
	// name and namespace are nil when they are constant.
	name, namespace *expression.Template
	// at is the position of the name.
	at source.Position
	// shown is the name of the object as messages have it.
	shown string
	// profile is the one that declares it.
	profile string
	// skip says that rules which name the lookup are left out where something is missing.
	skip bool
}

// secrecy finds the parts of a value that come from Secrets.
type secrecy struct {
	rule      *rule
	variables operation.Variables
}

// variable is a named value of a profile: one scalar, or a list or mapping of them.
type variable struct {
	name     string
	node     source.Node
	template *expression.Template
	tree     operation.Value
	celType  *cel.Type
	size     expression.Size // estimated
	needs    []string        // the variables that it uses itself
	broken   bool            // something is wrong with it
}
