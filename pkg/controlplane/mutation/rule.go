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

// Options are what an installation says about all profiles.
type Options struct {
	// Generation is the generation of Gardener that is served.
	Generation contract.Generation
	// Kubernetes are the versions that are served; nil: all. Rules are not held against the flags of others.
	Kubernetes *semver.Constraints
	// ImageOverwrite has images that take the place of those in the image vectors of profiles; nil for none.
	ImageOverwrite *image.Vector
	// Mark makes a patch say, in annotations, which profiles and which versions of them it is of, and what stood where it writes, so
	// that it can be taken back.
	Mark bool
}

// Program is every loaded profile compiled. It is immutable and safe for concurrent use.
type Program struct {
	generation contract.Generation
	marks      bool
	profiles   []ProfileVersion
	scopes     map[scopeKey]map[formKey]*selection
	warnings   source.Findings
	// others are the forms of objects that the contract does not name.
	others []*target.Form
	// partial are the names of the targets for which a rule could not be compiled: what the others lack, it may bring.
	partial map[string]bool
	// memory is what became of texts of the kubelet so far.
	memory *memory
}

// ProfileVersion names a profile that is part of a program.
type ProfileVersion struct {
	Name, Hash string
	Providers  []string
}

// scopeKey is what a webhook is registered for; provider is empty for the garden namespace.
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
	// views are what is seen of the versions of Kubernetes, by the variable that holds the version.
	views map[string][]versionView
	// seen are what expressions see, by what targets have in common for that.
	seen map[[2]bool]*expression.Environment
	// set is the set of which rules are compiled, and rules are those compiled so far.
	set   target.Set
	rules []*rule
	// broken are the values and rules that could not be compiled; what they would use is not known.
	broken []source.Node
}

// itemName is what the expressions of a rule with forEach call the item.
const itemName = "item"

// family is what a rule with forEach stands for: a rule for each item of a list or a mapping. Operations do not know of it.
// Names that the rule computes are put into the arguments for each item, and the operation is compiled on those; values are
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
	// record is the type of an item where it has key and value; nil for items of a list, or of what is not known before.
	record *expression.Object
}

// images are those of a profile.
type images struct {
	vector *image.Vector
	// choices are maps for CEL by image.Wanted.
	choices *lru.Cache
}

// versionView is what the expressions of a profile see when nothing but the version of Kubernetes is known.
type versionView struct {
	minor   kubeflags.Minor
	partial *expression.Partial
}

type formKey struct{ group, kind, name string }

// selection is what is to be done with one object of the contract, which may be several targets: kubelet and node are both
// in an OperatingSystemConfig.
type selection struct {
	target *target.Target
	form   *target.Form
	rules  []*rule
	needs  needs
	// needsIn are the needs by what an OperatingSystemConfig is, where not all rules concern all; nil: needs are those of each object.
	needsIn  map[concern]*needs
	contests contests
	// enforced is the selection without rules that are only observed; nil where there are none of those.
	enforced *selection
	mark     mark
	// record is the annotation in which is recorded what the rules write; empty: nothing is. lasts says that there may be something.
	record string
	lasts  bool
	// confides says that a rule, observed or not, may write into the texts of the kubelet what must not be kept.
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

// Plan is what is going to be done with an object: every rule of its target with its condition decided and its values
// computed. It is data, and prints as text.
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
	// Kept says that the place stays what the old object has; there is no value then.
	Kept bool
	// Overridden is the later rule that writes the place differently; empty when none does. An overridden step is not applied.
	Overridden string

	write *operation.Write
	// secrecy tells what of the value is made of Secrets; nil: nothing is.
	secrecy *secrecy
}

// how says in which way a plan is made.
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

// references are the dotted paths of what the family needs beside its condition and values.
func (f *family) references() []string {
	references := f.items.references()
	for _, name := range f.names {
		references = append(references, name.template.References()...)
	}
	return references
}

// usesItem says whether references name the item.
func usesItem(references []string) bool {
	for _, reference := range references {
		if root, _, _ := strings.Cut(reference, "."); root == itemName {
			return true
		}
	}
	return false
}

// origin is the rule as it was compiled, of which a member of a family is a copy.
func (r *rule) origin() *rule {
	if r.whole != nil {
		return r.whole
	}
	return r
}

// writesKubelet says whether all that the rule writes stands in the two texts of the kubelet.
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
	whenText  string // as it is written; empty for a family, whose items each see another one
	writes    []operation.Write
	// keep says that on UPDATE the places stay what the old object has.
	keep bool
	// observed says that the rule is computed and not applied.
	observed bool
	// override says that the rule gave a reason for writing what the contract reserves.
	override bool
	scope    *scope
	// family is set for a rule with forEach, of which the writes are samples; item is set for one of its members.
	family *family
	item   string
	// whole is the rule of which this is a member.
	whole *rule
	// reach is what its expressions need; early says that its condition needs no lookup, though the rule does.
	reach *needs
	early bool
	// inKubelet says that it writes nothing but the texts of the kubelet.
	inKubelet bool
}

// String names the rule for messages: profile, rule with its item, and position.
func (r *rule) String() string {
	return fmt.Sprintf("%s/%s (%s)", r.profile, nameOf(r.name, r.item), r.position)
}

// itemReferences are the dotted paths of what the items of the rule come from; nil without forEach.
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

// references are the dotted paths of the variables that the rule needs.
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

// computedName is a key or a scalar in the arguments of a rule with forEach that is known for an item only. What an operation
// compiles itself is none: that is a value.
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

// scope is what the expressions of one profile see beside the facts.
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
	// at is where the name stands.
	at source.Position
	// shown is the name of the object as messages have it.
	shown string
	// profile is the one that declares it.
	profile string
	// skip says that rules which name the lookup are left out where something is missing.
	skip bool
}

// secrecy is what tells which parts of a value are made of Secrets.
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
