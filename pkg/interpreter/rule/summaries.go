// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package rule

// Summary says in a line what a variable, or the field of an object type that expressions see, is; empty for any other name.
func Summary(name string) string { return summaries[name] }

var summaries = map[string]string{
	"object":               "the object; for `retain` the one that is to be applied, for `status` and `health` that of the member cluster",
	"observed":             "the object as the member cluster has it",
	"replicas":             "the number of replicas that is wanted",
	"members":              "what the member clusters say, by their names",
	"item":                 "the item of the list, beside `forEach` or `items`",
	"observedItem":         "the item with the same key in the object as the member cluster has it, beside `items`",
	"kind":                 "the kind of the object",
	"graft.Kind.group":     "its group; empty for the core group",
	"graft.Kind.version":   "its version",
	"graft.Kind.kind":      "its name",
	"graft.Member.cluster": "the name of the member cluster",
	"graft.Member.status":  "the status that it reflects; `has()` is false where there is none yet",
	"graft.Member.applied": "whether the object was applied there",
	"graft.Member.message": "why it could not be applied; empty where it could",
	"graft.Member.health":  "Healthy, Unhealthy or Unknown",
}
