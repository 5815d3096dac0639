// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// object is an object as it is in the cluster.
type object struct {
	name string
	raw  []byte
}

// readObject gives an object of a list its kind, which such an object does not say.
func readObject(raw []byte, form target.Form) (object, error) {
	parsed, err := document.Parse(raw)
	if err != nil {
		return object{}, err
	}
	root := parsed.Root()
	version := schema.GroupVersion{Group: form.Group, Version: form.Version}.String()
	for key, value := range map[string]string{"apiVersion": version, "kind": form.Kind} {
		if root.Get(key) == nil {
			if _, err := root.Set(key, document.Quote(value)); err != nil {
				return object{}, err
			}
		}
	}
	root.Get("metadata").Remove("managedFields")
	name, _ := root.Find("metadata", "name").Text()
	return object{name, parsed.Bytes()}, nil
}

// look computes the webhook's response to an update of an object without changes. The state is empty if the object is
// up to date; selected is false if no rule concerns it. known lists the versions of the profiles.
func look(ctx context.Context, e Engine, known []string, of Object, o object) (f Finding, selected bool, err error) {
	parsed, err := document.Parse(o.raw)
	if err != nil {
		return f, false, fmt.Errorf("%s: %w", of, err)
	}
	f = Finding{Object: of, Mark: annotation.Marks(parsed, of.Set)}
	result, err := e.Admit(ctx, mutation.Request{
		Set: of.Set, Provider: of.Provider, Garden: of.Garden, Operation: "UPDATE", Namespace: of.Namespace, Name: of.Name, Group: of.Group,
		Version: of.Version, Kind: of.Kind, Object: o.raw, OldObject: o.raw,
	})
	if ctx.Err() != nil {
		return f, false, ctx.Err()
	}
	var failure *mutation.Failure
	switch {
	case errors.As(err, &failure):
		f.State, f.Target, f.Problem = Denied, failure.Target, string(failure.Reason)+": "+failure.Error() // as the webhook says it
		if failure.Code() >= http.StatusInternalServerError {
			f.State = Unknown
		}
		return f, true, nil
	case err != nil:
		return f, false, fmt.Errorf("%s: %w", of, err)
	case result.Target == "":
		return f, false, nil
	}
	f.Target = result.Target
	older := slices.ContainsFunc(f.Mark, func(version string) bool { return !slices.Contains(known, version) })
	switch {
	case result.Patch == nil && older:
		f.State = Marked
	case result.Patch == nil:
	case len(f.Mark) == 0:
		f.State = Unmutated
	case older:
		f.State = Outdated
	default:
		f.State = Edited
	}
	if result.Patch != nil {
		f.Rules = changing(result)
	}
	return f, true, nil
}

// changing returns the rules that change the object, each once.
func changing(result *mutation.Result) []string {
	var rules []string
	for _, applied := range result.Applied {
		if name := applied.Profile + "/" + applied.Rule; applied.Outcome == mutation.Changed && !slices.Contains(rules, name) {
			rules = append(rules, name)
		}
	}
	return rules
}
