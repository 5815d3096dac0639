// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/image"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// plainOfObject are the fields of an object that hold nothing secret. Annotations may: kubectl keeps a copy of the object in one.
var plainOfObject = []string{"apiVersion", "kind", "name", "namespace", "labels"}

// imagesName is the variable with the images of the profile's image vector.
const imagesName = "images"

// choicesKept is how many choices of images are kept: one for each version and architecture that a seed has.
const choicesKept = 256

// namesOfCluster lists the variables that need the Cluster, the namespace or the Garden.
var namesOfCluster = []string{"shoot", "seed", "cloudProfile", "namespaceObject", "garden", "pool", imagesName}

func (n *needs) add(s *scope, references []string, seen map[string]bool) {
	for _, reference := range references {
		root, rest, _ := strings.Cut(reference, ".")
		name, _, _ := strings.Cut(rest, ".")
		switch root {
		case lookupsName:
			n.addLookups(s, name, seen)
		case variablesName:
			n.addVariables(s, name, seen)
		default:
			n.cluster = n.cluster || slices.Contains(namesOfCluster, root)
			n.parts = n.parts.Join(facts.Parts{
				Manifest: facts.InManifest(root, name), Seed: root == "seed" || root == imagesName, CloudProfile: root == "cloudProfile",
			})
			n.object = n.object || root == "object" || root == "pool" || root == imagesName
		}
	}
}

func (n *needs) addVariables(s *scope, name string, seen map[string]bool) {
	for _, declared := range s.variables {
		if (name == "" || declared.name == name) && !seen[declared.name] {
			seen[declared.name] = true
			n.add(s, declared.references(), seen)
		}
	}
}

// addLookups adds the named lookup, or all, with the needs of their object names.
func (n *needs) addLookups(s *scope, name string, seen map[string]bool) {
	for _, l := range s.lookups {
		if (name == "" || l.request.Name == name) && !n.lookups[s][l.request.Name] {
			n.lookups[s][l.request.Name] = true
			n.add(s, l.references(), seen)
		}
	}
}

// reach returns the needs of expressions with these references.
func (s *scope) reach(references []string) needs {
	n := needs{lookups: map[*scope]map[string]bool{s: {}}}
	n.add(s, references, map[string]bool{})
	return n
}

// namesOf returns the Secrets among the referenced lookups. If own is true, it includes the object itself.
func (s *scope) namesOf(t *target.Target, references []string, own bool) []string {
	var names []string
	for _, l := range s.secretsIn(references) {
		names = append(names, l.shown)
	}
	if own {
		names = append(names, cmp.Or(t.Forms[0].Name, "*"))
	}
	return names
}

// tellsObject reports whether a value with these references contains or may contain data of the object other than names
// and labels.
func (s *scope) tellsObject(references []string) bool {
	named := map[string]bool{}
	s.expand(references, named)
	for reference := range named {
		if root, rest, _ := strings.Cut(reference, "."); root == "object" {
			if field, _, _ := strings.Cut(rest, "."); !slices.Contains(plainOfObject, field) {
				return true
			}
		}
	}
	return false
}

// expand adds references, and those of the variables and the names of lookups among them.
func (s *scope) expand(references []string, into map[string]bool) {
	for _, reference := range references {
		if into[reference] {
			continue
		}
		into[reference] = true
		root, rest, _ := strings.Cut(reference, ".")
		name, _, _ := strings.Cut(rest, ".")
		for _, declared := range s.variables {
			if root == variablesName && (name == "" || declared.name == name) {
				s.expand(declared.references(), into)
			}
		}
		for _, l := range s.lookups {
			if root == lookupsName && (name == "" || l.request.Name == name) {
				s.expand(l.references(), into)
			}
		}
	}
}

// readImages reads the image vector that the profile names; nil when it names none.
func readImages(d *profile.Document, overwrite *image.Vector) (*images, source.Findings) {
	path := d.ImageVector
	if path.Value == "" {
		return nil, nil
	}
	raw, ok := d.Attachments[path.Value]
	if why, refused := d.Refused[path.Value]; refused {
		return nil, source.Findings{path.At.Finding("imageVector", "%s", why).Of(source.MissingFile)}
	}
	if !ok {
		return nil, source.Findings{path.At.Finding("imageVector", "there is no file %s next to the profile", path.Value).Of(source.MissingFile)}
	}
	vector, err := image.Parse(raw)
	if err != nil {
		return nil, source.Findings{path.At.Finding("imageVector", "%s: %s", path.Value, err).Of(source.MissingFile)}
	}
	return &images{vector: vector.Overwrite(overwrite), choices: lru.New(choicesKept)}, nil
}

