// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Authorizer reports whether the program has a permission. An error means that the API server could not be asked.
type Authorizer interface {
	May(context.Context, mutation.Permission) (bool, error)
}

// AccessReviews checks permissions with SelfSubjectAccessReviews. All authenticated users may create them (Kubernetes'
// ClusterRole system:basic-user), so that the chart needs no role.
type AccessReviews struct {
	Client client.Client
}

// May implements Authorizer. It fails if the API server does not answer the review.
func (a AccessReviews) May(ctx context.Context, r mutation.Permission) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: "get", Group: r.Group, Resource: r.Resource, Namespace: r.Namespace, Name: r.Name,
		},
	}}
	if err := a.Client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking for the permission to get %s: %w", r.Resource, err)
	}
	return review.Status.Allowed, nil
}

const (
	// permissionTimeout limits the checks for all reads of the profiles.
	permissionTimeout = 10 * time.Second
	// permissionInterval is the time until profiles that lack a permission are checked again.
	permissionInterval = 5 * time.Second
)

// waiting has the reads that lack permissions, and the time of the next check.
type waiting struct {
	reads []mutation.Permission
	next  time.Time
}

// changed repeats the check when it is due, and reports whether one of the reads is permitted now.
func (w *waiting) changed(ctx context.Context, authorizer Authorizer) bool {
	if w == nil || time.Now().Before(w.next) {
		return false
	}
	w.next = time.Now().Add(permissionInterval)
	ctx, cancel := context.WithTimeout(ctx, permissionTimeout)
	defer cancel()
	return slices.ContainsFunc(w.reads, func(read mutation.Permission) bool {
		permitted, err := authorizer.May(ctx, read)
		return err == nil && permitted
	})
}

// permit returns the reads that the program may not make, with a finding for each. If the API server does not answer, it
// omits them: lookups would fail too and report the reason.
func permit(ctx context.Context, authorizer Authorizer, log logr.Logger, p Mutator) (source.Findings, []mutation.Permission) {
	if authorizer == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, permissionTimeout)
	defer cancel()
	var findings source.Findings
	var reads []mutation.Permission
	for _, read := range p.Permissions() {
		permitted, err := authorizer.May(ctx, read)
		switch {
		case err != nil:
			log.Error(err, "Checking the permissions for the lookups of the profiles failed")
			return findings, reads
		case permitted:
		case read.Name == "":
			log.Info("A lookup computes the name of its object; each name must be permitted", "profile", read.Profile, "lookup", read.Lookup,
				"group", read.Group, "resource", read.Resource)
		default:
			findings = append(findings, source.Finding{Position: read.Position, Path: "lookups." + read.Lookup, Message: missingRule(read)})
			reads = append(reads, read)
		}
	}
	return findings, reads
}

// missingRule describes the missing role for a read, and the chart value that adds it.
func missingRule(r mutation.Permission) string {
	where := "a ClusterRole"
	if r.Namespace != "" {
		where = fmt.Sprintf("a ClusterRole, or a Role in the namespace %s,", r.Namespace)
	}
	value := fmt.Sprintf("lookups.objects: [{group: %q, resource: %s, names: [%s]}]", r.Group, r.Resource, r.Name)
	switch {
	case r.Group == "" && r.Resource == "secrets":
		value = fmt.Sprintf("lookups.secrets: [%s]", r.Name)
	case r.Group == "" && r.Resource == "configmaps":
		value = fmt.Sprintf("lookups.configMaps: [%s]", r.Name)
	}
	return fmt.Sprintf("the profile %s has no permission to get this: add %s with {apiGroups: [%q], resources: [%s], resourceNames: [%s], verbs: [get]}; "+
		"the chart adds it for the value %s", r.Profile, where, r.Group, r.Resource, r.Name, value)
}
