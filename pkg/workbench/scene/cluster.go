// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// parts are the resources that a Cluster (extensions.gardener.cloud/v1alpha1) holds.
type parts struct {
	Shoot        json.RawMessage `json:"shoot"`
	Seed         json.RawMessage `json:"seed"`
	CloudProfile json.RawMessage `json:"cloudProfile"`
}

func clusterParts(cluster *manifest.Object) (parts, error) {
	var c struct {
		Spec parts `json:"spec"`
	}
	if err := json.Unmarshal(cluster.JSON, &c); err != nil {
		return parts{}, at(cluster, fmt.Errorf("reading the Cluster: %w", err))
	}
	return c.Spec, nil
}

// labelled returns the namespace of a control plane with the labels set by gardenlet (gardener:
// pkg/gardenlet/operation/botanist/namespaces.go).
func labelled(name string, o Options) facts.Namespace {
	var seed struct {
		Spec struct {
			Provider struct {
				Type string `json:"type"`
			} `json:"provider"`
			Backup *struct {
				Provider string `json:"provider"`
			} `json:"backup"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(o.Seed, &seed) // a Seed that cannot be decoded is found where its facts are read
	seedProvider := cmp.Or(o.SeedProvider, seed.Spec.Provider.Type, o.Provider)
	backup := cmp.Or(o.BackupProvider, seedProvider)
	if seed.Spec.Backup != nil {
		backup = cmp.Or(o.BackupProvider, seed.Spec.Backup.Provider, seedProvider)
	}
	return facts.Namespace{Name: name, Labels: map[string]string{
		"gardener.cloud/role":            "shoot",
		"shoot.gardener.cloud/provider":  o.Provider,
		"seed.gardener.cloud/provider":   seedProvider,
		"backup.gardener.cloud/provider": backup,
	}}
}

// storeStringData converts a Secret's stringData to data, as kube-apiserver does on a write.
func storeStringData(secret map[string]any) {
	texts, ok := secret["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, ok := secret["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
	}
	for key, value := range texts {
		if text, ok := value.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	secret["data"] = data
	delete(secret, "stringData")
}
