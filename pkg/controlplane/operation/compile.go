// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// serviceFields lists the fields that a profile may set. None of them selects Pods or addresses.
var serviceFields = []string{
	"allocateLoadBalancerNodePorts", "externalTrafficPolicy", "healthCheckNodePort", "internalTrafficPolicy",
	"ipFamilies", "ipFamilyPolicy", "loadBalancerClass", "loadBalancerSourceRanges", "sessionAffinity", "trafficDistribution",
}

func setContainerPolicy(o *target.Object, name string, v Resolved) error {
	root := o.Document.Root()
	if v.Absent {
		removeNamed(root.Find("spec", "resourcePolicy"), "containerPolicies", "containerName", name)
		return nil
	}
	spec, err := root.Ensure("spec", document.Object)
	if err != nil {
		return nested(err, "spec")
	}
	policy, err := spec.Ensure("resourcePolicy", document.Object)
	if err != nil {
		return nested(err, "spec.resourcePolicy")
	}
	return mergeNamed(policy, "containerPolicies", "containerName", name, withMember(v.JSON, "containerName", name))
}

var errNoPodTemplate = errors.New("is missing")

// withMember puts a member with a text in front of the members of a JSON object.
func withMember(raw []byte, key, value string) []byte {
	out := append([]byte{'{'}, document.Quote(key)...)
	out = append(append(out, ':'), document.Quote(value)...)
	if len(raw) > len("{}") {
		out = append(out, ',')
	}
	return append(out, raw[1:]...)
}

// namedObjects compiles edits of objects in a list that are identified by a member, their key.
type namedObjects struct {
	kind   Kind
	key    string
	shape  func([]byte) ([]byte, error)
	checks []check
	// name judges a name; nil: every name will do.
	name  func(string) string
	apply func(*target.Object, string, Resolved) error
}

func (o namedObjects) compile(c *Context, arguments source.Node, path string) ([]Write, source.Findings) {
	var a edits
	if findings := decodeEdits(arguments, path, &a); len(findings) > 0 {
		return nil, findings
	}
	return compiler{
		place: Place{Kind: o.kind},
		check: o.name,
		value: func(n source.Node, path string) (Value, source.Findings) {
			if n.Node == nil || n.Kind != yaml.MappingNode {
				return Value{}, source.Findings{n.Finding(path, "must be a mapping of fields").Of(source.WrongType)}
			}
			for _, field := range n.Fields() {
				if field.Key.Value == o.key {
					return Value{}, source.Findings{field.Key.Finding(path, "%s is what it stands under; leave it out here", o.key).Of(MisplacedField)}
				}
			}
			value, findings := c.Tree(n, path)
			if len(findings) == 0 {
				value, findings = value.shaped(o.shape, n, path)
			}
			if len(findings) == 0 {
				findings = hold(o.checks, n, path)
			}
			return value, findings
		},
		apply: func(name string) func(*target.Object, Resolved) error {
			return func(object *target.Object, v Resolved) error { return o.apply(object, name, v) }
		},
	}.compile(arguments, path, a.Set, a.Remove)
}

