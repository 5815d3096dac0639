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
	return []topic{
		{name: "flag", summary: "the flags of Kubernetes' components, by version: flag kube-apiserver/v", names: components, page: flagPage, below: flagsBelow},
		{name: "gate", summary: "the feature gates of Kubernetes' components, by version", names: gates, page: gatePage},
		{name: "plugin", summary: "the admission plugins of kube-apiserver, by version", names: plugins, page: pluginPage},
	}
}

func topicOf(name string) (topic, bool) {
	all := topics()
	i := slices.IndexFunc(all, func(t topic) bool { return strings.EqualFold(t.name, name) })
	if i < 0 {
		return topic{}, false
	}
	return all[i], true
}

// IsStatic reports whether words name a topic and no object, which has a slash between kind and name.
func IsStatic(words []string) bool {
	if len(words) == 0 {
		return true
	}
	_, ok := topicOf(words[0])
	return ok || !strings.Contains(words[0], "/")
}

// Static returns the page about a topic, or about a name in it: flag, gate and plugin; without words the list of topics.
func Static(words ...string) (*Page, error) {
	if len(words) == 0 {
		return overview(), nil
	}
	t, ok := topicOf(words[0])
	switch {
	case !ok:
		return nil, unknown(words[0])
	case len(words) == 1:
		return t.list(), nil
	}
	return t.page(strings.Join(words[1:], "/"))
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
		if slices.ContainsFunc(t.names(), func(r Row) bool { return r.Name == word }) {
			return fmt.Errorf("%q is no topic; see `graft explain %s %s`", word, t.name, word)
		}
	}
	if hint := source.Suggest(word, known); hint != "" {
		return fmt.Errorf("%q is no topic%s", word, hint)
	}
	return fmt.Errorf("%q is neither a topic (%s) nor an object, which is written as kind/name; "+
		"docs/reference describes operations, expressions and fields", word, strings.Join(known, ", "))
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
