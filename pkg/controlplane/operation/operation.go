// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package operation holds what a rule can do to an object: one file per operation, and the registry that lists them.
//
// An operation reads its arguments once, when a profile is loaded, and yields Writes: each names one place in the object
// (a flag of a container, a label, a volume), the value for it, and how to write it. All that the engine decides (what
// conflicts, what overrides what, what the contract forbids) it decides by places and values, so that an operation need not
// know of it. Operations must not read anything but the object and must not decide by conditions. Enter at All.
package operation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/interpreter"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Definition is an operation as profiles know it.
type Definition struct {
	// Name is the key of the operation in a rule.
	Name string
	// Summary says in a line what it does.
	Summary string
	// Example is a rule that uses it, as YAML.
	Example string
	// Examples are further rules, so that each argument stands in one of them.
	Examples []string
	// Arguments are all that Compile accepts; the reference and the JSON Schema say the same.
	Arguments []Argument
	// Parts are the parts that an object must have for it.
	Parts target.Part
	// Components are those of the targets for which it is made; nil: all that have the parts.
	Components []string
	// KeepsByDefault says that a rule without onUpdate keeps, on UPDATE, what the old object has.
	KeepsByDefault bool
	// Lookups are lookups that the operation needs for its arguments and that the profile need not declare, by name; nil: none.
	Lookups func(arguments source.Node) map[string]v1alpha1.Lookup
	// Compile reads the arguments. The findings are all that is wrong with them.
	Compile func(c *Context, arguments source.Node, path string) ([]Write, source.Findings)
}

// On says whether the operation can be used on the target.
func (d Definition) On(t *target.Target) bool {
	return t.Has(d.Parts) && (d.Components == nil || slices.Contains(d.Components, t.Component))
}

// Context is what an operation may use when it reads its arguments.
type Context struct {
	// Target is the target of the rule.
	Target *target.Target
	// Expressions compiles ${ CEL } in strings.
	Expressions expression.Templates
	// Files are the files beside the profile, by the path that it writes in contentFrom.
	Files map[string][]byte
	// Refused says of such files why they could not be read.
	Refused map[string]string
}

// Write is one place that an operation writes.
type Write struct {
	Place Place
	// Value is what will stand there.
	Value Value
	// At is where the value stands in the profile, and Path its field.
	At   source.Node
	Path string
	// Adds says that it goes beside what other writes put there, even one for the same place: it overrides none, and none it.
	Adds bool
	// Apply writes the resolved value. It makes no edit where the object is so already.
	Apply func(o *target.Object, v Resolved) error
	// Keep makes the place what it is in o.Old, which is there. Nil: the operation cannot, and a rule that keeps is refused.
	Keep func(o *target.Object) error

	// leaves gives what Traces does; nil: what the place tells.
	leaves func(original, now *document.Node, v *Resolved) []Trace
}

// Kind is a kind of place.
type Kind string

// The kinds of places. Two writes meet when kind, container and name are the same.
const (
	Flag            Kind = "flag"
	FeatureGate     Kind = "feature gate"
	ListFlagItem    Kind = "list flag item"
	MapFlagEntry    Kind = "map flag entry"
	AdmissionPlugin Kind = "admission plugin"
	Env             Kind = "environment variable"
	Volume          Kind = "volume"
	VolumeMount     Kind = "volume mount"
	Label           Kind = "label"
	Annotation      Kind = "annotation"
	PodLabel        Kind = "pod label"
	PodAnnotation   Kind = "pod annotation"
	Container       Kind = "container"
	InitContainer   Kind = "init container"
	ContainerPolicy Kind = "container policy"
	StorageField    Kind = "storage"
	ServiceField    Kind = "service field"
	KubeletField    Kind = "kubelet configuration field"
	KernelSetting   Kind = "kernel setting"
	File            Kind = "file"
	Unit            Kind = "unit"
	UnitField       Kind = "unit field"
	UnitOption      Kind = "unit option"
	DropIn          Kind = "drop-in"
	CRIField        Kind = "container runtime field"
	// ProviderConfigField is a field of spec.providerConfig.
	ProviderConfigField Kind = "provider configuration field"
	// Field is a field of the object by its path.
	Field Kind = "field"
	// TestedField is a field that a patch writes only if a test holds; where it stands in the profile is the container.
	TestedField Kind = "field behind a test"
	// DocumentField is a field of a document inside a field or file, which is the container.
	DocumentField Kind = "document field"
	// Denied is no place in an object: it stands for the message of a denial.
	Denied Kind = "denial"
)

// InText says whether places of the kind stand in units and files of an OperatingSystemConfig that are edited through
// target.Object alone, or in command lines.
func InText(kind Kind) bool {
	return slices.Contains([]Kind{Flag, FeatureGate, ListFlagItem, MapFlagEntry, KubeletField, UnitOption}, kind)
}

// Place is what a write writes: comparable, and printable.
type Place struct {
	Kind Kind
	// Container is the container, the unit or the document to which the place belongs; empty for those of the pod or the object.
	Container string
	// Name is the name of the flag, label, volume and so on.
	Name string
}

// String writes the place as a person would say it.
func (p Place) String() string {
	name := p.Name
	if p.Kind == Flag {
		name = "--" + name
	}
	if p.Container == "" {
		return fmt.Sprintf("%s %s", p.Kind, name)
	}
	owner := "container"
	switch p.Kind {
	case UnitField, UnitOption, DropIn:
		owner = "unit"
	case TestedField:
		return fmt.Sprintf("field %s, behind a test", name)
	case DocumentField:
		return fmt.Sprintf("field %s of the document %s", name, p.Container)
	}
	return fmt.Sprintf("%s %s of %s %s", p.Kind, name, owner, p.Container)
}

// Covers says whether the place holds another one: a field and what is below it.
func (p Place) Covers(q Place) bool {
	if p.Kind != q.Kind || p.Container != q.Container || p.Kind != Field && p.Kind != DocumentField {
		return false
	}
	rest, ok := strings.CutPrefix(q.Name, p.Name)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// Lookup finds an operation by its name.
func Lookup(name string) (Definition, bool) {
	definition, ok := registered()[name]
	return definition, ok
}

// registered are the operations by name, made once: their shapes are read from Kubernetes' types.
var registered = sync.OnceValue(func() map[string]Definition {
	all := map[string]Definition{}
	for _, definition := range All() {
		all[definition.Name] = definition
	}
	return all
})

// Names are the names of all operations in the order of the registry.
func Names() []string { return slices.Clone(registeredNames()) }

var registeredNames = sync.OnceValue(func() []string {
	var all []string
	for _, definition := range All() {
		all = append(all, definition.Name)
	}
	return all
})

// Variables are what expressions see when a value is resolved.
type Variables = interpreter.Activation

// Resolve computes the value of the write.
func (w Write) Resolve(ctx context.Context, variables Variables) (Resolved, error) {
	resolved, err := w.Value.resolve(ctx, variables)
	if secrets := w.Value.secrets; secrets != nil {
		resolved.From, err = secrets, hide(err, fromSecrets(secrets))
	}
	if err != nil {
		return Resolved{}, fmt.Errorf("computing %s: %w", w.Place, err)
	}
	return resolved, nil
}
