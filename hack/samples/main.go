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
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
)

const folder = "pkg/controlplane/sample/static"

func main() {
	log.SetFlags(0)
	for name, write := range map[string]func() ([]byte, error){
		"today-1.31": func() ([]byte, error) { return today(sample.Options{Kubernetes: "1.31.4", Edit: onePool}) },
		"today-1.34": func() ([]byte, error) { return today(sample.Options{HighAvailability: true, Edit: onePool}) },
		"garden":     garden,
		"legacy":     legacy,
	} {
		lines, err := write()
		if err != nil {
			log.Fatalf("samples: writing %s: %s", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".jsonl"), lines, 0o644); err != nil {
			log.Fatalf("samples: %s", err)
		}
	}
}

// onePool reduces a shoot to one worker pool, because the OperatingSystemConfigs of several differ little.
func onePool(shoot *gardencorev1beta1.Shoot) {
	shoot.Spec.Provider.Workers = shoot.Spec.Provider.Workers[:1]
}

func today(o sample.Options) ([]byte, error) {
	objects, err := sample.ControlPlane(context.Background(), o)
	if err != nil {
		return nil, err
	}
	cluster, err := sample.Cluster(o)
	if err != nil {
		return nil, err
	}
	return lines(cluster, objects)
}

func garden() ([]byte, error) {
	objects, err := sample.VirtualGarden(context.Background(), sample.Options{})
	if err != nil {
		return nil, err
	}
	return lines(json.RawMessage(`{"apiVersion":"operator.gardener.cloud/v1alpha1","kind":"Garden","metadata":{"name":"garden"},`+
		`"spec":{"virtualCluster":{"kubernetes":{"version":"1.34.2"}}}}`), slices.DeleteFunc(objects, func(o sample.Object) bool {
		return o.Target == sample.TargetKubeAPIServerService // exists for shoots only
	}))
}

func legacy() ([]byte, error) {
	objects, err := sample.Legacy(sample.LegacyOptions{})
	if err != nil {
		return nil, err
	}
	cluster, err := sample.Cluster(sample.Options{Edit: func(shoot *gardencorev1beta1.Shoot) {
		onePool(shoot)
		shoot.Spec.Kubernetes.Version = "1.20.15"
	}})
	if err != nil {
		return nil, err
	}
	return lines(cluster, objects)
}

// lines writes the source of the facts, and then the objects that are targets of the contract, one per line.
func lines(first any, objects []sample.Object) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(first); err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.Target == "" {
			continue
		}
		if err := encoder.Encode(json.RawMessage(object.JSON)); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