// variable declares the map of references by name.
func (i *images) variable() expression.Variable {
	return expression.Variable{Name: imagesName, Type: cel.MapType(cel.StringType, cel.StringType), Keys: i.vector.Names()}
}

// Names that a profile adds to the variables of every expression.
const (
	parametersName = "parameters"
	variablesName  = "variables"
	lookupsName    = "lookups"
)

// newScope declares the parameters, lookups and variables of a profile. An invalid declaration is a finding and then
// declared with any type, so that its uses cause no further findings. It returns nil if nothing can be declared.
func newScope(d *profile.Document, o Options) (*scope, source.Findings) {
	s := &scope{profile: d.Metadata.Name, node: d.Node.Node, conditions: map[string]int{}}
	base, err := expression.NewEnvironment(facts.Variables()...)
	if err != nil {
		return nil, source.FindingsOf(d.Node, "", err).Of(expression.WrongResult)
	}
	declared, findings := s.declareParameters(d)
	findings = append(findings, s.declareLookups(d)...)
	if s.lookupsType == nil {
		return nil, findings
	}
	more := []expression.Variable{unlessBroken(d, declared), unlessBroken(d, s.lookupsType.Variable())}
	var problems source.Findings
	if s.images, problems = readImages(d, o.ImageOverwrite); s.images != nil {
		more = append(more, s.images.variable())
	} else if len(problems) > 0 {
		more = append(more, expression.Variable{Name: imagesName, Type: cel.MapType(cel.StringType, cel.StringType)})
	}
	findings = append(findings, problems...)
	s.environment, err = base.Extend(more...)
	if err != nil {
		return nil, append(findings, source.FindingsOf(d.Node, "", err).Of(expression.WrongResult)...)
	}
	findings = append(findings, s.declareVariables(d)...)
	return s, append(findings, s.nameLookups(d)...)
}

// unlessBroken returns the variable for a section of a profile. If the section has findings, the variable and its
// members have the dynamic type.
func unlessBroken(d *profile.Document, v expression.Variable) expression.Variable {
	if slices.ContainsFunc(d.Findings, func(f source.Finding) bool {
		if f.Partial {
			return f.Path == "" && f.Fix != nil && strings.Trim(f.Fix.New, `"'`) == v.Name
		}
		return f.Path == v.Name && f.Severity == source.Error
	}) {
		return expression.Variable{Name: v.Name, Type: cel.DynType}
	}
	return v
}

// declareParameters makes an object type of the parameters, and a value.
func (s *scope) declareParameters(d *profile.Document) (expression.Variable, source.Findings) {
	var (
		fields   = map[string]*cel.Type{}
		values   = expression.Values{}
		findings source.Findings
	)
	for _, name := range slices.Sorted(maps.Keys(d.Parameters)) {
		n, path := d.Parameters[name], "parameters."+name
		var value any
		if err := n.Decode(&value); n.Absent() || err != nil {
			findings = append(findings, n.Finding(path, "a parameter needs a default value").Of(source.MissingField))
			fields[name] = cel.DynType
			continue
		}
		if problems := misread(n, path); len(problems) > 0 {
			findings = append(findings, problems...)
			fields[name] = cel.DynType
			continue
		}
		fields[name], values[name] = typeOf(value), normal(value)
	}
	object := expression.NewObject("graft.Parameters", fields)
	s.parameters = object.Value(values)
	return expression.Variable{Name: parametersName, Object: object}, findings
}

// typeOf returns the CEL type of a YAML or JSON value.
func typeOf(value any) *cel.Type {
	switch value := value.(type) {
	case string:
		return cel.StringType
	case bool:
		return cel.BoolType
	case int, int64:
		return cel.IntType
	case float64:
		if value == float64(int64(value)) {
			return cel.IntType
		}
		return cel.DoubleType
	case []any:
		return cel.ListType(cel.DynType)
	case map[string]any:
		return cel.MapType(cel.StringType, cel.DynType)
	default:
		return cel.DynType
	}
}

