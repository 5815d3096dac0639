// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package convert

import "encoding/json"

// defaults are what the API server writes into containers where nothing stands, by the names of the members
// (kubernetes: pkg/apis/core/v1/defaults.go).
var defaults = map[string]any{
	"terminationMessagePath":   "/dev/termination-log",
	"terminationMessagePolicy": "File",
	"resources":                tree{},
	"protocol":                 "TCP",
	"scheme":                   "HTTP",
	"apiVersion":               "v1",
	"timeoutSeconds":           json.Number("1"),
	"periodSeconds":            json.Number("10"),
	"successThreshold":         json.Number("1"),
	"failureThreshold":         json.Number("3"),
}

// forgetDefaulted takes out of the containers after what is no difference to those of the same names before.
func forgetDefaulted(before, after tree) {
	for _, list := range lists {
		was, _, _ := keyed(treeAt(before, podSpec...)[list], "name")
		is, _, _ := keyed(treeAt(after, podSpec...)[list], "name")
		for name, container := range is {
			if was[name] != nil {
				forgetDefaults(container, was[name])
			}
		}
	}
}

// forgetDefaults takes out of what an API server has stored what it has defaulted there: members that are not in what was written.
func forgetDefaults(stored, written any) {
	switch stored := stored.(type) {
	case tree:
		was, _ := written.(tree)
		for name, value := range stored {
			if _, ok := was[name]; ok {
				forgetDefaults(value, was[name])
			} else if d, ok := defaults[name]; ok && equal(d, value) {
				delete(stored, name)
			}
		}
	case []any:
		was, _ := written.([]any)
		for i := range min(len(stored), len(was)) {
			forgetDefaults(stored[i], was[i])
		}
	}
}
