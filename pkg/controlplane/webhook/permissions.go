// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Authorizer reports whether the program has a permission. An error means that the API server could not be asked.
type Authorizer interface {
	May(context.Context, mutation.Ask, mutation.Permission) (bool, error)
}

// AccessReviews checks permissions with SelfSubjectAccessReviews. All authenticated users may create them (Kubernetes'
// ClusterRole system:basic-user), so that the chart needs no role.
type AccessReviews struct {
	Client client.Client
}

// May implements Authorizer. It fails if the API server does not answer the review.
func (a AccessReviews) May(ctx context.Context, ask mutation.Ask, r mutation.Permission) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: ask.Verb, Group: r.Group, Resource: r.Resource, Namespace: ask.Namespace, Name: r.Name,
		},
	}}
	if err := a.Client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking for the permission to %s %s: %w", ask.Verb, r.Resource, err)
	}
	return review.Status.Allowed, nil
}

const (
	// permissionTimeout limits the checks for all reads of the profiles.
	permissionTimeout = 10 * time.Second
	// permissionInterval is the time until profiles that lack a permission are checked again.
	permissionInterval = 5 * time.Second
)

// waiting has the reads that lack permissions, with the missing verbs, and the time of the next check.
type waiting struct {
	reads map[mutation.Permission]string
	next  time.Time
}

// changed repeats the check when it is due, and reports whether the answer changed.
func (w *waiting) changed(ctx context.Context, authorizer Authorizer) bool {
	if w == nil || time.Now().Before(w.next) {
		return false
	}
	w.next = time.Now().Add(permissionInterval)
	ctx, cancel := context.WithTimeout(ctx, permissionTimeout)
	defer cancel()
	for read, before := range w.reads {
		if verbs, err := refused(ctx, authorizer, read); err == nil && strings.Join(verbs, ", ") != before {
			return true
		}
	}
	return false
}

// permit returns findings for the reads that the program may not make, and the missing verbs. If the API server
// does not answer, it returns none: lookups would fail too and report the reason.
func permit(ctx context.Context, authorizer Authorizer, log logr.Logger, p Program) (source.Findings, map[mutation.Permission]string) {
	if authorizer == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, permissionTimeout)
	defer cancel()
	var findings source.Findings
	reads := map[mutation.Permission]string{}
	for _, read := range p.Permissions() {
		refused, err := refused(ctx, authorizer, read)
		switch {
		case err != nil:
			log.Error(err, "Checking the permissions for the lookups of the profiles failed")
			return findings, reads
		case refused == nil:
		case read.Name == "":
			log.Info("A lookup computes the name of its object; each name must be permitted", "profile", read.Profile, "lookup", read.Lookup,
				"group", read.Group, "resource", read.Resource)
		default:
			findings = append(findings, source.Finding{Position: read.Position, Path: "lookups." + read.Lookup, Message: missingRule(read, refused)})
			reads[read] = strings.Join(refused, ", ")
		}
	}
	return findings, reads
}

// refused returns the verbs that are not allowed.
func refused(ctx context.Context, authorizer Authorizer, read mutation.Permission) ([]string, error) {
	var verbs []string
	for _, ask := range read.Asks() {
		allowed, err := authorizer.May(ctx, ask, read)
		if err != nil {
			return nil, err
		}
		if !allowed {
			verbs = append(verbs, ask.Verb)
		}
	}
	return verbs, nil
}

// missingRule describes the missing role for a read, and the chart value that adds it.
func missingRule(r mutation.Permission, refused []string) string {
	where := "a ClusterRole"
	if r.Namespace != "" && !r.Everywhere {
		where = fmt.Sprintf("a ClusterRole, or a Role in the namespace %s,", r.Namespace)
	}
	value := fmt.Sprintf("lookups.objects: [{group: %q, resource: %s, names: [%s]}]", r.Group, r.Resource, r.Name)
	switch {
	case r.Group == "" && r.Resource == "secrets":
		value = fmt.Sprintf("lookups.secrets: [%s]", r.Name)
	case r.Group == "" && r.Resource == "configmaps":
		value = fmt.Sprintf("lookups.configMaps: [%s]", r.Name)
	}
	return fmt.Sprintf("the profile %s has no permission to %s this: add %s with {apiGroups: [%q], resources: [%s], resourceNames: [%s], verbs: [get, list, watch]}; "+
		"the chart adds it for the value %s", r.Profile, strings.Join(refused, ", "), where, r.Group, r.Resource, r.Name, value)
}