// normal makes a number that is whole an int64, as JSON does not tell the two apart.
func normal(value any) any {
	switch value := value.(type) {
	case int:
		return int64(value)
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	}
	return value
}

// declareLookups declares each lookup as an object with the fields that it keeps. The object names are compiled later,
// after variables are known.
func (s *scope) declareLookups(d *profile.Document) source.Findings {
	var (
		findings source.Findings
		requests []facts.LookupRequest
		unknown  []string
	)
	for _, name := range slices.Sorted(maps.Keys(d.Lookups)) {
		declared := d.Lookups[name]
		if !declarable(name, declared) {
			// There is a finding about it already, and its type is unknown.
			unknown = append(unknown, name)
			s.broken = append(s.broken, nodeAt(d.Node, lookupsName, name))
			continue
		}
		request := requestOf(name, declared)
		for _, field := range slices.Sorted(maps.Keys(declared.Paths)) {
			parsed, err := facts.ParsePath(declared.Paths[field])
			if err != nil {
				findings = append(findings, nodeAt(d.Node, "lookups", name, "paths", field).Finding("lookups."+name+".paths."+field, "%s", err).Of(operation.WrongPath))
			}
			request.Fields[field] = parsed
		}
		requests = append(requests, request)
		object := objectNameOf(declared)
		s.lookups = append(s.lookups, &lookup{
			request: request, profile: s.profile, at: object.At.Position(), shown: object.Value, skip: declared.Missing == v1alpha1.MissingSkip,
		})
	}
	var err error
	s.lookupsType, err = facts.NewLookups(requests, unknown...)
	return append(findings, source.FindingsOf(d.Node, lookupsName, err).Of(WrongLookup)...)
}

// declarable reports whether expressions can use the lookup by name and whether it names exactly one object.
func declarable(name string, l v1alpha1.Lookup) bool {
	objects := 0
	for _, given := range []bool{
		l.Secret.Value != "", l.ConfigMap.Value != "", l.Infrastructure.Value != "", l.BackupBucket.Value != "", l.Object != nil,
	} {
		if given {
			objects++
		}
	}
	return objects == 1 && source.IsIdentifier(name)
}

func requestOf(name string, l v1alpha1.Lookup) facts.LookupRequest {
	r := facts.LookupRequest{
		Name: name, Keys: l.Keys, Fields: make(map[string]facts.Path, len(l.Paths)), Labels: l.Labels, Annotations: l.Annotations,
		Checksum: l.Checksum, Optional: l.Optional, Scope: facts.ScopeNamespaced,
	}
	switch {
	case l.Secret.Value != "":
		r.GroupVersionKind, r.Resource = facts.Secret, "secrets"
	case l.ConfigMap.Value != "":
		r.GroupVersionKind, r.Resource = facts.ConfigMap, "configmaps"
	case l.Infrastructure.Value != "":
		r.GroupVersionKind, r.Resource = facts.Infrastructure, "infrastructures"
	case l.BackupBucket.Value != "":
		r.GroupVersionKind, r.Resource, r.Scope = facts.BackupBucket, "backupbuckets", facts.ScopeCluster
	default:
		r.GroupVersionKind, r.Resource, r.Scope = schema.FromAPIVersionAndKind(l.Object.APIVersion, l.Object.Kind), l.Object.Resource, facts.ScopeUnknown
		if r.Resource == "" {
			plural, _ := meta.UnsafeGuessKindToResource(r.GroupVersionKind)
			r.Resource = plural.Resource
		}
	}
	return r
}

// objectNameOf returns the name, as written, of the object that the lookup reads.
func objectNameOf(l v1alpha1.Lookup) source.Text {
	if l.Object != nil {
		return l.Object.Name
	}
	for _, name := range []source.Text{l.Secret, l.ConfigMap, l.Infrastructure} {
		if name.Value != "" {
			return name
		}
	}
	return l.BackupBucket
}

