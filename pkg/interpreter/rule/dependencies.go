// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"strings"

	pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// dependencies is a rule that names objects which must come with another.
type dependencies struct {
	at                                string
	when                              condition
	items                             *items
	apiVersion, kind, namespace, name text
	// own says that the namespace is that of the object, and named that it is found by name, not by labels.
	own, named bool
	selector   value
}

// dependencies compiles a rule.
func (c *compiler) dependencies(p place, spec v1alpha1.InterpretDependencies) dependencies {
	list, env := c.forEach(p, spec.ForEach)
	d := dependencies{at: c.at(p), items: list, when: c.when(env, p, spec.When), own: spec.Namespace.At.Absent(), named: !spec.Name.At.Absent()}
	for _, field := range []struct {
		name string
		text source.Text
		into *text
	}{
		{"apiVersion", spec.APIVersion, &d.apiVersion}, {"kind", spec.Kind, &d.kind},
		{"namespace", spec.Namespace, &d.namespace}, {"name", spec.Name, &d.name},
	} {
		*field.into = c.text(env, p.At(field.name), field.text)
	}
	c.needed(p, "apiVersion", spec.APIVersion)
	c.needed(p, "kind", spec.Kind)
	if version, ok := constant(d.apiVersion, env); ok && version != "" && !isVersion(version) {
		c.add(p.At("apiVersion"), source.InvalidName, "%q is neither v1 nor group/version", version)
	}
	if kind, ok := constant(d.kind, env); ok && kind != "" && !kindName.MatchString(kind) {
		c.add(p.At("kind"), source.InvalidName, "%q is no kind, such as Secret", kind)
	}
	c.dependencyNames(env, p, &d)
	selector := p.At("labelSelector")
	if d.selector = c.value(env, selector); d.named != selector.Absent() {
		c.add(p, source.ExclusiveFields, "exactly one of name and labelSelector is needed")
	}
	if !selector.Absent() && d.selector.tree != nil && d.selector.tree.Constant() {
		if raw, err := d.selector.tree.JSON(background, nil); err == nil && !isSelector(raw) {
			c.add(selector, source.WrongValue, "is no selector of labels, such as {matchLabels: {app: acme}}")
		}
	}
	return d
}

// dependencyNames finds names that no object has. Beside the groups whose names are known, each API decides itself about those of its objects.
func (c *compiler) dependencyNames(env *expression.Environment, p place, d *dependencies) {
	if namespace, ok := constant(d.namespace, env); ok && namespace != "" && len(utilvalidation.IsDNS1123Label(namespace)) > 0 {
		c.add(p.At("namespace"), source.InvalidName, "%q is no name of a namespace", namespace)
	}
	name, ok := constant(d.name, env)
	version, known := constant(d.apiVersion, env)
	switch group, _, _ := splitVersion(version); {
	case !ok:
	case strings.TrimSpace(name) == "":
		c.add(p.At("name"), source.WrongValue, "is empty")
	case len(pathvalidation.IsValidPathSegmentName(name)) > 0,
		known && (group == "" || group == "apps" || group == "batch") && len(utilvalidation.IsDNS1123Subdomain(name)) > 0:
		c.add(p.At("name"), source.InvalidName, "%q is no name of an object", name)
	}
}

func isVersion(text string) bool {
	_, version, ok := splitVersion(text)
	return ok && version != ""
}

// isSelector says whether a value is a selector of labels as Kubernetes has them.
func isSelector(raw []byte) bool {
	var selector metav1.LabelSelector
	strict, err := kjson.UnmarshalStrict(raw, &selector)
	return err == nil && len(strict) == 0 && len(validation.ValidateLabelSelector(&selector, validation.LabelSelectorValidationOptions{}, nil)) == 0
}

// answerDependencies collects what all rules that apply name, each object once.
func (r *rules) answerDependencies(q *question) (interpreter.Response, error) {
	found := []interpreter.Dependency{}
	seen := map[string]bool{}
	for i := range r.dependencies {
		rule, applied := &r.dependencies[i], false
		err := rule.items.each(q, func() error {
			holds, err := rule.when.holds(q)
			if err != nil || !holds {
				return err
			}
			d, err := rule.of(q)
			if err != nil {
				return err
			}
			applied = true
			key := strings.Join([]string{d.APIVersion, d.Kind, d.Namespace, d.Name, string(d.LabelSelector)}, "\x00")
			if !seen[key] {
				seen[key] = true
				found = append(found, d)
			}
			return nil
		})
		if err != nil {
			return interpreter.Response{}, err
		}
		if applied {
			q.because = append(q.because, rule.at)
		}
	}
	return interpreter.Response{Dependencies: found}, nil
}

// of computes a dependency.
func (d *dependencies) of(q *question) (interpreter.Dependency, error) {
	var result interpreter.Dependency
	for _, field := range []struct {
		text text
		into *string
	}{
		{d.apiVersion, &result.APIVersion}, {d.kind, &result.Kind}, {d.namespace, &result.Namespace}, {d.name, &result.Name},
	} {
		var err error
		if *field.into, err = field.text.of(q); err != nil {
			return result, err
		}
	}
	if d.own {
		result.Namespace = q.object.CameText("metadata", "namespace")
	}
	selector, err := d.selector.of(q)
	switch {
	case err != nil:
		return result, err
	case !isVersion(result.APIVersion):
		return result, unfit("%s: what it gives is neither v1 nor group/version", d.apiVersion.at)
	case !kindName.MatchString(result.Kind):
		return result, unfit("%s: what it gives is no kind", d.kind.at)
	case d.named && result.Name == "":
		return result, unfit("%s: what it gives is empty", d.name.at)
	case !d.named && !isSelector(selector):
		return result, unfit("%s: what it gives is no selector of labels", d.selector.at)
	}
	result.LabelSelector = selector
	return result, nil
}
