// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// leastDatum is the length of the shortest data of Secrets that are looked for, in bytes: what is shorter stands in any text.
const leastDatum = 3

// datum is the value of one key of a Secret.
type datum struct {
	namespace, secret, key, value string
}

// secrets are the data that must not stand in a profile, the longest first.
type secrets []datum

// hidden stands for what graft render hid: the beginning of what it writes in place of what Secrets hold, which is no value.
var hidden = datum{value: "(from Secret "}

// secretsOf are the data of all Secrets that the cases have.
func secretsOf(cases []Case) secrets {
	var all secrets
	for _, c := range cases {
		for _, object := range slices.Concat(c.Before, c.After) {
			if (secrets{hidden}).holding(string(object.JSON)) != nil {
				all = append(all, hidden)
			}
			if object.Is("", "Secret") {
				if parsed, err := decodeTree(object.JSON); err == nil {
					all = append(all, dataOf(parsed)...)
				}
			}
		}
		for _, object := range slices.Concat(c.Present, c.Secrets) {
			if object["kind"] == "Secret" {
				all = append(all, dataOf(object)...)
			}
		}
	}
	slices.SortFunc(all, func(a, b datum) int {
		return cmp.Or(len(b.value)-len(a.value), strings.Compare(a.namespace, b.namespace), strings.Compare(a.secret, b.secret),
			strings.Compare(a.key, b.key), strings.Compare(a.value, b.value))
	})
	return slices.Compact(all)
}

// dataOf are the data of one Secret that are long enough.
func dataOf(object tree) secrets {
	var all secrets
	add := func(key, value string) {
		if len(strings.TrimSpace(value)) >= leastDatum {
			all = append(all, datum{textAt(object, "metadata", "namespace"), textAt(object, "metadata", "name"), key, value})
		}
	}
	for key := range treeAt(object, "data") {
		encoded := textAt(object, "data", key)
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			add(key, string(decoded))
		} else {
			add(key, encoded)
		}
	}
	for key := range treeAt(object, "stringData") {
		add(key, textAt(object, "stringData", key))
	}
	return all
}

// stored is a Secret as the API server keeps it: what stringData says is in data.
func stored(object tree) tree {
	texts := treeAt(object, "stringData")
	if object["kind"] != "Secret" || len(texts) == 0 {
		return object
	}
	data := tree{}
	maps.Copy(data, treeAt(object, "data"))
	for key := range texts {
		data[key] = base64.StdEncoding.EncodeToString([]byte(textAt(texts, key)))
	}
	out := but(object, "stringData")
	out["data"] = data
	return out
}

// in says whether a text holds the datum: plain, as it stands in JSON, with other white space between its lines, or as base64.
func (d datum) in(text string) bool {
	trimmed := strings.TrimSpace(d.value)
	if strings.Contains(text, trimmed) {
		return true
	}
	for _, value := range []string{d.value, trimmed} {
		raw := []byte(value)
		if strings.Contains(text, base64.RawStdEncoding.EncodeToString(raw)) || strings.Contains(text, base64.RawURLEncoding.EncodeToString(raw)) {
			return true
		}
	}
	if quoted := string(rawOf(trimmed)); utf8.ValidString(trimmed) && strings.Contains(text, quoted[1:len(quoted)-1]) {
		return true
	}
	return strings.Contains(trimmed, "\n") && strings.Contains(squeezed(text), squeezed(trimmed))
}

// squeezed is a text without white space.
func squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

var encodedRun = regexp.MustCompile(`[A-Za-z0-9+/_-]{4,}`)

// holding is the first datum that a text holds; nil where it holds none. What is base64 in the text is read, too.
func (s secrets) holding(text string) *datum {
	const layers = 2
	return s.holdingIn(text, layers)
}

func (s secrets) holdingIn(text string, layers int) *datum {
	for i := range s {
		if s[i].in(text) {
			return &s[i]
		}
	}
	if layers == 0 || len(s) == 0 {
		return nil
	}
	runs := encodedRun.FindAllString(text, -1)
	if strings.Contains(text, "\n") {
		runs = append(runs, encodedRun.FindAllString(squeezed(text), -1)...)
	}
	for _, run := range runs {
		encoding := base64.RawStdEncoding
		if strings.ContainsAny(run, "-_") {
			encoding = base64.RawURLEncoding
		}
		if decoded, err := encoding.DecodeString(run); err == nil {
			if found := s.holdingIn(string(decoded), layers-1); found != nil {
				return found
			}
		}
	}
	return nil
}

// within is the first datum that a value holds, also in the names of its members.
func (s secrets) within(value any) *datum {
	switch value := value.(type) {
	case tree:
		for _, key := range union(value, nil) {
			if found := cmp.Or(s.holding(key), s.within(value[key])); found != nil {
				return found
			}
		}
	case []any:
		for _, item := range value {
			if found := s.within(item); found != nil {
				return found
			}
		}
	case nil, bool, octal:
	default:
		return s.holding(scalarText(value))
	}
	return nil
}