// nameLookups compiles the names of the objects. They must not depend on results of lookups.
func (s *scope) nameLookups(d *profile.Document) source.Findings {
	var findings source.Findings
	for _, l := range s.lookups {
		declared, path := d.Lookups[l.request.Name], "lookups."+l.request.Name
		if objectNameOf(declared).Value == "" {
			continue // which is said already
		}
		var problems source.Findings
		if l.name, l.request.ObjectName, problems = s.lookupName(objectNameOf(declared), path); len(problems) > 0 {
			findings = append(findings, problems...)
			s.broken = append(s.broken, nodeAt(d.Node, lookupsName, l.request.Name))
			continue
		}
		if declared.Object != nil && declared.Object.Namespace.Value != "" {
			l.namespace, l.request.Namespace, problems = s.lookupName(declared.Object.Namespace, path+".object.namespace")
			findings = append(findings, problems...)
		}
		l.request.Computed = l.name != nil || l.namespace != nil
	}
	return findings
}

// lookupName compiles one name: a template, or the name itself when it is constant.
func (s *scope) lookupName(text source.Text, at string) (*expression.Template, string, source.Findings) {
	template, err := s.environment.Template(text.Value, expression.At(text.At))
	if err != nil {
		findings := source.FindingsOf(text.At, at, err).Of(WrongLookup)
		for i := range findings {
			if missing := "undeclared reference to '" + itemName + "'"; strings.HasPrefix(findings[i].Message, missing) {
				findings[i].Message = missing + "; what is looked up is the same for all items of a forEach"
			}
		}
		return nil, "", findings
	}
	if t := template.Type(); !t.IsExactType(cel.StringType) && t.Kind() != types.DynKind {
		return nil, "", source.Findings{text.At.Finding(at, "a name must be a string, is %s", cel.FormatCELType(t)).Of(WrongLookup)}
	}
	if read := s.reach(template.References()).lookups[s]; len(read) > 0 {
		return nil, "", source.Findings{text.At.Finding(at, "the name of an object that is looked up cannot need a lookup (%s)",
			strings.Join(slices.Sorted(maps.Keys(read)), ", ")).Of(WrongLookup)}
	}
	if !template.Constant() {
		return template, "", nil
	}
	name, err := template.String(context.Background(), nil)
	if err == nil {
		err = checkName(name)
	}
	return nil, name, source.FindingsOf(text.At, at, err).Of(WrongLookup)
}

// checkName rejects names that would change the path in the API, even if the kind allows them.
func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("the name is empty")
	}
	if problems := path.IsValidPathSegmentName(name); len(problems) > 0 {
		return fmt.Errorf("the name is not possible: %s", strings.Join(problems, "; "))
	}
	return nil
}

// secretsIn returns the lookups of Secrets that a value with these references contains or may contain, also through
// variables.
func (s *scope) secretsIn(references []string) []*lookup {
	var secrets []*lookup
	read := s.reach(references).lookups[s]
	for _, l := range s.lookups {
		if read[l.request.Name] && l.request.IsSecret() {
			secrets = append(secrets, l)
		}
	}
	return secrets
}

// readsSecret reports whether the object is a Secret and a value with these references contains or may contain its
// data.
func (s *scope) readsSecret(t *target.Target, references []string) bool {
	if form := t.Forms[0]; form.Group != "" || form.Kind != facts.Secret.Kind {
		return false
	}
	named := map[string]bool{}
	s.expand(references, named)
	for reference := range named {
		if reference == "object" || reference == "object.data" || strings.HasPrefix(reference, "object.data.") {
			return true
		}
	}
	return false
}

// references returns the dotted paths that the object name needs.
func (l *lookup) references() []string {
	var references []string
	for _, template := range []*expression.Template{l.name, l.namespace} {
		if template != nil {
			references = append(references, template.References()...)
		}
	}
	return references
}

// nodeAt returns the value below the keys, or its nearest existing ancestor.
func nodeAt(n source.Node, keys ...string) source.Node {
	for _, key := range keys {
		i := slices.IndexFunc(n.Fields(), func(f source.Field) bool { return f.Key.Value == key })
		if i < 0 {
			return n
		}
		n = n.Fields()[i].Value
	}
	return n
}

// Confided returns the scalars of the step's value that contain data of Secrets, or nil. It is for observers during the
// admission. It fails if the value cannot be computed.
func (s Step) Confided(ctx context.Context) ([]operation.Confided, error) {
	if s.secrecy == nil {
		return nil, nil
	}
	return s.secrecy.confided(ctx, s.write)
}

// Writes reports whether the profile itself contains the text, so that it is not confidential.
func (s Step) Writes(text string) bool {
	return s.secrecy != nil && holds(s.secrecy.rule.scope.node, text)
}

