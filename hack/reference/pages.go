// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/app"
	"github.com/graft-provider/gardener-extension-provider-graft/cmd/graft/manual"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/operation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
)

// documented returns the writer of a page about a kind of document: a head, the fields' heading, and write's output.
func documented(file, intro string, write func(*bytes.Buffer, *Schema)) func(*bytes.Buffer) error {
	return func(out *bytes.Buffer) error {
		schema, err := readSchema(file)
		if err == nil {
			fmt.Fprintf(out, "# Reference of the %s\n\n", schema.Title)
			paragraph(out, "%s", intro)
			fmt.Fprint(out, "## Fields\n\n")
			write(out, schema)
		}
		return err
	}
}

// writeProfile writes the page of the document: its fields, the fields of a rule, and the targets.
func writeProfile(out *bytes.Buffer, schema *Schema) {
	writeFields(out, schema)
	fmt.Fprintf(out, "\n## Rules\n\nA rule has one [operation](operations.md) as its key, and these fields:\n\n")
	rule := schema.resolve(schema.Definitions["set"].Properties["kubelet"].Items)
	for _, name := range v1alpha1.RuleFields {
		item(out, code(name), rule.Properties[name].Kind(), prose(rule.Properties[name].Description))
	}
	fmt.Fprintf(out, "\n`purposes` is for the targets kubelet and node.\n\n## Targets\n\nEach set has lists of rules by target.\n\n")
	for _, name := range target.Names() {
		found, _ := target.Lookup(name)
		var forms []string
		for _, form := range found.Forms {
			forms = append(forms, form.String())
		}
		details := code(forms...)
		if found.Container != "" {
			details += "; container " + code(found.Container)
		}
		item(out, code(name), details, found.Summary)
	}
	writeOthers(out, schema)
}

// writeOthers writes the rules for other objects of a set.
func writeOthers(out *bytes.Buffer, s *Schema) {
	fmt.Fprintf(out, "\n## Other objects\n\n%s of a set are a list of:\n\n", code(v1alpha1.ObjectsField))
	writeFields(out, s.Definitions["set"].Properties[v1alpha1.ObjectsField].Items)
	fmt.Fprintf(out, "\nOperations by kind:\n\n")
	var kinds groups
	for _, other := range append(target.Others(), target.Other(target.Form{Kind: "all other kinds"})) {
		kinds.add(code(operationsOf(other)...), other.Name)
	}
	for _, operations := range kinds.order {
		item(out, strings.Join(kinds.names[operations], ", "), "", operations)
	}
}

// groups has names by their common text.
type groups struct {
	order []string
	names map[string][]string
}

func (g *groups) add(text, name string) {
	if g.names == nil {
		g.names = map[string][]string{}
	}
	if g.names[text] == nil {
		g.order = append(g.order, text)
	}
	g.names[text] = append(g.names[text], name)
}

// writeConfiguration writes the page of a configuration from its schema.
func writeConfiguration(file string) func(*bytes.Buffer) error {
	return func(out *bytes.Buffer) error {
		schema, err := readSchema(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "# Reference of the %s\n\n", schema.Properties["kind"].Const)
		paragraph(out, "For operators. Look up a field, its type and its default. %s", schema.Description)
		writeFields(out, schema)
		return nil
	}
}

// writeOperations writes the page of operations: their effects, arguments, examples, and targets.
func writeOperations(out *bytes.Buffer) error {
	fmt.Fprint(out, "# Operations\n\n")
	paragraph(out, "For authors of profiles. Look up the arguments, examples and targets of an operation. A [rule](profile.md#rules) has one "+
		"operation as its key. *Text* is a string, a number or a boolean. Strings of computed values may contain `${ CEL }`, and in rules "+
		"with `forEach` names may too.")
	writeTargets(out)
	for _, d := range operation.All() {
		fmt.Fprintf(out, "\n## %s\n\n", d.Name)
		paragraph(out, "%s.", strings.ToUpper(d.Summary[:1])+d.Summary[1:])
		writeArguments(out, argumentsIn("", d.Arguments))
		fmt.Fprintf(out, "\n```yaml\n")
		for _, example := range append([]string{d.Example}, d.Examples...) {
			fmt.Fprintf(out, "%s\n", wrapped(strings.Split("- "+strings.ReplaceAll(example, ", ", ",\n"), "\n"), "    "))
		}
		fmt.Fprintf(out, "```\n")
		if d.KeepsByDefault {
			fmt.Fprintf(out, "\nOn update it keeps the old value, unless the rule has `onUpdate: set`.\n")
		}
	}
	return nil
}

