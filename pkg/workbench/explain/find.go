// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// shortKinds lists the short names of kinds in kubectl, in addition to the kind itself and its plural.
var shortKinds = map[string]string{
	"deploy": "Deployment", "sts": "StatefulSet", "ds": "DaemonSet", "svc": "Service", "cm": "ConfigMap", "osc": "OperatingSystemConfig",
	"vpa": "VerticalPodAutoscaler",
}

// ErrAmbiguous is wrapped by the error of a word that names several objects.
var ErrAmbiguous = errors.New("may be any of")

// Find finds the object named by kind/name. The kind may be lower-case, plural or short, and the name a unique prefix,
// or a pattern with *. The error lists the existing objects.
func Find(objects []manifest.Object, word string) (manifest.Object, error) {
	kind, name, ok := strings.Cut(word, "/")
	if !ok || kind == "" || name == "" {
		return manifest.Object{}, fmt.Errorf("%q is no object: write kind/name, such as deployment/kube-apiserver", word)
	}
	var (
		ofKind, begin []manifest.Object
		all, names    []string
	)
	for _, o := range objects {
		all = append(all, wordOf(o))
		if !isKind(o.Kind, kind) {
			continue
		}
		if o.Name == name {
			return o, nil
		}
		ofKind, names = append(ofKind, o), append(names, o.Name)
		if matches, _ := path.Match(name, o.Name); matches || strings.HasPrefix(o.Name, name) {
			begin = append(begin, o)
		}
	}
	switch {
	case len(begin) == 1:
		return begin[0], nil
	case len(begin) > 1:
		return manifest.Object{}, fmt.Errorf("%s %w %s", word, ErrAmbiguous, list(begin))
	case len(ofKind) > 0:
		hint := source.Suggest(name, names)
		if hint == "" {
			hint = "; there are " + list(ofKind)
		}
		return manifest.Object{}, fmt.Errorf("there is no %s %q%s", ofKind[0].Kind, name, hint)
	}
	hint := source.Suggest(word, all)
	if hint == "" {
		hint = "; there are " + list(objects)
	}
	return manifest.Object{}, fmt.Errorf("there is no object %s%s", word, hint)
}

func isKind(kind, word string) bool {
	return strings.EqualFold(kind, word) || strings.EqualFold(kind+"s", word) || shortKinds[strings.ToLower(word)] == kind
}

// wordOf returns the name of an object on a command line.
func wordOf(o manifest.Object) string { return strings.ToLower(o.Kind) + "/" + o.Name }

// list names objects, not too many.
func list(objects []manifest.Object) string {
	const most = 12
	var words []string
	for _, o := range objects {
		if word := wordOf(o); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if len(words) > most {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", len(words)-most)
	}
	if words == nil {
		return "none"
	}
	return strings.Join(words, ", ")
}
