// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package lua

// byPath are the words of aggregation that need a path and nothing else, and the functions of the runtime for them.
var byPath = map[string]string{
	"sum": "sum_of", "min": "min_of", "max": "max_of", "all": "all_true", "any": "any_true", "same": "same_of", "first": "first_of", "join": "join_of",
	"common": "common_of",
}

// aggregate writes one field of a status.
func (s *script) aggregate(in scope, p place) {
	s.only(p, "field", "when", "sum", "min", "max", "all", "any", "same", "first", "join", "common", "worst", "union", "conditions", "value")
	in.when(p, func() {
		in.line(invoke(s.use("put"), "result", s.path(p.At("field")), in.combined(p).text).text)
	})
}

// combined is what the members have, made one.
func (s scope) combined(p place) code {
	for _, field := range p.Value().Fields() {
		name := field.Key.Value
		at := p.At(name)
		switch name {
		case "worst":
			return s.worst(at)
		case "union":
			return s.union(at)
		case "conditions":
			return s.conditions(at)
		case "value":
			return s.value(at)
		}
		if function, ok := byPath[name]; ok {
			return invoke(s.use(function), "members", s.path(at))
		}
	}
	return atom("nil")
}

func (s scope) worst(p place) code {
	s.only(p, "path", "by", "order")
	order := make([]string, len(p.At("order").Value().Items()))
	for i, value := range p.At("order").Value().Items() {
		order[i] = quote(value.Value)
	}
	return invoke(s.use("worst_of"), "members", s.path(p.At("path")), s.path(p.At("by")), table(order).text)
}

func (s scope) union(p place) code {
	s.only(p, "path", "key", "prefix")
	arguments := []string{"members", s.path(p.At("path")), s.path(p.At("key"))}
	if prefix := p.At("prefix"); !prefix.Absent() {
		arguments = append(arguments, s.path(prefix))
	}
	return invoke(s.use("union_of"), arguments...)
}

func (s scope) conditions(p place) code {
	s.only(p, "path", "negative")
	var negative []string
	for _, name := range p.At("negative").Value().Items() {
		negative = append(negative, member(name.Value, atom("true")))
	}
	return invoke(s.use("conditions_of"), "members", s.path(p.At("path")), table(negative).text)
}
