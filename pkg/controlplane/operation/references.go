// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// WriteReferences updates the reference annotations of the object and its pod template after rules wrote places. It adds
// one for each Secret and ConfigMap that is used in one of the places. With compare, it also adds those that the
// received object did not use, and removes those that the pod no longer uses. It keeps annotations without a name, which
// Gardener sets for other uses, and adds none for Gardener's own references, because this would restart the pods without
// need. It fails if the metadata of the object or of its pod template is not a mapping.
func WriteReferences(o *target.Object, places []Place, compare bool) error {
	var was, using, added used
	for _, place := range places {
		added.addPlace(o, place)
	}
	if compare {
		was.addPod(o.Document.Original().Find("spec", "template", "spec"))
		using.addPod(o.PodSpec())
	}
	stale := slices.DeleteFunc(slices.Clone(was), func(u use) bool { return slices.Contains(using, u) })
	for _, u := range using {
		if !slices.Contains(was, u) && !slices.Contains(added, u) {
			added = append(added, u)
		}
	}
	for _, annotations := range annotated {
		if len(stale) > 0 {
			removeStale(annotations.find(o.Document.Root()), stale)
		}
		for _, u := range added {
			if err := annotations.with(u.annotation()).merge(o.Document.Root(), document.Quote(u.name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// annotated are the places of the annotations of an object and of its pod template.
var annotated = [...]fieldPath{pathOf("metadata", "annotations"), pathOf("spec", "template", "metadata", "annotations")}

// MayReference reports whether writes of the kind can add or remove a reference to a Secret or ConfigMap.
func MayReference(kind PlaceKind) bool {
	return slices.Contains([]PlaceKind{Volume, Env, Container, Field}, kind)
}

// removeStale removes the reference annotations for objects that the pod does not use any more.
func removeStale(annotations *document.Node, stale used) {
	for key, value := range annotations.Members() {
		kind, ok := strings.CutPrefix(key, target.ReferencePrefix)
		if !ok {
			continue
		}
		kind, _, _ = strings.Cut(kind, "-")
		name, _ := value.Text()
		if slices.Contains(stale, use{kind, name}) {
			annotations.Remove(key)
		}
	}
}

// used lists the objects that a pod uses, in the order of their first use.
type used []use

// use is the use of a Secret or ConfigMap; kind is as in the annotation.
type use struct{ kind, name string }

// annotation returns the annotation that Gardener's garbage collector looks for.
func (u use) annotation() string {
	sum := sha256.Sum256([]byte(u.name))
	return target.ReferencePrefix + u.kind + "-" + hex.EncodeToString(sum[:4])
}

func (u *used) add(kind string, name *document.Node) {
	text, ok := name.Text()
	if ok && !slices.Contains(*u, use{kind, text}) {
		*u = append(*u, use{kind, text})
	}
}

// addPlace adds the objects that a volume or an environment variable uses, or that a container uses and did not use in
// the received object: a rule may write only some fields of a container of Gardener.
func (u *used) addPlace(o *target.Object, p Place) {
	switch p.Kind {
	case Volume:
		u.addVolume(o.PodSpec().Get("volumes").ItemWith("name", p.Name))
	case Env:
		if container, err := o.Container(p.Container); err == nil {
			u.addValueFrom(container.Get("env").ItemWith("name", p.Name).Get("valueFrom"))
		}
	case Container:
		if container, err := o.Container(p.Name); err == nil {
			var was, using used
			for _, list := range []string{"containers", "initContainers"} {
				was.addContainer(o.Document.Original().Find("spec", "template", "spec", list).ItemWith("name", p.Name))
			}
			using.addContainer(container)
			for _, use := range using {
				if !slices.Contains(was, use) && !slices.Contains(*u, use) {
					*u = append(*u, use)
				}
			}
		}
	}
}

// addPod adds the objects that Gardener's own InjectAnnotations finds (volumes, containers' env and envFrom, pull
// secrets), and those of init containers, which it ignores.
func (u *used) addPod(spec *document.Node) {
	for _, list := range []string{"containers", "initContainers"} {
		for _, container := range spec.Get(list).Items() {
			u.addContainer(container)
		}
	}
	for _, volume := range spec.Get("volumes").Items() {
		u.addVolume(volume)
	}
	for _, secret := range spec.Get("imagePullSecrets").Items() {
		u.add("secret", secret.Get("name"))
	}
}

func (u *used) addContainer(container *document.Node) {
	for _, from := range container.Get("envFrom").Items() {
		u.add("secret", from.Find("secretRef", "name"))
		u.add("configmap", from.Find("configMapRef", "name"))
	}
	for _, variable := range container.Get("env").Items() {
		u.addValueFrom(variable.Get("valueFrom"))
	}
}

func (u *used) addValueFrom(from *document.Node) {
	u.add("secret", from.Find("secretKeyRef", "name"))
	u.add("configmap", from.Find("configMapKeyRef", "name"))
}

func (u *used) addVolume(volume *document.Node) {
	u.add("secret", volume.Find("secret", "secretName"))
	u.add("configmap", volume.Find("configMap", "name"))
	for _, projection := range volume.Find("projected", "sources").Items() {
		u.add("secret", projection.Find("secret", "name"))
		u.add("configmap", projection.Find("configMap", "name"))
	}
}