func (y *secrecy) confided(ctx context.Context, w *operation.Write) ([]operation.Confided, error) {
	whole := y.rule
	if whole.whole != nil {
		whole = whole.whole
	}
	s, items := y.rule.scope, whole.itemReferences()
	return w.Value.Confided(ctx, y.variables, operation.Confiding{
		Secrets:  func(references []string) []string { return s.secretsOf(whole.target, references, items) },
		Variable: s.valueOf,
	})
}

// secretsOf returns the names of the Secrets that a value with these references contains; items holds the references of
// the surrounding forEach.
func (s *scope) secretsOf(t *target.Target, references, items []string) []string {
	if usesItem(references) {
		references = slices.Concat(references, items)
	}
	return s.namesOf(t, references, s.readsSecret(t, references))
}

// taint marks the writes with values from Secrets; items holds the references of the surrounding forEach.
func (s *scope) taint(t *target.Target, writes []operation.Write, items []string) {
	for i := range writes {
		if names := s.secretsOf(t, writes[i].Value.References(), items); names != nil {
			writes[i] = writes[i].FromSecrets(names...)
		}
	}
}

// valueOf returns the value of a variable by its dotted path. It returns false for a field of one and for other paths.
func (s *scope) valueOf(path string) (operation.Value, bool) {
	name, ok := strings.CutPrefix(path, variablesName+".")
	if v := s.variableOf[name]; ok && v != nil {
		if v.template != nil {
			return operation.ValueOf(v.template), true
		}
		return v.tree, true
	}
	return operation.Value{}, false
}

// holds reports whether a scalar of a document contains a text.
func holds(n *yaml.Node, text string) bool {
	if n == nil {
		return false
	}
	return n.Kind == yaml.ScalarNode && strings.Contains(n.Value, text) ||
		slices.ContainsFunc(n.Content, func(child *yaml.Node) bool { return holds(child, text) })
}

// refuse reports writes that the contract forbids. Reserved places are allowed to a rule that gives a reason.
func refuse(t *target.Target, r *rule, g contract.Generation) source.Findings {
	var findings source.Findings
	for _, write := range r.writes {
		if clause, ok := forbidden(t, write, g); ok {
			findings = append(findings, write.At.Finding(write.Path, "%s must not be written: %s", write.Place, clause).Of(Forbidden))
			continue
		}
		if clause, ok := reserved(t, write, r.writes); ok && !r.override {
			findings = append(findings, write.At.Finding(write.Path, "%s is reserved: %s; a rule that must write it all the same says why in `override`",
				write.Place, clause).Of(Reserved))
		}
	}
	return findings
}

// needless reports whether a rule gives a reason without need, so that obsolete reasons are found. It returns false for
// computed names, which are unknown at this point.
func needless(t *target.Target, r *rule) bool {
	if r.family != nil && len(r.family.names) > 0 {
		return false
	}
	return !slices.ContainsFunc(r.writes, func(write operation.Write) bool {
		_, ok := reserved(t, write, r.writes)
		return ok || definesKubelet(write.Place)
	})
}

// definesKubelet reports whether a place, other than a flag, determines the kubelet command that systemd runs.
func definesKubelet(p operation.Place) bool {
	switch p.Kind {
	case operation.File:
		return contract.DefinesKubelet(p.Name)
	case operation.Unit:
		return p.Name == target.KubeletUnit
	case operation.UnitField, operation.UnitOption, operation.DropIn:
		return p.Container == target.KubeletUnit
	default:
		return false
	}
}

// forbidden finds the clause that no reason overrides.
func forbidden(t *target.Target, write operation.Write, g contract.Generation) (contract.Clause, bool) {
	switch write.Place.Kind {
	case operation.Flag, operation.ListFlagItem, operation.MapFlagEntry:
		if write.Place.Container == t.Container {
			return contract.LockedFlag(t, flagOf(write.Place), g)
		}
	case operation.Label, operation.PodLabel:
		return contract.ReservedLabel(write.Place.Name)
	case operation.Annotation, operation.PodAnnotation:
		return contract.ReservedAnnotation(write.Place.Name)
	case operation.Container:
		return contract.OwnContainer(t, write.Place.Name, write.Value.Keys())
	case operation.Field:
		return contract.ReservedField(write.Place.Name)
	case operation.DocumentField:
		return contract.ReservedField(write.Place.Container)
	}
	return contract.Clause{}, false
}

