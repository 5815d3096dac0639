// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package static holds a few control planes of pkg/controlplane/sample as bytes, for checks of profiles when they are loaded.
// It must not import Gardener's code, which is why the bytes are generated. Start reading at Planes.
package static

import (
	"bytes"
	"embed"
	"path"
	"strings"
	"sync"
)

//go:generate sh -c "cd ../../../.. && go run ./hack/samples"

//go:embed *.jsonl
var files embed.FS

// Plane is the control plane of a shoot or of a virtual garden.
type Plane struct {
	// Name is the name of the sample, such as today-1.34.
	Name string
	// Garden means a virtual garden, and Legacy the older generation.
	Garden, Legacy bool
	// Source is the resource with the facts: a Cluster or a Garden, as JSON.
	Source []byte
	// Objects are those objects that are targets of the contract, as JSON. They are shared and must not be written to.
	Objects [][]byte
}

// Planes are all samples, sorted by name.
var Planes = sync.OnceValue(func() []Plane {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil
	}
	var planes []Plane
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), path.Ext(entry.Name()))
		data, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil
		}
		lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
		planes = append(planes, Plane{Name: name, Garden: name == "garden", Legacy: name == "legacy", Source: lines[0], Objects: lines[1:]})
	}
	return planes
})
