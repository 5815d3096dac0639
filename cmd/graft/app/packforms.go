// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	profilev1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/profile/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// delivery describes how profiles of a kind are installed (charts/graft-profiles and charts/gardener-extension-provider-graft).
type delivery struct {
	// label marks the ConfigMap, and configMap is its name; empty: each profile has a ConfigMap of its own.
	label, configMap string
	// value is the Helm value that has the profiles by name.
	value string
}

var deliveries = map[string]delivery{
	profilev1alpha1.KindProviderProfile:    {"graft.provider.extensions.gardener.cloud/profile", "", "profiles"},
	profilev1alpha1.KindNetworkProfile:     {"graft.provider.extensions.gardener.cloud/network-profiles", "graft-network-profiles", "networkProfiles"},
	profilev1alpha1.KindInterpreterProfile: {"graft.provider.extensions.gardener.cloud/interpreter-profiles", "graft-interpreter-profiles", "interpreterProfiles"},
}

// profilePrefix begins the names of ConfigMaps with a ProviderProfile.
const profilePrefix = "graft-profile-"

// named is a file with profiles, by the name of the first of them.
type named struct {
	name, kind string
	// texts are the profile and the files that it names, by keys of a ConfigMap.
	texts map[string]string
}

// namedTexts returns the files as a ConfigMap or Helm values have them. The name of the first document names the file.
func namedTexts(files []source.File) ([]named, error) {
	var all []named
	for _, file := range files {
		parts, _ := profile.Parse(file) // lint has read them
		if len(parts) == 0 {
			continue
		}
		n := named{parts[0].Node.Get("metadata").Get("name").Value, parts[0].Node.Get("kind").Value, map[string]string{"profile.yaml": string(file.Data)}}
		for path, data := range file.Attachments {
			if !utf8.Valid(data) {
				return nil, fmt.Errorf("%s is not text: write an image (-o oci)", path)
			}
			n.texts[strings.ReplaceAll(path, "/", "_")] = string(data)
		}
		if slices.ContainsFunc(all, func(other named) bool { return other.name == n.name }) {
			return nil, fmt.Errorf("two files have a profile with the name %s", n.name)
		}
		all = append(all, n)
	}
	return all, nil
}

// writeConfigMaps writes a ConfigMap for each ProviderProfile, or one for all profiles of another kind.
func writeConfigMaps(out io.Writer, files []named) error {
	data := map[string]map[string]string{}
	for _, file := range files {
		if name := deliveries[file.kind].configMap; name != "" {
			if data[name] == nil {
				data[name] = map[string]string{}
			}
			data[name][file.name+".yaml"] = file.texts["profile.yaml"]
		} else {
			data[profilePrefix+file.name] = file.texts
		}
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		text, err := yaml.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": data[name],
			"metadata": map[string]any{"name": name, "labels": map[string]string{deliveries[files[0].kind].label: "true"}},
		})
		if err != nil {
			return fmt.Errorf("writing a ConfigMap: %w", err)
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

// writeValues writes the Helm values of the chart that installs the profiles.
func writeValues(out io.Writer, files []named) error {
	profiles := map[string]any{}
	for _, file := range files {
		profiles[file.name] = file.texts
		if len(file.texts) == 1 {
			profiles[file.name] = file.texts["profile.yaml"]
		}
	}
	text, err := yaml.Marshal(map[string]any{deliveries[files[0].kind].value: profiles})
	if err != nil {
		return fmt.Errorf("writing Helm values: %w", err)
	}
	_, err = out.Write(text)
	return err
}
