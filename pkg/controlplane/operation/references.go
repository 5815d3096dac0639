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

// WriteReferences updates the reference annotations of the object and its pod template after steps that wrote volumes,
// environment variables or containers. It adds one for each Secret and ConfigMap that a step added, and removes those
// that the pod no longer uses. It keeps annotations without a name, which Gardener sets for other uses, and adds none
// for Gardener's own references, because this would restart the pods without need. It fails if the metadata of the object or of its pod template is not a mapping.
func WriteReferences(o *target.Object, steps []Reference) error {
	var brought, was, using used
	for _, step := range steps {
		if step.Kind == Field {
			brought.addNew(o)
		} else if err := brought.addStep(o.Document.Root(), step); err != nil {
			return err
		}
	}
	using.addPod(o.PodSpec())
	was.addPod(o.Document.Original().Find("spec", "template", "spec"))
	for _, metadata := range []*document.Node{o.Document.Root().Get("metadata"), o.PodTemplate().Get("metadata")} {
		removeStale(metadata.Get("annotations"), was, using)
	}
	if len(brought) == 0 {
		return nil
	}
	object, err := objectMetadata(o)
	if err != nil {
		return err
	}
	pod, err := podMetadata(o)
	if err != nil {
		return err
	}
	for _, metadata := range []*document.Node{object, pod} {
		for _, u := range brought {
			if err := setKey(metadata, "annotations", u.annotation(), Resolved{Texts: []string{u.name}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Reference is a step that may have added or dropped the use of a Secret or ConfigMap.
type Reference struct {
	Kind  Kind
	Value Resolved
}

// MayReference reports whether writes of the kind can add or remove a reference to a Secret or ConfigMap.
func MayReference(kind Kind) bool {
	return kind == Volume || kind == Env || kind == Container || kind == Field
}

// CurrentValue returns the current value of a place that may contain references. It is absent if there is none.
func CurrentValue(o *target.Object, p Place) Resolved {
	var found *document.Node
	switch p.Kind {
	case Volume:
		found = o.PodSpec().Get("volumes").ItemWith("name", p.Name)
	case Env:
		if container, err := o.Container(p.Container); err == nil {
			found = container.Get("env").ItemWith("name", p.Name).Get("valueFrom")
		}
	case Container:
		found = o.PodSpec().Get("containers").ItemWith("name", p.Name)
	}
	if found == nil {
		return Resolved{Absent: true}
	}
	return Resolved{JSON: found.Raw()}
}

// removeStale removes the reference annotations for objects that the pod does not use any more. It keeps annotations of
// other owners.
func removeStale(annotations *document.Node, was, using used) {
	for key, value := range annotations.Members() {
		kind, ok := strings.CutPrefix(key, target.ReferencePrefix)
		if !ok {
			continue
		}
		kind, _, _ = strings.Cut(kind, "-")
		name, _ := value.Text()
		if slices.Contains(was, use{kind, name}) && !slices.Contains(using, use{kind, name}) {
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

// addStep adds the objects that the value of a step uses.
func (u *used) addStep(root *document.Node, step Reference) error {
	if step.Value.JSON == nil {
		return nil
	}
	value, err := document.Parse(step.Value.JSON)
	if err != nil {
		return err
	}
	switch step.Kind {
	case Volume:
		u.addVolume(value.Root())
	case Env:
		u.addValueFrom(value.Root())
	case Container:
		u.addContainer(value.Root())
	}
	return nil
}

// addNew adds the objects that the pod uses but did not use in the received object.
func (u *used) addNew(o *target.Object) {
	var was, using used
	was.addPod(o.Document.Original().Find("spec", "template", "spec"))
	using.addPod(o.PodSpec())
	for _, use := range using {
		if !slices.Contains(was, use) && !slices.Contains(*u, use) {
			*u = append(*u, use)
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
