// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"errors"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/render"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/scene"
)

// Program is the Side of profiles that are compiled.
type Program struct{ *mutation.Program }

// Admit implements Side.
func (p Program) Admit(ctx context.Context, s *scene.Scene, object manifest.Object) (*render.Change, error) {
	changes, err := s.Admit(ctx, p.Program, object)
	if err != nil {
		return nil, err
	}
	if reason := unreadable(changes[0].Denied); reason != nil && s.Live != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, reason)
	}
	return changes[0], nil
}

// unreadable returns the reason if the engine failed for lack of facts, or nil.
func unreadable(denied error) error {
	var failure *mutation.Failure
	if !errors.As(denied, &failure) {
		return nil
	}
	switch failure.Reason {
	case mutation.LookupFailed, mutation.FactsUnavailable, mutation.DeadlineExceeded:
		return failure
	default:
		return nil
	}
}

// becomes implements quick: the engine's result without the steps to it.
func (p Program) becomes(ctx context.Context, s *scene.Scene, object manifest.Object) ([]byte, error) {
	source := facts.Source(nil)
	current := object.JSON
	for _, registration := range s.Selected(p.Program, object) {
		if source == nil {
			source = s.Source()
		}
		parsed, err := document.Parse(current)
		if err != nil {
			return nil, fmt.Errorf("reading the object: %w", err)
		}
		_, group, version := groupVersion(object)
		request := mutation.Request{
			Set: registration.Set, Provider: registration.Provider, Garden: registration.Garden, Operation: "CREATE",
			Namespace: s.Namespace().Name, Name: object.Name, Group: group, Version: version, Kind: object.Kind,
			Object: current, Document: parsed,
		}
		if old := s.Old[scene.OldKey(object)]; old != nil {
			request.Operation, request.OldObject = "UPDATE", old
		}
		var failure *mutation.Failure
		if _, err := p.Program.Admit(ctx, request, source); errors.As(err, &failure) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		current = parsed.Bytes()
	}
	return current, nil
}

func groupVersion(o manifest.Object) (apiVersion, group, version string) {
	group = o.Group()
	version = o.APIVersion
	if group != "" {
		version = o.APIVersion[len(group)+1:]
	}
	return o.APIVersion, group, version
}
