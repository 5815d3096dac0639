// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// topic is a word that pages are about.
type topic struct {
	name, summary string
	// names are what there are pages about; the list of the topic has a row for each.
	names func() []Row
	// page is the page about one of them.
	page func(name string) (*Page, error)
	// below lists how a name that has been begun may go on, such as fields behind a dot; nil where names do not go on.
	below func(begun string) []Row
}

// topics are all of them. To add one: one entry here. Kinds of documents are topics, too; see kinds.
func topics() []topic {
	all := []topic{
		{name: "operation", summary: "what a rule can do, with its arguments", names: operations, page: operationPage, below: argumentsBelow},
		{name: "target", summary: "the objects that rules are for, by the contract's names", names: targets, page: targetPage},
		{name: "variable", summary: "what expressions see", names: variables, page: variablePage, below: fieldsBelow},
		{name: "function", summary: "what expressions can call", names: functions, page: functionPage},
		{name: "flag", summary: "the flags of Kubernetes' components, by version: flag kube-apiserver/v", names: components, page: flagPage, below: flagsBelow},
		{name: "gate", summary: "the feature gates of Kubernetes' components, by version", names: gates, page: gatePage},
		{name: "plugin", summary: "the admission plugins of kube-apiserver, by version", names: plugins, page: pluginPage},
	}
	for _, k := range kinds {
		all = append(all, k.topic())
	}
	return all
}

func topicOf(name string) (topic, bool) {
	all := topics()
	i := slices.IndexFunc(all, func(t topic) bool { return strings.EqualFold(t.name, name) })
	if i < 0 {
		return topic{}, false
	}
	return all[i], true
}

// IsStatic says whether words ask for a page; words that do not, name an object: kind/name.
func IsStatic(words []string) bool {
	if len(words) == 0 {
		return true
	}
	first, _ := split(words[0])
	if _, ok := topicOf(first); ok {
		return true
	}
	if _, ok := kindNamed(first); ok {
		return true
	}
	return !strings.Contains(words[0], "/")
}

// split splits a word like profile.lookups.keys into the topic and what it is asked about.
func split(word string) (topic, rest string) {
	topic, rest, _ = strings.Cut(word, ".")
	return topic, rest
}

// Static is the page that the words ask for: an overview without any, the list of a topic, or the page about one name.
func Static(words ...string) (*Page, error) {
	if len(words) == 0 {
		return overview(), nil
	}
	first, rest := split(words[0])
	if k, ok := kindNamed(first); ok {
		first = k.word
	}
	t, ok := topicOf(first)
	if !ok {
		return nil, unknown(words[0])
	}
	about := words[1:]
	if rest != "" {
		about = append([]string{rest}, about...)
	}
	if len(about) == 0 {
		if t.page != nil && t.names == nil {
			return t.page("")
		}
		return t.list(), nil
	}
	return t.page(strings.Join(about, t.separator()))
}

// separator stands between words about a topic: flag kube-apiserver v is flag kube-apiserver/v.
func (t topic) separator() string {
	if t.name == "flag" || t.name == "gate" {
		return "/"
	}
	return "."
}

// overview lists the topics.
func overview() *Page {
	page := &Page{Text: "Name an object (kind/name) to see what each rule does with it and why, or one of these topics:"}
	var rows []Row
	for _, t := range topics() {
		rows = append(rows, Row{Name: t.name, Text: t.summary})
	}
	page.section(Section{Title: "TOPICS", Rows: rows})
	page.section(Section{Title: "EXAMPLES", Lines: []string{
		"graft explain deployment/kube-apiserver -p profile.yaml",
		"graft explain deployment/kube-apiserver --flag feature-gates -p profile.yaml",
		"graft explain operation flags",
		"graft explain profile.lookups.keys",
		"graft explain gate kube-apiserver/VolumeAttributesClass",
		"graft explain plugin NodeRestriction",
	}})
	return page
}

// list has a row for each name of the topic.
func (t topic) list() *Page {
	page := &Page{Heads: []Head{{"TOPIC", t.name}}, Text: sentence(t.summary)}
	page.section(Section{Title: strings.ToUpper(t.name) + "S", Rows: t.names()})
	return page
}

// unknown is the error for a word that is no topic: where it is a name of one, the way there.
func unknown(word string) error {
	var known []string
	for _, t := range topics() {
		known = append(known, t.name)
		if t.names == nil {
			continue
		}
		if slices.ContainsFunc(t.names(), func(r Row) bool { return r.Name == word }) {
			return fmt.Errorf("%q is no topic; see `graft explain %s %s`", word, t.name, word)
		}
	}
	first, _ := split(word)
	if hint := source.Suggest(first, known); hint != "" {
		return fmt.Errorf("%q is no topic%s", first, hint)
	}
	return fmt.Errorf("%q is neither a topic (%s) nor an object, which is written as kind/name", word, strings.Join(known, ", "))
}

// unknownName is the error for a name that a topic does not have.
func unknownName(topic, name string, known []Row) error {
	names := make([]string, len(known))
	for i, row := range known {
		names[i] = row.Name
	}
	hint := source.Suggest(name, names)
	if hint == "" {
		hint = fmt.Sprintf("; `graft explain %s` lists all", topic)
	}
	return fmt.Errorf("there is no %s %q%s", topic, name, hint)
}
