// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/reference"
)

// variables lists what expressions see.
func variables() []Row {
	var rows []Row
	for _, v := range facts.Variables() {
		rows = append(rows, Row{Name: v.Name, Type: v.TypeName(), Text: facts.Summary(v.Name)})
	}
	for _, declared := range reference.Declared {
		rows = append(rows, Row{Name: declared.Name, Text: declared.Summary})
	}
	return rows
}

// variablePage is about a variable, or about a field of one: shoot.networking.type. Items of lists need no step.
func variablePage(path string) (*Page, error) {
	names := strings.Split(strings.ReplaceAll(path, "[]", ""), ".")
	rows := variables()
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == names[0] })
	if i < 0 {
		return nil, unknownName("variable", names[0], rows)
	}
	at := rows[i]
	object := objectOf(at.Type)
	for n, name := range names[1:] {
		within := strings.Join(names[:n+1], ".")
		if object == nil {
			return nil, fmt.Errorf("%s has no fields that are known before an expression is evaluated: it is %s", within, orAny(at.Type))
		}
		fields := fieldsOf(object)
		i := slices.IndexFunc(fields, func(r Row) bool { return r.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%s has no field %q%s", within, name, source.Suggest(name, object.Fields()))
		}
		at = fields[i]
		object = objectOf(at.Type)
	}
	page := &Page{Heads: []Head{{"VARIABLE", strings.TrimSuffix(strings.Join(names, ".")+" <"+at.Type+">", " <>")}}, Text: at.Text}
	if object != nil {
		page.section(Section{Title: "FIELDS", Rows: fieldsOf(object)})
	}
	if at.Type == "dyn" {
		page.section(Section{Title: "READING IT", Text: "Its fields are checked only when an expression is evaluated; one that may be missing is read with ?: ${ " +
			strings.Join(names, ".") + `.?field.orValue("") }`})
	}
	return page, nil
}

func orAny(t string) string {
	if t == "" {
		return "what the profile declares"
	}
	return t
}

// objectOf is the object type in a type: that itself, or what a list of it holds; nil for others.
func objectOf(typeName string) *expression.Object {
	inner := strings.TrimSuffix(strings.TrimPrefix(typeName, "list("), ")")
	all := reference.Objects()
	if i := slices.IndexFunc(all, func(o *expression.Object) bool { return o.Name() == inner }); i >= 0 {
		return all[i]
	}
	return nil
}

func fieldsOf(o *expression.Object) []Row {
	var rows []Row
	for _, field := range o.Fields() {
		rows = append(rows, Row{Name: field, Type: o.FieldType(field), Text: facts.Summary(o.Name() + "." + field)})
	}
	return rows
}

// known are the functions of expressions; the environment that declares them is part of the program.
var known = sync.OnceValue(func() []expression.Function {
	all, err := expression.Functions()
	if err != nil {
		panic(err)
	}
	return all
})

// functions lists what expressions can call, Graft's own first.
func functions() []Row {
	var own, others []Row
	for _, f := range known() {
		row := Row{Name: f.Name, Text: f.Summary}
		if row.Text == "" {
			row.Text = f.Signatures[0]
		}
		if f.Own {
			own = append(own, row)
		} else {
			others = append(others, row)
		}
	}
	return append(own, others...)
}

// functionPage is about a function.
func functionPage(name string) (*Page, error) {
	name = strings.TrimSuffix(name, "()")
	all := known()
	i := slices.IndexFunc(all, func(f expression.Function) bool { return f.Name == name })
	if i < 0 {
		return nil, unknownName("function", name, functions())
	}
	page := &Page{Heads: []Head{{"FUNCTION", name}, {"FROM", "CEL, or the libraries that Kubernetes adds to it"}}, Text: sentence(all[i].Summary)}
	if all[i].Own {
		page.Heads[1].Text = "Graft"
	}
	page.section(Section{Title: "SIGNATURES", Lines: all[i].Signatures})
	return page, nil
}