// reserved finds the clause that a reason overrides.
func reserved(t *target.Target, write operation.Write, writes []operation.Write) (contract.Clause, bool) {
	own := t.Container != "" && write.Place.Container == t.Container
	switch write.Place.Kind {
	case operation.Flag, operation.ListFlagItem, operation.MapFlagEntry, operation.FeatureGate:
		if own {
			return contract.ReservedFlag(t, flagOf(write.Place))
		}
	case operation.Field:
		return contract.ReservedPart(t, write.Place.Name)
	case operation.Env:
		if own {
			return contract.SenselessInput(t)
		}
	case operation.VolumeMount:
		if own && mountsSecret(write.Place.Name, writes) {
			return contract.SenselessInput(t)
		}
	case operation.Volume:
		if value, ok := write.Value.Constant(); ok && value.Absent {
			return contract.SenselessInput(t)
		}
	case operation.Container:
		if write.Place.Name == t.Container && bringsInput(write.Value.Keys()) {
			return contract.SenselessInput(t)
		}
	}
	return contract.Clause{}, false
}

// bringsInput reports whether the fields of a container include environment variables or mounts.
func bringsInput(fields []string) bool {
	return slices.ContainsFunc([]string{"env", "envFrom", "volumeMounts"}, func(field string) bool { return slices.Contains(fields, field) })
}

// mountsSecret reports whether a rule's mount refers to a Secret or ConfigMap. It returns true if the rule does not
// define the volume.
func mountsSecret(volume string, writes []operation.Write) bool {
	for _, write := range writes {
		if write.Place.Kind == operation.Volume && write.Place.Name == volume {
			keys := write.Value.Keys()
			return slices.Contains(keys, "secret") || slices.Contains(keys, "configMap") || slices.Contains(keys, "projected") || slices.Contains(keys, "csi")
		}
	}
	return true
}

// flagOf returns the flag that a place contains completely or in part, or an empty string for other places.
func flagOf(p operation.Place) string {
	switch p.Kind {
	case operation.Flag:
		return p.Name
	case operation.FeatureGate:
		return "feature-gates"
	case operation.ListFlagItem, operation.MapFlagEntry:
		flag, _, _ := strings.Cut(p.Name, ":")
		return flag
	default:
		return ""
	}
}

// declareVariables compiles the variables so that each is typed by its expression. That takes two rounds: the first, in
// which all are of any type, finds which variable uses which; the second goes in that order. A variable with which something is
// wrong stays of any type.
func (s *scope) declareVariables(d *profile.Document) source.Findings {
	s.variableOf = map[string]*variable{}
	types := map[string]*cel.Type{}
	for _, name := range slices.Sorted(maps.Keys(d.Variables)) {
		s.variableOf[name] = &variable{name: name, node: d.Variables[name]}
		types[name] = cel.DynType
	}
	environment := s.environment
	findings := s.compileVariables(d, types, slices.Sorted(maps.Keys(types)))
	order, cycles := s.orderVariables()
	findings = append(findings, cycles...)
	for _, name := range order {
		if v := s.variableOf[name]; !v.broken {
			s.environment = environment
			findings = append(findings, s.compileVariables(d, types, []string{name})...)
			types[name] = v.celType
		}
	}
	for _, name := range order {
		if v := s.variableOf[name]; v.broken {
			types[name] = cel.DynType
			s.broken = append(s.broken, v.node)
			v.template, v.tree, v.needs = nil, operation.Value{}, nil
		} else {
			s.variables = append(s.variables, v)
		}
	}
	s.environment = environment
	return append(findings, s.compileVariables(d, types, nil)...)
}

// compileVariables compiles the named variables while those with a type are declared; it leaves the environment extended.
func (s *scope) compileVariables(d *profile.Document, types map[string]*cel.Type, names []string) source.Findings {
	s.varType = expression.NewObject("graft.Variables", maps.Clone(types))
	extended, err := s.environment.Extend(unlessBroken(d, expression.Variable{Name: variablesName, Object: s.varType}))
	if err != nil {
		return source.Findings{{Message: err.Error(), Rule: expression.WrongResult}}
	}
	sizes := expression.Sizes{}
	for name, v := range s.variableOf {
		if v.size.Length > 0 {
			sizes[variablesName+"."+name] = v.size
		}
	}
	s.environment = extended.Sized(sizes)
	var findings source.Findings
	for _, name := range names {
		v := s.variableOf[name]
		problems := v.compile(s.environment)
		v.broken = v.broken || len(problems) > 0
		findings = append(findings, problems...)
	}
	return findings
}

