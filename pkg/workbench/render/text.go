// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// Line is one line of an object's text. Lines are equal when they say the same thing at the same place.
type Line struct {
	// Depth counts the steps of indentation.
	Depth int
	// Path is the place of the value, such as spec.template.spec.containers[kube-scheduler].command[--config]. Items of
	// lists are named by their keys, never by their index.
	Path string
	Text string
}

// String returns the line with its indentation.
func (l Line) String() string { return strings.TrimRight(strings.Repeat("  ", l.Depth)+l.Text, " ") }

// Text converts an object to lines. Members are sorted, so that their original order is irrelevant; the status and
// fields managed by kube-apiserver are omitted.
func Text(object []byte) ([]Line, error) { return project(object, false) }

// WholeText works like Text, but includes the status and fields managed by kube-apiserver.
func WholeText(object []byte) ([]Line, error) { return project(object, true) }

func project(object []byte, whole bool) ([]Line, error) {
	parsed, err := document.Parse(object)
	if err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	root := parsed.Root()
	kind, _ := root.Get("kind").Text()
	p := projection{inside: insides(kind), whole: whole}
	p.members(place{}, root, "")
	if err := parsed.Err(); err != nil {
		return nil, fmt.Errorf("reading the object: %w", err)
	}
	return p.lines, nil
}

// serverSide are the fields that only the API server and controllers write.
var serverSide = map[string]bool{
	"status": true, "metadata.managedFields": true, "metadata.uid": true, "metadata.resourceVersion": true,
	"metadata.generation": true, "metadata.creationTimestamp": true, "metadata.selfLink": true,
}

// place is where the projection is: the path with names of items, the shape with [] in their stead, and the depth.
type place struct {
	path, shape string
	depth       int
}

func (p place) member(key string) place {
	if p.path == "" {
		return place{key, key, p.depth}
	}
	return place{p.path + "." + key, p.shape + "." + key, p.depth}
}

func (p place) item(name string) place {
	return place{p.path + "[" + name + "]", p.shape + "[]", p.depth}
}

func (p place) deeper() place { return place{p.path, p.shape, p.depth + 1} }

type projection struct {
	lines  []Line
	inside []Inside
	// whole says that nothing is left out.
	whole bool
}

func (p *projection) add(at place, text string) {
	p.lines = append(p.lines, Line{Depth: at.depth, Path: at.path, Text: text})
}

// members writes the members of an object but the one that was written already.
func (p *projection) members(at place, n *document.Node, written string) {
	members := maps.Collect(n.Members())
	keys := slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(at, a), rank(at, b)), strings.Compare(a, b))
	})
	for _, key := range keys {
		if key != written && (p.whole || !serverSide[at.member(key).shape]) {
			p.value(at.member(key), "", scalarText(key)+":", key, members[key])
		}
	}
}

// rank orders identifying members first.
func rank(at place, key string) int {
	if at.path == "" {
		if i := slices.Index([]string{"apiVersion", "kind", "metadata"}, key); i >= 0 {
			return i
		}
	}
	return 3
}

// value writes one member: dash is "- " where it is the first of an item, and then its own children stand deeper.
func (p *projection) value(at place, dash, head, key string, n *document.Node) {
	inner := at.deeper()
	if dash != "" {
		inner = inner.deeper()
	}
	if text, ok := textInside(p.inside, at.shape, n); ok {
		p.text(at, inner, dash+head, text)
		return
	}
	switch n.Kind() {
	case document.Object:
		if n.Len() == 0 {
			p.add(at, dash+head+" {}")
			return
		}
		p.add(at, dash+head)
		p.members(inner, n, "")
	case document.Array:
		if n.Len() == 0 {
			p.add(at, dash+head+" []")
			return
		}
		p.add(at, dash+head)
		if tokens, ok := commandLine(key, n); ok {
			p.flags(inner, tokens)
			return
		}
		p.items(inner, n)
	default:
		if text, ok := n.Text(); ok && isText(text) {
			p.text(at, inner, dash+head, text)
			return
		}
		p.add(at, dash+head+" "+scalar(key, n))
	}
}

// text writes a text of several lines below its head.
func (p *projection) text(at, inner place, head, text string) {
	p.add(at, head+" |")
	for line := range strings.Lines(text) {
		p.add(inner, strings.TrimRight(line, "\r\n"))
	}
}

func (p *projection) items(at place, n *document.Node) {
	for _, item := range n.Items() {
		key, name := identify(item)
		inner := at.item(name)
		switch line, ok := p.flow(inner, item); {
		case ok:
			p.add(inner, "- "+line)
		case item.Kind() == document.Array:
			p.add(inner, "-")
			p.items(inner.deeper(), item)
		case item.Kind() == document.Object:
			p.object(inner, key, item)
		default:
			text, _ := item.Text()
			p.text(inner, inner.deeper(), "-", text)
		}
	}
}

// object writes an item that is an object, beginning with the member that identifies it.
func (p *projection) object(at place, key string, n *document.Node) {
	if key == "" {
		key = slices.Min(slices.Collect(maps.Keys(maps.Collect(n.Members()))))
	}
	before := len(p.lines)
	p.value(at.member(key), "- ", scalarText(key)+":", key, n.Get(key))
	p.lines[before].Path = at.path
	p.members(at.deeper(), n, key)
}

// identifying are the members that name an item in the lists of Kubernetes and Gardener.
var identifying = []string{"name", "containerName", "key", "path"}

// identify finds the member that names an item, and the name; both are empty where there is none.
func identify(item *document.Node) (key, name string) {
	if item.Kind() != document.Object {
		return "", ""
	}
	for _, key := range identifying {
		if name, ok := item.Get(key).Text(); ok && name != "" {
			return key, name
		}
	}
	return "", ""
}
