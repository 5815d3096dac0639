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

// WriteReferences writes the reference annotations of object and pod template after steps that wrote volumes, environment
// variables or containers: one for each Secret and ConfigMap that a step brought in, and none for what the pod no longer
// uses. Annotations without a name, which Gardener sets for other uses, stay, and so does the absence of annotations for
// what Gardener itself put there: adding those would roll the pods for nothing. Only where something was lost can anything have fallen out of use.
func WriteReferences(o *target.Object, steps []Reference, lost bool) error {
	var brought, was, using used
	for _, step := range steps {
		if step.Kind == Field {
			brought.addNew(o)
		} else if err := brought.addStep(o.Document.Root(), step); err != nil {
			return err
		}
	}
	if lost {
		using.addPod(o.PodSpec())
		was.addPod(o.Document.Original().Find("spec", "template", "spec"))
		for _, metadata := range []*document.Node{o.Document.Root().Get("metadata"), o.PodTemplate().Get("metadata")} {
			removeStale(metadata.Get("annotations"), was, using)
		}
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

// MayReference says whether writes of the kind can add or drop the use of a Secret or ConfigMap.
func MayReference(kind Kind) bool {
	return kind == Volume || kind == Env || kind == Container || kind == Field
}

// Standing is what stands in a place that may reference; absent where nothing does.
func Standing(o *target.Object, p Place) Resolved {
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

// removeStale removes the reference annotations for what the pod used and no longer uses; others are somebody else's.
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

// used is what a pod uses, in the order of first use.
type used []use

// use is the use of a Secret or ConfigMap; kind is as in the annotation.
type use struct{ kind, name string }

// annotation is the annotation that Gardener's garbage collector looks for.
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

// addStep adds what the value of a step uses.
func (u *used) addStep(root *document.Node, step Reference) error {
	if step.Value.JSON == nil {
		return nil
	}
	value, err := root.Parse(step.Value.JSON)
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

// addNew adds what the pod uses and did not use when it came.
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

// addPod adds what Gardener's own InjectAnnotations finds (volumes, containers' env and envFrom, pull secrets), and the init
// containers, which it forgets.
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