// writeTargets writes which targets have which operations, one row for the operations with the same targets.
func writeTargets(out *bytes.Buffer) {
	fmt.Fprintf(out, "## Targets\n\n")
	var operations groups
	for _, d := range operation.All() {
		operations.add(code(targetsOf(d)...), d.Name)
	}
	for _, targets := range operations.order {
		item(out, code(operations.names[targets]...), "", targets)
	}
}

// writeArguments writes an item for each argument.
func writeArguments(out *bytes.Buffer, arguments []argument) {
	for _, a := range arguments {
		kind := typeInWords(a.Type)
		if a.Required {
			kind += ", required"
		}
		if a.Computed {
			kind += ", computed"
		}
		item(out, code(a.Name), kind, prose(a.Summary))
	}
}

// writeExpressions writes the page of variables of expressions, with their fields and types.
func writeExpressions(out *bytes.Buffer) error {
	fmt.Fprint(out, "# Variables of expressions\n\n")
	paragraph(out, "For authors of profiles. Look up variables and their fields here, and functions in "+
		"[expressions](../usage/expressions.md#values-and-conditions). Fields of a `dyn` value are checked at evaluation; read optional ones "+
		"with `?`.")
	paragraph(out, "Expressions see the variables below. A profile adds `parameters`, `variables`, `lookups`, `images` (references by their names "+
		"in the image vector), and, in rules with `forEach`, `item` (with `key` and `value` for a mapping).")
	writeVariables(out, facts.Variables(), facts.Summary)
	writeObjects(out, "##", facts.Variables(), facts.Summary)
	return nil
}

// writeVariables writes a list of variables.
func writeVariables(out *bytes.Buffer, variables []expression.Variable, summary func(name string) string) {
	for _, variable := range variables {
		item(out, code(variable.Name), code(variable.TypeName()), summary(variable.Name))
	}
}

// writeObjects writes a list of fields for each object type of the variables and those inside them, each once.
func writeObjects(out *bytes.Buffer, heading string, variables []expression.Variable, summary func(name string) string) {
	seen := map[*expression.ObjectType]bool{}
	var write func(object *expression.ObjectType)
	write = func(object *expression.ObjectType) {
		if object == nil || seen[object] {
			return
		}
		seen[object] = true
		fmt.Fprintf(out, "\n%s %s\n\n", heading, object.Name())
		for _, field := range object.Fields() {
			item(out, code(field), code(object.FieldType(field)), summary(object.Name()+"."+field))
		}
		for _, nested := range object.Nested() {
			write(nested)
		}
	}
	for _, variable := range variables {
		write(variable.Object)
	}
}

// writeNetworkProfile writes the page of the document, of the configuration of devices, and of variables.
func writeNetworkProfile(out *bytes.Buffer, schema *Schema) {
	config := networkFields(out, schema, schema, "[configuration of a device](#configuration-of-a-device)")
	fmt.Fprintf(out, "\n## Configuration of a device\n\nThe fields of DRANET's NetworkConfig. Each may be an expression.\n\n")
	networkFields(out, schema, config, "")
	fmt.Fprint(out, "\n## Variables of expressions\n\n")
	paragraph(out, "Facts of `devices` see only `device`. Clouds see [their own variables](../usage/clouds.md#http-api). "+
		"All other expressions see:")
	writeVariables(out, policy.Variables(), summary)
	writeObjects(out, "###", policy.Variables(), summary)
}

// networkFields writes the fields of a schema and of its references. The configuration of a device has a separate list
// without descriptions; networkFields returns its schema, or nil without one.
func networkFields(out *bytes.Buffer, root, s *Schema, device string) *Schema {
	var config *Schema
	w := &fields{out: out, root: root, brief: device == "" && s != root}
	w.kind = func(field *Schema) (string, bool) {
		found := root.resolve(field)
		if device != "" && found != field {
			config = found
			return device, true
		}
		if found.Items != nil && found.Items.Ref != "" {
			return "list of mappings", false
		}
		return strings.TrimSuffix(found.Kind(), " or string"), false
	}
	w.write(s, nil)
	return config
}

