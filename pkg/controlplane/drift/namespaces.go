// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/annotation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// namespaceForm is the form of namespaces.
var namespaceForm = target.Form{Version: "v1", Kind: "Namespace", Resource: "namespaces"}

// namespace holds the required data of a namespace.
type namespace struct {
	name   string
	labels map[string]string
	// optOut is why it is left alone; empty: it is not.
	optOut string
}

// namespaces returns the namespaces with webhooks, sorted by name, or only the given one.
func (f *Finder) namespaces(ctx context.Context, registrations []mutation.Registration) ([]namespace, error) {
	found := map[string]namespace{}
	take := func(raw json.RawMessage) error {
		one, err := readNamespace(raw)
		found[one.name] = one
		return err
	}
	if only := f.Namespace; only != "" {
		raw, err := get(ctx, f.API, pathOf(namespaceForm, "", only))
		if err == nil {
			err = take(raw)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the Namespace %s: %w", only, err)
		}
		return slices.Collect(maps.Values(found)), nil
	}
	selectors, garden := selectorsOf(registrations)
	for _, selector := range selectors {
		if err := list(ctx, f.API, pathOf(namespaceForm, "", ""), selector, namespacePage, take); err != nil {
			return nil, fmt.Errorf("listing namespaces: %w", err)
		}
	}
	if garden {
		raw, err := get(ctx, f.API, pathOf(namespaceForm, "", target.GardenNamespace))
		if err == nil {
			err = take(raw)
		}
		if err != nil && !notFound(err) {
			return nil, fmt.Errorf("reading the Namespace %s: %w", target.GardenNamespace, err)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b namespace) int { return strings.Compare(a.name, b.name) }), nil
}

// selectorsOf returns the label selectors of namespaces, one for each set, and whether there is a webhook for the
// garden.
func selectorsOf(registrations []mutation.Registration) (selectors []string, garden bool) {
	providers := map[target.Set][]string{}
	for _, r := range registrations {
		if r.Garden {
			garden = true
		} else if !slices.Contains(providers[r.Set], r.Provider) {
			providers[r.Set] = append(providers[r.Set], r.Provider)
		}
	}
	for _, set := range slices.Sorted(maps.Keys(providers)) {
		selectors = append(selectors, fmt.Sprintf("%s in (%s)", set.NamespaceLabel(), strings.Join(providers[set], ",")))
	}
	return selectors, garden
}

func readNamespace(raw json.RawMessage) (namespace, error) {
	var read struct {
		Metadata struct {
			Name        string            `json:"name"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return namespace{}, fmt.Errorf("decoding a Namespace: %w", err)
	}
	return namespace{read.Metadata.Name, read.Metadata.Labels, read.Metadata.Annotations[annotation.OptOut]}, nil
}
