// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package oversize writes profiles whose variables compute values as large as possible: every function that creates a
// value, nested, over annotations of the maximum size in Kubernetes. Tests check that such profiles are rejected or
// denied, and that no program runs out of memory. Start reading at Profile and Annotation.
package oversize

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Provider is the provider of all profiles, and Key the annotation of objects that they read.
const (
	Provider = "oversize"
	Key      = "oversize"
)

// largest is the size of all annotations of an object (k8s.io/apimachinery/pkg/api/validation,
// TotalAnnotationSizeLimitB).
const largest = 256 << 10

// Annotation returns a value of the annotation of the maximum size that the API server accepts.
func Annotation(seed uint64) string {
	r := random(seed)
	piece := []string{",", "a,", "a", "name=value;", "ü,", "\x01,", "\"\\", "a\n", `{"a":"b"},`}[r.IntN(9)]
	return strings.Repeat(piece, (largest-len(Key))/len(piece))
}

// Profile returns a profile with up to 30 variables that use each other, and rules for the kube-controller-manager that
// write them.
func Profile(seed uint64) string {
	w := writer{r: random(seed), known: map[kind][]string{}}
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: ProviderProfile\n"+
		"metadata: {name: oversize}\nproviders: [%s]\nvariables:\n", Provider)
	count := 1 + w.r.IntN(30)
	for i := range count {
		name, of := fmt.Sprintf("v%d", i), kind(w.r.IntN(int(kinds)))
		fmt.Fprintf(&text, "  %s: %s\n", name, w.variable(of))
		w.known[of] = append(w.known[of], "variables."+name)
	}
	text.WriteString("controlplane:\n  kube-controller-manager:\n")
	for i := range 1 + w.r.IntN(4) {
		fmt.Fprintf(&text, "  - annotations: {set: {%q: %s}}\n", fmt.Sprintf("oversize/%d", i),
			quoted("${ "+w.value(texts, 1)+" }"))
		fmt.Fprintf(&text, "  - env: {set: {V%d: %s}}\n", i, quoted("${ "+w.value(texts, 0)+" }${ "+w.value(texts, 0)+" }"))
	}
	fmt.Fprintf(&text, "  - forEach: %s\n    env: {set: {\"E${ sha256(item) }\": \"${ item }\"}}\n",
		quoted("${ "+w.value(lists, 1)+" }"))
	return text.String()
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// kind is a kind of value.
type kind int

const (
	texts kind = iota
	lists      // a list of texts
	maps       // a map of texts by text
	kinds
)

// writer writes expressions that use the variables before them.
type writer struct {
	r     *rand.Rand
	known map[kind][]string
}

// variable returns a variable: an expression, or a text, list or map with expressions.
func (w *writer) variable(of kind) string {
	if w.r.IntN(4) > 0 {
		return quoted("${ " + w.value(of, 3) + " }")
	}
	one, other := quoted("x${ "+w.value(texts, 1)+" }y${ "+w.value(texts, 1)+" }"), quoted("${ "+w.value(texts, 2)+" }")
	switch of {
	case lists:
		return quoted("${ [" + w.value(texts, 1) + ", " + w.value(texts, 1) + "] }")
	case maps:
		return "{a: " + one + ", b: " + other + "}"
	}
	return one
}

// value returns an expression of a kind. The depth limits the nesting of calls.
func (w *writer) value(of kind, depth int) string {
	if known := w.known[of]; len(known) > 0 && (depth <= 0 || w.r.IntN(3) == 0) {
		return known[w.r.IntN(len(known))]
	}
	if depth <= 0 {
		return map[kind]string{
			texts: `object.annotations["` + Key + `"]`, lists: `object.annotations["` + Key + `"].split(",")`,
			maps: `object.annotations`,
		}[of]
	}
	form := forms[of][w.r.IntN(len(forms[of]))]
	if strings.Contains(form, "(p, ") || strings.Contains(form, "v, ") {
		depth = 1 // more than two nested loops would be rejected
	}
	for _, hole := range []struct {
		mark string
		of   kind
	}{{"TEXT", texts}, {"LIST", lists}, {"MAP", maps}} {
		for strings.Contains(form, hole.mark) {
			form = strings.Replace(form, hole.mark, w.value(hole.of, depth-1), 1)
		}
	}
	return form
}

// forms are all functions that create values.
var forms = map[kind][]string{
	texts: {
		`(TEXT + TEXT)`, `(TEXT + TEXT + TEXT)`, `TEXT.replace("a", TEXT)`, `TEXT.replace("", TEXT)`,
		`TEXT.replace(",", "12345678")`,
		`LIST.join(TEXT)`, `LIST.join(";")`, `"%s-%s-%s".format([TEXT, TEXT, LIST])`, `"%.99999f".format([1.5])`,
		`"%x".format([TEXT])`,
		`toJSON(LIST)`, `toJSON(MAP)`, `toJSON(TEXT)`, `toYAML(LIST)`, `toYAML(MAP)`, `toYAML([MAP, MAP])`,
		`base64.encode(TEXT)`,
		`string(bytes(TEXT) + bytes(TEXT))`, `string(base64.decode(base64.encode(TEXT)))`, `quote(TEXT)`,
		`strings.quote(TEXT)`, `sha256(TEXT)`,
		`TEXT.upperAscii()`, `TEXT.substring(1)`, `(TEXT == TEXT ? TEXT : TEXT)`, `toJSON(object.metadata)`,
		`toYAML(object.spec)`,
		`string(TEXT.indexOf(TEXT))`, `string(LIST.exists(p, p in LIST))`, `TEXT.lowerAscii()`, `TEXT.trim()`,
		`TEXT.charAt(0)`,
		`LIST.max()`, `LIST.min()`,
		`TEXT.find("[a-z]+")`, `string(TEXT.matches(TEXT))`, `string(isQuantity(TEXT))`, `string("1.0.0".satisfies(TEXT))`,
		`string(lists.range(1000).map(p, semver("1.0.0-" + TEXT)).size())`,
	},
	lists: {
		`TEXT.split(",")`, `TEXT.split("")`, `(LIST + LIST)`, `LIST.map(p, p + "=" + TEXT)`, `LIST.map(p, LIST.join(p))`,
		`[TEXT, TEXT, TEXT]`,
		`[LIST, LIST].flatten()`, `lists.range(1000).map(p, TEXT)`, `lists.range(10000).map(p, string(p))`,
		`LIST.map(p, toJSON(LIST))`,
		`LIST.filter(p, p != TEXT)`, `LIST.sort()`, `LIST.distinct()`, `LIST.reverse()`, `LIST.slice(0, 1)`,
		`TEXT.findAll("[a-z]")`,
		`MAP.map(p, MAP[p])`, `LIST.transformList(i, v, v + TEXT)`, `LIST.sortBy(p, p + TEXT)`,
		`LIST.map(p, TEXT.replace(p, TEXT))`,
		`[[LIST, LIST], [LIST, LIST]].flatten(2)`, `[optional.of(TEXT), optional.of(TEXT)].unwrapOpt()`,
		`optional.unwrap([optional.of(TEXT)])`,
		`(LIST in [LIST, LIST] ? LIST : LIST)`,
	},
	maps: {
		`{"a": TEXT, "b": TEXT}`, `LIST.transformMapEntry(i, v, {string(i): v})`,
		`LIST.transformMapEntry(i, v, {v + string(i): TEXT})`,
		`MAP.transformMap(k, v, v + k)`, `{TEXT: TEXT}`, `MAP.transformMap(k, v, LIST.join(v))`,
	},
}

// quoted returns a text as a YAML scalar.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
