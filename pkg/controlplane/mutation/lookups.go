// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

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

// declareLookups declares each lookup as an object of what it keeps. The names are compiled later, when variables are known.
func (s *scope) declareLookups(d *profile.Document) source.Findings {
	var (
		findings source.Findings
		requests []facts.LookupRequest
		unknown  []string
	)
	for _, name := range slices.Sorted(maps.Keys(d.Lookups)) {
		declared := d.Lookups[name]
		if !declarable(name, declared) {
			// Which is said already, and what expressions would see of it is not known.
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

// declarable says whether a lookup has a name that expressions can use, and says which one object it reads.
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

// objectNameOf is the name of the object that the lookup reads, as it was written.
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

// nameLookups compiles the names of the objects. What a lookup has read cannot say what to look up.
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

// checkName refuses what would be another path in the API, whatever the kind allows besides.
func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("the name is empty")
	}
	if problems := path.IsValidPathSegmentName(name); len(problems) > 0 {
		return fmt.Errorf("the name is not possible: %s", strings.Join(problems, "; "))
	}
	return nil
}

// reach is what is needed for expressions that name these references.
func (s *scope) reach(references []string) needs {
	n := needs{lookups: map[*scope]map[string]bool{s: {}}}
	n.add(s, references, map[string]bool{})
	return n
}

// secretsIn are the lookups of Secrets of which a value with these references is or may be made, through variables too.
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

// readsSecret says whether a value with these references is or may be made of what the object holds, and that is a Secret.
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

// references are the dotted paths that the name of the object needs.
func (l *lookup) references() []string {
	var references []string
	for _, template := range []*expression.Template{l.name, l.namespace} {
		if template != nil {
			references = append(references, template.References()...)
		}
	}
	return references
}

// nodeAt is the value below the keys, or the nearest one above it that is there.
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
