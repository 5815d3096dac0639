// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// ReferencePrefix begins the annotations that keep Gardener's garbage collector from deleting a Secret or ConfigMap that a
// workload still uses (gardener: pkg/resourcemanager/controller/garbagecollector/references).
const ReferencePrefix = "reference.resources.gardener.cloud/"

// MayReference says whether writes of the kind can add or drop the use of a Secret or ConfigMap.
func MayReference(kind Kind) bool {
	return kind == Volume || kind == Env || kind == Container
}

// WriteReferences writes the reference annotations of object and pod template anew for what the pod uses now: one for each
// Secret and ConfigMap. Annotations for names that are no longer used go; those without a name, which Gardener sets for
// other uses, stay.
func WriteReferences(o *target.Object) error {
	wanted := references(o.PodSpec())
	object, err := objectMetadata(o)
	if err != nil {
		return err
	}
	pod, err := podMetadata(o)
	if err != nil {
		return err
	}
	for _, metadata := range []*document.Node{object, pod} {
		for _, key := range stale(metadata.Get("annotations"), wanted) {
			metadata.Get("annotations").Remove(key)
		}
		for _, key := range wanted.keys {
			if err := setKey(metadata, "annotations", key, Resolved{Texts: []string{wanted.names[key]}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// stale are the reference annotations for names that are no longer used.
func stale(annotations *document.Node, wanted *used) []string {
	var keys []string
	for key, value := range annotations.Members() {
		name, _ := value.Text()
		if _, used := wanted.names[key]; strings.HasPrefix(key, ReferencePrefix) && !used && name != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// used are the annotations for what a pod uses, in the order of first use.
type used struct {
	keys  []string
	names map[string]string
}

func (u *used) add(kind string, name *document.Node) {
	text, ok := name.Text()
	if !ok {
		return
	}
	sum := sha256.Sum256([]byte(text))
	key := ReferencePrefix + kind + "-" + hex.EncodeToString(sum[:])[:8]
	if _, ok := u.names[key]; !ok {
		u.keys = append(u.keys, key)
		u.names[key] = text
	}
}

// references finds what Gardener's own InjectAnnotations finds: volumes, containers' env and envFrom, and pull secrets.
func references(spec *document.Node) *used {
	u := &used{names: map[string]string{}}
	for _, container := range spec.Get("containers").Items() {
		for _, from := range container.Get("envFrom").Items() {
			u.add("secret", from.Find("secretRef", "name"))
			u.add("configmap", from.Find("configMapRef", "name"))
		}
		for _, variable := range container.Get("env").Items() {
			u.add("secret", variable.Find("valueFrom", "secretKeyRef", "name"))
			u.add("configmap", variable.Find("valueFrom", "configMapKeyRef", "name"))
		}
	}
	for _, volume := range spec.Get("volumes").Items() {
		u.add("secret", volume.Find("secret", "secretName"))
		u.add("configmap", volume.Find("configMap", "name"))
		for _, projection := range volume.Find("projected", "sources").Items() {
			u.add("secret", projection.Find("secret", "name"))
			u.add("configmap", projection.Find("configMap", "name"))
		}
	}
	for _, secret := range spec.Get("imagePullSecrets").Items() {
		u.add("secret", secret.Get("name"))
	}
	return u
}
