// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Command samples writes pkg/controlplane/sample/static: the control planes of pkg/controlplane/sample as files
// that can be embedded without linking Gardener's code. `make generate` runs it from the root of the module.
// Start reading at main.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"path/filepath"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
)

const folder = "pkg/controlplane/sample/static"

func main() {
	log.SetFlags(0)
	for name, o := range map[string]sample.Options{
		"today-1.31": {Kubernetes: "1.31.4", Edit: onePool},
		"today-1.34": {HighAvailability: true, Edit: onePool},
	} {
		objects, err := sample.ControlPlane(context.Background(), o)
		write(name, cluster(o), objects, err)
	}
	objects, err := sample.VirtualGarden(context.Background(), sample.Options{})
	write("garden", json.RawMessage(`{"apiVersion":"operator.gardener.cloud/v1alpha1","kind":"Garden","metadata":{"name":"garden"},`+
		`"spec":{"virtualCluster":{"kubernetes":{"version":"1.34.2"}}}}`), objects, err)
	objects, err = sample.Legacy(sample.LegacyOptions{})
	write("legacy", cluster(sample.Options{Edit: func(shoot *gardencorev1beta1.Shoot) {
		onePool(shoot)
		shoot.Spec.Kubernetes.Version = "1.20.15"
	}}), objects, err)
}

// onePool reduces a shoot to one worker pool, because the OperatingSystemConfigs of several differ little.
func onePool(shoot *gardencorev1beta1.Shoot) {
	shoot.Spec.Provider.Workers = shoot.Spec.Provider.Workers[:1]
}

// cluster returns the source of the facts of a shoot.
func cluster(o sample.Options) any {
	found, err := sample.Cluster(o)
	if err != nil {
		log.Fatalf("samples: %s", err)
	}
	return found
}

// write writes the source of the facts, and then the objects that are targets of the contract, one per line.
func write(name string, source any, objects []sample.Object, err error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err = errors.Join(err, encoder.Encode(source))
	for _, object := range objects {
		if object.Target != "" {
			err = errors.Join(err, encoder.Encode(json.RawMessage(object.JSON)))
		}
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".jsonl"), out.Bytes(), 0o644)
	}
	if err != nil {
		log.Fatalf("samples: writing %s: %s", name, err)
	}
}