var flagName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.-]*$`)

// keyedFlags maps flags with several entries in one value to their own operations, which merge by entry.
var keyedFlags = map[string]string{
	"feature-gates":             "featureGates",
	"enable-admission-plugins":  "admissionPlugins",
	"disable-admission-plugins": "admissionPlugins",
}

func checkFlagName(name string) string {
	if !flagName.MatchString(name) {
		return fmt.Sprintf("%q is no name of a flag: write it without dashes in front, with - instead of _, and without a value", name)
	}
	if other, ok := keyedFlags[name]; ok {
		return fmt.Sprintf("--%s holds several entries; edit them with the operation %s, which keeps the others", name, other)
	}
	return ""
}

// edits are the arguments that most operations share: values to set, by name, and names to remove.
type edits struct {
	Set    source.Node   `json:"set"`
	Remove []source.Node `json:"remove"`
}

// containerEdits are edits of a container; without a name it is the one that the contract requires.
type containerEdits struct {
	Set       source.Node   `json:"set"`
	Remove    []source.Node `json:"remove"`
	Container string        `json:"container"`
}

// decodeEdits decodes edits. If names are given directly as arguments, the finding tells where they belong.
func decodeEdits(arguments source.Node, path string, into any) source.Findings {
	findings := source.Decode(arguments, path, into)
	fields := arguments.Fields()
	if len(findings) == 0 || slices.ContainsFunc(fields, func(f source.Field) bool {
		return slices.Contains([]string{"set", "remove", "container"}, f.Key.Value)
	}) {
		return findings
	}
	for i := range findings {
		message := &findings[i].Message
		if strings.HasPrefix(*message, "unknown field") && !strings.Contains(*message, "did you mean") {
			*message += ": names stand below set, as in set: {name: value}, or in remove"
		}
	}
	return findings
}

// container returns the name of the container that the arguments select.
func (c *Context) container(name string) string {
	if name == "" {
		return c.Target.Container
	}
	return name
}

// compiler says how the entries of edits become writes.
type compiler struct {
	place Place
	// field is the argument with the values, for findings; "set" if empty.
	field string
	// value compiles a value.
	value func(n source.Node, path string) (Value, source.Findings)
	// check judges a name; nil: every name that is not empty will do.
	check func(name string) string
	// rule is that of a name that check refuses, and known are the names that there are; nil: any that is written as such names are.
	rule  func(name string) source.Rule
	known []string
	apply func(name string) func(*target.Object, Resolved) error
	// keep is nil where places cannot be kept.
	keep func(name string) func(*target.Object) error
}

// with returns a function that compiles values in the context.
func (c *Context) with(compile func(*Context, source.Node, string) (Value, source.Findings)) func(source.Node, string) (Value, source.Findings) {
	return func(n source.Node, path string) (Value, source.Findings) { return compile(c, n, path) }
}

// inCommandLine returns a function that compiles values for the command line of a container. The kubelet's command line
// is part of a unit, for which values are escaped.
func (c *Context) inCommandLine(container string, read func(source.Node, string) (Value, source.Findings)) func(source.Node, string) (Value, source.Findings) {
	if !c.inUnit(container) {
		return read
	}
	return func(n source.Node, path string) (Value, source.Findings) {
		value, findings := read(n, path)
		return value.escaped(inCommand), findings
	}
}

// inUnit reports whether the command line of a container is that of a unit.
func (c *Context) inUnit(container string) bool {
	return c.Target.Component == "kubelet" && container == c.Target.Container
}

func (k compiler) compile(arguments source.Node, path string, set source.Node, remove []source.Node) ([]Write, source.Findings) {
	var (
		writes   []Write
		findings source.Findings
	)
	at := path + "." + cmp.Or(k.field, "set")
	if set.Node != nil && !set.Absent() && set.Kind != yaml.MappingNode {
		return nil, source.Findings{set.Finding(at, "must be a mapping of names to values").Of(source.WrongType)}
	}
	add := func(key source.Node, at source.Node, path string, value Value) {
		if problem := k.checkName(key.Value); problem != "" {
			findings = append(findings, key.Finding(path, "%s", problem).Of(k.ruleOf(key.Value)).Instead(key, k.known))
			return
		}
		place := k.place
		place.Name = key.Value
		write := Write{Place: place, Value: value, At: at, Path: path, Apply: k.apply(key.Value)}
		if k.keep != nil {
			write.Keep = k.keep(key.Value)
		}
		writes = append(writes, write)
	}
	for _, field := range set.Fields() {
		inner := at + "." + field.Key.Value
		value, problems := k.value(field.Value, inner)
		findings = append(findings, problems...)
		if len(problems) == 0 {
			add(field.Key, field.Value, inner, value)
		}
	}
	for _, name := range remove {
		if name.Node == nil || name.Kind != yaml.ScalarNode || name.Absent() {
			findings = append(findings, name.Finding(path+".remove", "must be a list of names").Of(source.WrongType))
			continue
		}
		add(name, name, path+".remove", Remove())
	}
	if len(writes)+len(findings) == 0 {
		findings = append(findings, arguments.Finding(path, "nothing to set and nothing to remove").Of(NothingToDo))
	}
	return writes, findings
}

func (k compiler) ruleOf(name string) source.Rule {
	if k.rule == nil || checkName(name) != "" {
		return source.InvalidName
	}
	return k.rule(name)
}

func (k compiler) checkName(name string) string {
	if problem := checkName(name); problem != "" {
		return problem
	}
	if k.check == nil {
		return ""
	}
	return k.check(name)
}

// checkName validates a name without expressions.
func checkName(name string) string {
	switch {
	case name == "":
		return "a name must not be empty"
	case strings.Contains(name, "${"):
		return "an expression is evaluated in a name only where the rule has forEach"
	default:
		return ""
	}
}

// Confided is a scalar of a value with the parts of it that are made of Secrets.
type Confided struct {
	// Keys lead to it in a structured value: those of mappings, and the names of items.
	Keys []string
	Text string
	// Parts lists the parts from Secrets in their order; the text between them contains no Secret.
	Parts []ConfidedPart
}

// ConfidedPart is a part of a text, from one byte to before another.
type ConfidedPart struct {
	From, To int
	// Secrets lists the Secrets that the part contains, by their names in profiles.
	Secrets []string
}

// Shown returns the replacement for the part in output.
func (p ConfidedPart) Shown() string { return fromSecrets(p.Secrets) }

// Confiding finds the Secrets that values contain.
type Confiding struct {
	// Secrets returns the Secrets that a value with these references contains, or nil.
	Secrets func(references []string) []string
	// Variable returns the value of a variable by its dotted path, so that constant text can be distinguished from
	// computed text.
	Variable func(path string) (Value, bool)
}

// ValueOf returns the value of one template.
func ValueOf(template *expression.Template) Value {
	return Value{texts: []*expression.Template{template}}
}

// Confided computes the value again and returns the scalars that contain data of Secrets.
func (v Value) Confided(ctx context.Context, variables Variables, c Confiding) ([]Confided, error) {
	return v.confided(ctx, variables, c, nil)
}

func (v Value) confided(ctx context.Context, variables Variables, c Confiding, above []string) ([]Confided, error) {
	var all []Confided
	tell := func(template *expression.Template, keys []string) error {
		if c.Secrets(template.References()) == nil {
			return nil
		}
		keys = slices.Concat(above, keys)
		if path := template.Variable(); path != "" {
			if value, ok := c.Variable(path); ok {
				more, err := value.confided(ctx, variables, c, keys)
				all = append(all, more...)
				return err
			}
		}
		scalars, err := template.Scalars(ctx, variables, keys...)
		for _, scalar := range scalars {
			if found := c.confided(scalar); found.Parts != nil {
				all = append(all, found)
			}
		}
		return err
	}
	for _, text := range v.texts {
		if err := tell(text, nil); err != nil {
			return nil, err
		}
	}
	return all, v.tree.Templates(tell)
}

// confided returns the parts of a scalar that come from Secrets.
func (c Confiding) confided(scalar expression.Scalar) Confided {
	found := Confided{Keys: scalar.Keys, Text: scalar.Text}
	for _, part := range scalar.Parts {
		if secrets := c.Secrets(part.References); secrets != nil {
			found.Parts = append(found.Parts, ConfidedPart{part.From, part.To, secrets})
		}
	}
	return found
}

// editFlagValue applies edit to the value of a flag with several entries. If the flag occurs several times, it edits
// the last occurrence, which is the effective one. It removes a flag that becomes empty.
func editFlagValue(o *target.Object, container, flag string, edit func(value string) (string, error)) error {
	line, err := o.CommandLine(container)
	if err != nil {
		return err
	}
	values := slices.Clone(line.Values(flag))
	before := ""
	if len(values) > 0 {
		before = values[len(values)-1]
	}
	after, err := edit(before)
	if err != nil {
		return nested(err, "--%s of container %q", flag, container)
	}
	switch {
	case after == before:
		return nil
	case len(values) == 0:
		values = []string{after}
	case after == "":
		values = values[:len(values)-1]
	default:
		values[len(values)-1] = after
	}
	if len(values) == 0 {
		return nested(line.Remove(flag), "--%s of container %q", flag, container)
	}
	return nested(line.Set(flag, values...), "--%s of container %q", flag, container)
}

// editEveryFlagValue removes an entry from every occurrence of a flag.
func editEveryFlagValue(o *target.Object, container, flag string, edit func(value string) (string, error)) error {
	line, err := o.CommandLine(container)
	if err != nil {
		return err
	}
	var kept []string
	values := line.Values(flag)
	for _, value := range values {
		after, err := edit(value)
		if err != nil {
			return nested(err, "--%s of container %q", flag, container)
		}
		if after != "" || value == "" {
			kept = append(kept, after)
		}
	}
	switch {
	case slices.Equal(kept, values):
		return nil
	case len(kept) == 0:
		return nested(line.Remove(flag), "--%s of container %q", flag, container)
	default:
		return nested(line.Set(flag, kept...), "--%s of container %q", flag, container)
	}
}

// old returns the object as it is in the cluster.
func old(o *target.Object) *target.Object {
	return &target.Object{Target: o.Target, Form: o.Form, Document: o.Old}
}

// keepFlag restores a flag from the old object, unless the old object lacks the container.
func keepFlag(container, name string) func(*target.Object) error {
	return func(o *target.Object) error {
		now, err := o.CommandLine(container)
		if err != nil {
			return err
		}
		then, err := old(o).CommandLine(container)
		if errors.Is(err, target.ErrContainerMissing) || errors.Is(err, target.ErrNodePartMissing) {
			return nil
		}
		if err != nil {
			return err
		}
		values := then.Values(name)
		switch {
		case !then.Has(name):
			err = now.Remove(name)
		case slices.Equal(values, now.Values(name)) && then.Bare(name) == now.Bare(name):
		case then.Bare(name):
			err = now.SetBare(name)
		default:
			err = now.Set(name, values...)
		}
		return nested(err, "--%s of container %q", name, container)
	}
}

// keepEnv restores an environment variable from the old object, unless the old object lacks the container.
func keepEnv(container, name string) func(*target.Object) error {
	path := fieldPath{{Key: "env"}, {Key: name, By: "name", Quoted: true}}
	return func(o *target.Object) error {
		now, err := o.Container(container)
		if err != nil {
			return err
		}
		then, err := old(o).Container(container)
		if err != nil {
			return nil //nolint:nilerr // the old object does not have the container
		}
		return path.keepBelow(now, then)
	}
}

// Tree compiles any YAML value; its strings may hold ${ CEL }.
func (c *Context) Tree(n source.Node, path string) (Value, source.Findings) {
	compiled, findings := expression.NewTree(c.Expressions, n, path)
	if len(findings) > 0 {
		return Value{}, findings
	}
	if !compiled.Constant() {
		return Value{tree: compiled}, nil
	}
	raw, err := compiled.JSON(context.Background(), nil)
	if err != nil {
		return Value{}, source.FindingsOf(n, path, err).Of(expression.FailingConstant)
	}
	return Value{constant: &Resolved{JSON: raw}}, nil
}

// owner is a field with an operation of its own, which merges by entry, keeps required values, and writes places known
// to the contract's clauses.
type owner struct {
	path      string
	parts     target.Part
	operation string
	// parted says that the operation cannot remove a part of an entry, which fields may therefore do.
	parted bool
}

// owners is ordered by precedence. Its paths omit the items of lists.
var owners = slices.Concat([]owner{
	{"metadata.labels", target.Metadata, "labels", false},
	{"metadata.annotations", target.Metadata, "annotations", false},
	{"spec.template.metadata.labels", target.PodTemplate, "podLabels", false},
	{"spec.template.metadata.annotations", target.PodTemplate, "podAnnotations", false},
	{"spec.template.spec.volumes", target.PodTemplate, "volumes", false},
	{"spec.template.spec.containers.command", target.PodTemplate, "flags", false},
	{"spec.template.spec.containers.args", target.PodTemplate, "flags", false},
	{"spec.template.spec.containers.env", target.PodTemplate, "env", false},
	{"spec.template.spec.containers.volumeMounts", target.PodTemplate, "volumes", false},
	{"spec.template.spec.containers", target.PodTemplate, "containers", true},
	{"spec.template.spec.initContainers", target.PodTemplate, "initContainers", true},
	{"spec.volumeClaimTemplates", target.Storage, "storage", false},
	{"spec.storageClass", target.Storage, "storage", false},
	{"spec.storageCapacity", target.Storage, "storage", false},
	{"spec.resourcePolicy.containerPolicies", target.ContainerPolicies, "containerPolicies", true},
	{"spec.units", target.Units, "unit", false},
	{"spec.files", target.Files, "file", false},
	{"spec.providerConfig", target.NodeSpec, "providerConfig", true},
}, serviceOwners())

func serviceOwners() []owner {
	var all []owner
	for _, field := range serviceFields {
		all = append(all, owner{"spec." + field, target.ServiceSpec, "service", false})
	}
	return all
}

// checkOwner returns the operation to use instead, or an empty string.
func checkOwner(t *target.Target, p fieldPath, removed bool) string {
	keys := strings.Join(p.keys(), ".")
	for _, o := range owners {
		below := inside(keys, o.path)
		if t.Has(o.parts) && (below && (!o.parted || !removed) || keys == o.path) {
			return o.message()
		}
		if below && t.Has(o.parts) {
			return ""
		}
	}
	for _, o := range owners {
		if t.Has(o.parts) && inside(o.path, keys) {
			return o.message()
		}
	}
	return ""
}

func (o owner) message() string {
	return fmt.Sprintf("%s is edited with the operation %s", o.path, o.operation)
}

// inside reports whether a path extends another one.
func inside(path, outer string) bool { return strings.HasPrefix(path, outer+".") }

// fieldCompiler says how edits of fields, by path, become writes. A mapping becomes a write for each of its members, so
// that rules which set different members of it do not meet.
type fieldCompiler struct {
	context *Context
	place   Place
	// check judges a path that is set or removed; nil: every path will do.
	check func(p fieldPath, removed bool) string
	apply func(p fieldPath) func(*target.Object, Resolved) error
	// keep is nil where places cannot be kept.
	keep func(p fieldPath) func(*target.Object) error
	// trace returns the remaining effect of a write of the path, or false if there is none. If nil, the place
	// determines it.
	trace func(p fieldPath) (Trace, bool)
	// appendTo appends an item to the list at a path, or several items from a list. Nil: there is no append.
	appendTo func(p fieldPath, several bool) func(*target.Object, Resolved) error

	writes   []Write
	findings source.Findings
}

// fieldEdits are edits of fields by path.
type fieldEdits struct {
	Set    source.Node   `json:"set"`
	Append source.Node   `json:"append"`
	Remove []source.Node `json:"remove"`
}

func (f fieldCompiler) compile(arguments source.Node, path string, a fieldEdits) ([]Write, source.Findings) {
	f.append(a.Append, path+".append")
	if a.Set.Node != nil && !a.Set.Absent() && a.Set.Kind != yaml.MappingNode {
		return nil, source.Findings{a.Set.Finding(path+".set", "must be a mapping of paths to values").Of(source.WrongType)}
	}
	for _, field := range a.Set.Fields() {
		inner := path + ".set." + field.Key.Value
		if p, ok := f.path(field.Key, inner); ok {
			f.set(p, field.Value, inner)
		}
	}
	for _, name := range a.Remove {
		if p, ok := f.path(name, path+".remove"); ok {
			f.add(p, Remove(), name, path+".remove")
		}
	}
	if len(f.writes)+len(f.findings) == 0 {
		f.findings = source.Findings{arguments.Finding(path, "nothing to set and nothing to remove").Of(NothingToDo)}
	}
	return f.writes, f.findings
}

// path reads the path in a key of set or an item of remove.
func (f *fieldCompiler) path(n source.Node, at string) (fieldPath, bool) {
	if n.Node == nil || n.Kind != yaml.ScalarNode || n.Absent() {
		f.findings = append(f.findings, n.Finding(at, "must be a path, such as spec.replicas").Of(source.WrongType))
		return nil, false
	}
	problem := checkName(n.Value)
	p, err := parsePath(n.Value)
	if problem == "" && err != nil {
		problem = "is no path: " + err.Error()
	}
	if problem != "" {
		f.findings = append(f.findings, n.Finding(at, "%s", problem).Of(WrongPath))
	}
	return p, problem == ""
}

// set adds a write for each value in a mapping, or for the value.
func (f *fieldCompiler) set(p fieldPath, n source.Node, at string) {
	switch {
	case n.Absent():
		f.add(p, Remove(), n, at)
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		for _, field := range n.Fields() {
			inner, below := at+"."+field.Key.Value, p.with(field.Key.Value)
			problem := checkName(field.Key.Value)
			if problem == "" && p.isItem() && field.Key.Value == p[len(p)-1].By {
				problem = field.Key.Value + " is what the item is found by; leave it out here"
			}
			if problem != "" {
				f.findings = append(f.findings, field.Key.Finding(inner, "%s", problem).Of(MisplacedField))
				continue
			}
			f.set(below, field.Value, inner)
		}
	case p.isItem() && n.Kind != yaml.MappingNode && n.Tag != "!!str":
		f.findings = append(f.findings, n.Finding(at, "the item of a list that is found by a member must be a mapping").Of(source.WrongType))
	default:
		value, findings := f.context.Tree(n, at)
		f.findings = append(f.findings, findings...)
		f.add(p, value, n, at)
	}
}

// add makes a write, unless another one of the rule is for a part of the place or for the whole.
func (f *fieldCompiler) add(p fieldPath, value Value, n source.Node, at string) {
	if constant, ok := value.Constant(); f.check != nil {
		if problem := f.check(p, ok && constant.Absent); problem != "" {
			f.findings = append(f.findings, n.Finding(at, "%s", problem).Of(OtherOperation))
			return
		}
	}
	place := f.place
	place.Name = p.String()
	meets := func(w Write) bool { return place.Covers(w.Place) || w.Place.Covers(place) }
	if i := slices.IndexFunc(f.writes, meets); i >= 0 {
		f.findings = append(f.findings, n.Finding(at, "%s and %s, which the rule writes too, are one inside the other", place, f.writes[i].Place).Of(WrittenTwice))
		return
	}
	write := Write{Place: place, Value: value, At: n, Path: at, Apply: f.apply(p)}
	if f.keep != nil {
		write.Keep = f.keep(p)
	}
	if f.trace != nil {
		write.leaves = func(*Resolved) []Trace {
			if trace, lasts := f.trace(p); lasts {
				return []Trace{trace}
			}
			return nil
		}
	}
	f.writes = append(f.writes, write)
}

// append adds a write for each item that a list must have.
func (f *fieldCompiler) append(n source.Node, at string) {
	if n.Node != nil && !n.Absent() && n.Kind != yaml.MappingNode {
		f.findings = append(f.findings, n.Finding(at, "must be a mapping of paths to lists").Of(source.WrongType))
		return
	}
	for _, field := range n.Fields() {
		inner := at + "." + field.Key.Value
		p, ok := f.path(field.Key, inner)
		if !ok {
			continue
		}
		switch value := field.Value; {
		case value.Node != nil && value.Kind == yaml.SequenceNode && len(value.Content) > 0:
			for _, item := range value.Items() {
				f.appendItem(p, item, inner, false)
			}
		case value.Node != nil && value.Kind == yaml.ScalarNode && strings.Contains(value.Value, "${"):
			f.appendItem(p, value, inner, true)
		default:
			f.findings = append(f.findings, value.Finding(inner, "must be a list of what the list must have").Of(source.WrongType))
		}
	}
}

// appendItem adds a write for an item, or for an expression that gives a list of them.
func (f *fieldCompiler) appendItem(p fieldPath, item source.Node, at string, several bool) {
	if f.check != nil {
		if problem := f.check(p, false); problem != "" {
			f.findings = append(f.findings, item.Finding(at, "%s", problem).Of(OtherOperation))
			return
		}
	}
	value, findings := f.context.Tree(item, at)
	f.findings = append(f.findings, findings...)
	name := item.Value
	if constant, ok := value.Constant(); ok {
		name = constant.String()
	} else if item.Kind != yaml.ScalarNode {
		name = item.Position().String()
	}
	where := f.place
	where.Name = p.String() + "[+ " + name + "]"
	f.writes = append(f.writes, Write{
		Place: where, Value: value, At: item, Path: at, Adds: true,
		Apply: f.appendTo(p, several),
		leaves: func(v *Resolved) []Trace {
			switch trace, lasts := f.trace(p); {
			case !lasts:
				return nil
			case v == nil:
				return []Trace{trace.Any()}
			default:
				return trace.itemsOf(v.JSON, several)
			}
		},
	})
}

// flagsTo returns a mapping of flags without those that have operations of their own.
func flagsTo(items Type) Type {
	return mappingOf(items).named(flagName, slices.Sorted(maps.Keys(keyedFlags))...)
}