// heldBy is the first datum that an atom with a value would write.
func (s secrets) heldBy(a *atom, value any) *datum {
	if len(s) == 0 {
		return nil
	}
	for _, fixed := range a.fixed {
		if found := s.holding(fixed.value); found != nil {
			return found
		}
	}
	for _, step := range a.path {
		if found := s.holding(step); found != nil {
			return found
		}
	}
	return s.within(value)
}

// spans says whether one of the texts holds a datum that is a document of its own: taken apart, it would not be found again.
func (s secrets) spans(texts ...string) bool {
	return slices.ContainsFunc(s, func(d datum) bool {
		trimmed := strings.TrimSpace(d.value)
		_, document := yamlTree(trimmed)
		if !document && !strings.Contains(trimmed, "=") && !strings.HasPrefix(trimmed, "[") && !strings.HasPrefix(trimmed, "- ") {
			return false
		}
		return (document || strings.ContainsAny(trimmed, "\n[{")) && slices.ContainsFunc(texts, d.in)
	})
}

// lists says whether one of the texts holds a datum that has several entries of a flag.
func (s secrets) lists(texts []string) bool {
	return slices.ContainsFunc(s, func(d datum) bool {
		return strings.ContainsAny(d.value, ",=") && slices.ContainsFunc(texts, d.in)
	})
}

// told is a text that people see, without what is secret.
func (s secrets) told(text string) string {
	if found := s.holding(text); found != nil {
		return "something that cannot be told, as it holds data of " + found.String()
	}
	return text
}

// String names the Secret and not the datum.
func (d *datum) String() string {
	if *d == hidden {
		return "a Secret that graft has hidden (--show-secrets shows them)"
	}
	return "the Secret " + d.secret
}

// lookups are the data that rules for an object can look up: those of Secrets in its namespace, as they are read there.
func (s *subject) lookups() []fact {
	var all []fact
	for _, d := range s.secrets {
		if d.namespace != s.object.Namespace || !utf8.ValidString(d.value) || !s.reads(d) {
			continue
		}
		expression := s.secrets.expression(d)
		all = append(all, fact{text: d.value, expression: expression, anywhere: true})
		encoded := base64.StdEncoding.EncodeToString([]byte(d.value))
		all = append(all, fact{text: encoded, expression: "base64.encode(bytes(" + expression + "))", anywhere: true})
	}
	slices.SortStableFunc(all, func(a, b fact) int { return len(b.text) - len(a.text) })
	return all
}

// reads says whether the datum is what a lookup gives: that of the first Secret of the name.
func (s *subject) reads(d datum) bool {
	for _, object := range s.from.Present {
		if object["kind"] == "Secret" && textAt(object, "metadata", "name") == d.secret && textAt(object, "metadata", "namespace") == d.namespace {
			decoded, err := base64.StdEncoding.DecodeString(textAt(object, "data", d.key))
			return err == nil && bytes.Equal(decoded, []byte(d.value))
		}
	}
	return false
}

// lookupNames are names for the lookups by those of the Secrets: what expressions may have as a name.
func (s secrets) lookupNames() map[string]string {
	var all []string
	for _, d := range s {
		if d == hidden {
			continue
		}
		all = append(all, d.secret)
	}
	slices.Sort(all)
	names, taken := map[string]string{}, map[string]bool{}
	for _, secret := range slices.Compact(all) {
		name := nameOf(secret)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s%d", nameOf(secret), n)
		}
		names[secret], taken[name] = name, true
	}
	return names
}

// nameOf writes my-secret as mySecret.
func nameOf(secret string) string {
	var out strings.Builder
	for i, part := range strings.FieldsFunc(secret, func(r rune) bool { return r == '-' || r == '.' }) {
		if i > 0 {
			part = strings.ToUpper(part[:1]) + part[1:]
		}
		out.WriteString(part)
	}
	if name := out.String(); source.IsIdentifier(name) {
		return name
	}
	return "secret" + out.String()
}

// expression is how a rule reads a datum.
func (s secrets) expression(d datum) string {
	key := d.key
	if !source.IsIdentifier(key) || slices.Contains([]string{"in", "true", "false", "null"}, key) {
		key = "`" + key + "`"
	}
	return "lookups." + s.lookupNames()[d.secret] + "." + key
}

// lookups are those that rules name, as the profile has them.
func (p *proposer) lookups(rules []*rule) *yaml.Node {
	out, names := mapping(), p.secrets.lookupNames()
	written := &strings.Builder{}
	for _, r := range rules {
		for _, v := range r.variants {
			written.Write(rawOf(v.value))
		}
	}
	keys := map[string][]string{}
	for _, d := range p.secrets {
		expression := p.secrets.expression(d)
		named := strings.Contains(written.String(), "${ "+expression+" }") || strings.Contains(written.String(), "(bytes("+expression+"))")
		if named && !slices.Contains(keys[d.secret], d.key) {
			keys[d.secret] = append(keys[d.secret], d.key)
		}
	}
	for _, secret := range slices.Sorted(maps.Keys(keys)) {
		list := sequence()
		for _, key := range slices.Sorted(slices.Values(keys[secret])) {
			list.Content = append(list.Content, text(key))
		}
		add(out, names[secret], flow(mapping("secret", text(secret), "keys", list)))
	}
	return out
}
