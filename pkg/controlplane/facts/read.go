// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Read is what lookups read of one kind: what an installation has to allow beside Clusters, Namespaces and Gardens. Objects by
// name are got, listed and watched by that name; of a kind of which names are computed, any is got.
type Read struct {
	schema.GroupVersionKind
	// Resource is the plural by which the API knows the kind.
	Resource string
	Scope    Scope
	// Namespace is the only one in which is read; empty: any, or none for a kind without.
	Namespace string
	// Names are the objects, sorted; nil: names are computed, and any object may be read.
	Names []string
}

// ReadsOf are the reads for requests, sorted. Those of one kind are one, or two where some names are computed.
func ReadsOf(requests []LookupRequest) []Read {
	var reads []Read
	for _, l := range requests {
		read := Read{GroupVersionKind: l.GroupVersionKind, Resource: l.Resource, Scope: l.Scope, Namespace: l.Namespace}
		if !l.Computed {
			read.Names = []string{l.ObjectName}
		}
		i := slices.IndexFunc(reads, func(r Read) bool {
			return r.GroupVersionKind == read.GroupVersionKind && r.Resource == read.Resource && r.Namespace == read.Namespace &&
				(r.Names == nil) == (read.Names == nil)
		})
		if i < 0 {
			reads = append(reads, read)
			continue
		}
		reads[i].Names = union(reads[i].Names, read.Names)
	}
	slices.SortFunc(reads, func(a, b Read) int {
		return cmp.Or(
			strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Version, b.Version),
			strings.Compare(a.Resource, b.Resource), strings.Compare(a.Namespace, b.Namespace), cmp.Compare(len(a.Names), len(b.Names)),
		)
	})
	return reads
}