func (v *variable) compile(environment *expression.Environment) source.Findings {
	path := "variables." + v.name
	if v.node.Kind == yaml.ScalarNode && v.node.Tag == "!!str" {
		template, err := environment.Template(v.node.Value, expression.At(v.node))
		if err != nil {
			return source.FindingsOf(v.node, path, err).Of(expression.WrongResult)
		}
		v.template, v.celType, v.needs = template, template.Type(), variablesIn(template.References())
		v.size = template.Size()
		return nil
	}
	context := &operation.Context{Expressions: environment}
	tree, findings := context.Tree(v.node, path)
	v.tree, v.celType, v.needs = tree, typeOfNode(v.node), variablesIn(tree.References())
	v.size = tree.Size()
	return findings
}

func typeOfNode(n source.Node) *cel.Type {
	var value any
	if n.Absent() || n.Decode(&value) != nil {
		return cel.DynType
	}
	return typeOf(value)
}

// variablesIn returns the names of the variables among references.
func variablesIn(references []string) []string {
	var names []string
	for _, reference := range references {
		if path, ok := strings.CutPrefix(reference, variablesName+"."); ok {
			name, _, _ := strings.Cut(path, ".")
			names = append(names, name)
		}
	}
	return names
}

// orderVariables sorts the variables by their dependencies. A cycle is a finding that lists all its variables.
func (s *scope) orderVariables() ([]string, source.Findings) {
	var (
		order    []string
		findings source.Findings
		done     = map[string]bool{}
		visit    func(name string, path []string)
	)
	visit = func(name string, path []string) {
		if i := slices.Index(path, name); i >= 0 {
			cycle := append(slices.Clone(path[i:]), name)
			v := s.variableOf[name]
			if !v.broken {
				findings = append(findings, v.node.Finding("variables."+name, "variables use each other in a cycle: %s", strings.Join(cycle, " -> ")).Of(VariableCycle))
			}
			for _, name := range cycle {
				s.variableOf[name].broken = true
			}
			return
		}
		if done[name] || s.variableOf[name] == nil {
			return
		}
		for _, need := range s.variableOf[name].needs {
			visit(need, append(path, name))
		}
		done[name] = true
		order = append(order, name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.variableOf)) {
		visit(name, nil)
	}
	return order, findings
}

// references returns the dotted paths that the variable uses.
func (v *variable) references() []string {
	if v.template != nil {
		return v.template.References()
	}
	return v.tree.References()
}

// misread warns of numbers that YAML reads differently from their text, such as 1.30, 0755 or 1_000: the author may
// have meant a string.
func misread(n source.Node, path string) source.Findings {
	var findings source.Findings
	for _, field := range n.Fields() {
		findings = append(findings, misread(field.Value, path+"."+field.Key.Value)...)
	}
	for i, item := range n.Items() {
		findings = append(findings, misread(item, path+"["+strconv.Itoa(i)+"]")...)
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" {
		return findings
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return source.Findings{n.Finding(path, "cannot be read as a number; put it in quotes if it is text").Of(MisreadNumber).Replace(n, `"`+n.Value+`"`)}
	}
	read := fmt.Sprint(value)
	if float, ok := value.(float64); ok {
		read = strconv.FormatFloat(float, 'f', -1, 64)
	}
	if read != strings.TrimPrefix(n.Value, "+") {
		finding := n.Finding(path, "%s is read as %s; put it in quotes if it is text, or write the number so", n.Value, read)
		return source.Findings{finding.Of(MisreadNumber).Replace(n, `"`+n.Value+`"`)}
	}
	return nil
}

// checkKeep reports a place that cannot keep the value of the old object.
func checkKeep(r *rule) source.Findings {
	if !r.keep {
		return nil
	}
	for _, write := range r.writes {
		if write.Keep == nil {
			return source.Findings{write.At.Finding(r.path+".onUpdate", "%s cannot keep what the old object has; onUpdate must be set", write.Place).Of(CannotKeep)}
		}
	}
	return nil
}
