// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

// nameFormat is the format of the namespace of a shoot.
const nameFormat = "shoot--acme--s%05d"

var apiVersions = map[string]string{"Cluster": "extensions.gardener.cloud/v1alpha1", "Namespace": "v1"}

// seedObjects are templates of the Clusters and namespaces of all shoots: the parts between the occurrences of the
// name.
type seedObjects struct {
	cluster, clusterMetadata, namespace, namespaceMetadata [][]byte
}

// newObjects returns templates of a Cluster as gardenlet writes it, with a CloudProfile of the given size, and of the
// namespace.
func newObjects(size int) (seedObjects, error) {
	name := fmt.Sprintf(nameFormat, 0)
	options := sample.Options{Namespace: name, HighAvailability: true}
	cluster, err := sample.Cluster(options)
	if err != nil {
		return seedObjects{}, err
	}
	if cluster.Spec.Shoot.Raw, err = age(cluster.Spec.Shoot.Raw); err != nil {
		return seedObjects{}, err
	}
	if cluster.Spec.CloudProfile.Raw, err = grow(cluster.Spec.CloudProfile.Raw, size); err != nil {
		return seedObjects{}, err
	}
	namespace, err := sample.Namespace(options)
	if err != nil {
		return seedObjects{}, err
	}
	var objects seedObjects
	for _, made := range []struct {
		from       any
		into, meta *[][]byte
	}{
		{cluster, &objects.cluster, &objects.clusterMetadata},
		{namespace, &objects.namespace, &objects.namespaceMetadata},
	} {
		if *made.into, *made.meta, err = templates(made.from, name); err != nil {
			return seedObjects{}, err
		}
	}
	return objects, nil
}

// templates returns an object as an API server stores it, and its metadata, split at the name.
func templates(object any, name string) (whole, metadata [][]byte, err error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, nil, err
	}
	meta := tree["metadata"].(map[string]any)
	meta["uid"], meta["resourceVersion"], meta["generation"] = "8a3f4f0e-5d1c-4a0b-9a53-"+name, "1", 1
	meta["managedFields"] = []any{map[string]any{
		"manager": "gardenlet", "operation": "Update", "apiVersion": tree["apiVersion"], "time": "2026-01-01T00:00:00Z",
		"fieldsType": "FieldsV1", "fieldsV1": fields(map[string]any{"spec": tree["spec"]}),
	}}
	if raw, err = json.Marshal(tree); err != nil {
		return nil, nil, err
	}
	partial, err := json.Marshal(map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
		"metadata": meta})
	return bytes.Split(raw, []byte(name)), bytes.Split(partial, []byte(name)), err
}

// fields returns the managed fields of an object without a schema: each list is one field.
func fields(value any) map[string]any {
	found := map[string]any{}
	members, _ := value.(map[string]any)
	for key, member := range members {
		found["f:"+key] = fields(member)
	}
	return found
}

// shootSize is the size of a Shoot with a few worker pools and its status, in bytes.
const shootSize = 12_000

// age adds conditions to a Shoot until it has its size.
func age(raw []byte) ([]byte, error) {
	var shoot gardencorev1beta1.Shoot
	if err := json.Unmarshal(raw, &shoot); err != nil {
		return nil, err
	}
	for size := len(raw); size < shootSize; size += 400 {
		shoot.Status.Conditions = append(shoot.Status.Conditions, gardencorev1beta1.Condition{
			Type: gardencorev1beta1.ConditionType(fmt.Sprint("Condition", size)), Status: gardencorev1beta1.ConditionTrue,
			Reason:  "Fine",
			Message: strings.Repeat("Everything is as it should be. ", 8),
		})
	}
	return json.Marshal(&shoot)
}

// grow adds machine types and image versions to a CloudProfile until it has its size.
func grow(raw []byte, size int) ([]byte, error) {
	var profile gardencorev1beta1.CloudProfile
	if err := json.Unmarshal(raw, &profile); err != nil {
		return nil, err
	}
	machine, image := profile.Spec.MachineTypes[0], &profile.Spec.MachineImages[0]
	version := image.Versions[0]
	one, err := json.Marshal([]any{machine, version})
	if err != nil {
		return nil, err
	}
	for i := range max(0, size-len(raw)) / len(one) {
		machine.Name, version.Version = fmt.Sprintf("type-%06d", i), fmt.Sprintf("1.%d.0", i)
		profile.Spec.MachineTypes = append(profile.Spec.MachineTypes, machine)
		image.Versions = append(image.Versions, version)
	}
	return json.Marshal(&profile)
}

func (o seedObjects) writeCluster(to *bytes.Buffer, shoot int, metadataOnly bool) {
	fill(to, shoot, metadataOnly, o.cluster, o.clusterMetadata)
}

func (o seedObjects) writeNamespace(to *bytes.Buffer, shoot int, metadataOnly bool) {
	fill(to, shoot, metadataOnly, o.namespace, o.namespaceMetadata)
}

func fill(to *bytes.Buffer, shoot int, metadataOnly bool, whole, metadata [][]byte) {
	parts := whole
	if metadataOnly {
		parts = metadata
	}
	for i, part := range parts {
		if i > 0 {
			fmt.Fprintf(to, nameFormat, shoot)
		}
		to.Write(part)
	}
}