// writeInterpreterProfile writes the page of the document, and of the variables in each operation.
func writeInterpreterProfile(out *bytes.Buffer, schema *Schema) {
	networkFields(out, schema, schema, "")
	fmt.Fprint(out, "\n## Variables of expressions\n\n")
	paragraph(out, "Fields of objects have no type. Read optional fields with `?`, as in `object.?status.?replicas.orValue(0)`. "+
		"Expressions see the original object, without the changes of earlier rules.")
	seen := map[string]bool{}
	var all []expression.Variable
	for _, operation := range interpreter.Operations() {
		var names []string
		for _, variable := range rule.Variables(operation) {
			names = append(names, variable.Name)
			if !seen[variable.Name] {
				seen[variable.Name] = true
				all = append(all, variable)
			}
		}
		for _, variable := range rule.ItemVariables(operation) {
			names = append(names, variable.Name)
		}
		item(out, code(string(operation)), "", code(names...))
	}
	fmt.Fprintln(out)
	writeVariables(out, append(all, rule.ItemVariables(interpreter.Retain)...), rule.Summary)
	writeObjects(out, "###", all, rule.Summary)
}

// writeProfileTest writes the page of tests: tables, settings and expectations.
func writeProfileTest(out *bytes.Buffer, schema *Schema) {
	setting, cases := schema.Definitions["setting"], schema.Properties["cases"].Items
	testRows(out, schema, nil)
	fmt.Fprintf(out, "\n## Cases\n\nA case has the fields of a [setting](#settings), and these:\n\n")
	testRows(out, cases, setting)
	fmt.Fprintf(out, "\n## Settings\n\n")
	testRows(out, setting, nil)
	fmt.Fprint(out, "\n## Expectations\n\n")
	paragraph(out, "By [target](profile.md#targets), by kind and name such as `Deployment/acme`, or for all `%s`. An expectation is one of "+
		"the words %s, or has fields:", v1alpha1.TestOthers, code(v1alpha1.TestStates...))
	testRows(out, schema.Definitions["expectation"].AnyOf[1], nil)
}

// testRows writes the fields of a schema without those of another one.
func testRows(out *bytes.Buffer, s, without *Schema) {
	w := &fields{out: out, root: &Schema{}, kind: testKind}
	w.write(s, without)
}

// testLinks has the lists of the page by definition.
var testLinks = map[string]string{
	definitions + "setting": "[setting](#settings)", definitions + "expectations": "[expectations](#expectations)",
	definitions + "want": "[expected answer](#expected-answers)",
}

// testKind returns the type of a field, which may be a link to another list of the page.
func testKind(s *Schema) (words string, linked bool) {
	values := s.AdditionalProperties.Schema
	switch {
	case testLinks[s.Ref] != "":
		return testLinks[s.Ref], true
	case values != nil && testLinks[values.Ref] != "":
		return "mapping of names to " + testLinks[values.Ref], true
	case s.Items != nil && s.Items.Properties["golden"] != nil:
		return "list of [cases](#cases)", true
	}
	// Every setting accepts null, which resets it; this is not repeated for each.
	words = strings.TrimSuffix(s.Kind(), " or null")
	if s.Items != nil && slices.Contains(s.Type, "string") {
		words = "string, or " + words
	}
	return words, false
}

// writeInterpreterTest writes the page of tests for interpreter profiles: tables and expected answers.
func writeInterpreterTest(out *bytes.Buffer, schema *Schema) {
	testRows(out, schema, nil)
	fmt.Fprint(out, "\n## Cases\n\n")
	testRows(out, schema.Properties["cases"].Items, nil)
	fmt.Fprint(out, "\n## Expected answers\n\n")
	paragraph(out, "%s The operation is in brackets.", schema.Definitions["want"].Description)
	testRows(out, schema.Definitions["want"], nil)
}

// writeCommandLine writes the page of graft's commands.
func writeCommandLine(out *bytes.Buffer) error {
	_, err := out.Write(manual.Markdown(app.NewCommand("", &app.Streams{})))
	return err
}
