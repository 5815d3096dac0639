// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"errors"
	"fmt"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// ErrForeign means that manifests have objects, and that none is of a control plane.
var ErrForeign = errors.New("the manifests have no control plane")

// Foreign returns the objects that Build omits: those in namespaces without a control plane, as in a dump of a whole
// seed.
func (in Input) Foreign() []manifest.Object {
	_, foreign := in.split()
	return foreign
}

// split separates the objects of control planes, and those without a namespace, from the rest.
func (in Input) split() (own, foreign []manifest.Object) {
	planes := in.planes()
	for _, o := range in.Objects {
		namespace := o.Namespace
		switch {
		case o.Is("", "Namespace"):
			namespace = o.Name
		case o.Group() == coreGroup, o.Is(operatorGroup, "Garden"), o.Is(extensionsGroup, "Cluster"):
			namespace = "" // of a garden cluster, or said of a control plane by its name
		}
		if namespace == "" || planes[namespace] || namespace == gardenNamespace || strings.HasPrefix(namespace, "shoot--") {
			own = append(own, o)
		} else {
			foreign = append(foreign, o)
		}
	}
	return own, foreign
}

// planes returns the namespaces of control planes according to the options and manifests.
func (in Input) planes() map[string]bool {
	planes := map[string]bool{in.Options.Namespace: true}
	for _, o := range in.Objects {
		switch {
		case o.Is(extensionsGroup, "Cluster"):
			planes[o.Name] = true
		case o.Is(coreGroup, "Shoot"):
			if adopted, err := (Options{}).Adopt(o.JSON); err == nil { // the error is found where Shoots are sorted
				planes[adopted.Namespace] = true
			}
		case o.Is("", "Namespace"):
			planes[o.Name] = planes[o.Name] || hasProvider(o)
		}
	}
	return planes
}

// hasProvider reports whether a Namespace has a label by which providers' webhooks select it.
func hasProvider(namespace manifest.Object) bool {
	read, err := namespaceOf(namespace.JSON)
	return err == nil && (read.Labels["shoot.gardener.cloud/provider"] != "" || read.Labels["seed.gardener.cloud/provider"] != "")
}

// LeftOut describes the number of foreign objects and their namespaces.
func LeftOut(foreign []manifest.Object) string {
	const most = 5
	var names []string
	seen := map[string]bool{}
	for _, o := range foreign {
		name := o.Namespace
		if o.Is("", "Namespace") {
			name = o.Name
		}
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	if more := len(names) - most; more > 1 {
		names = append(names[:most], fmt.Sprintf("%d others", more))
	}
	objects := fmt.Sprintf("%d objects", len(foreign))
	if len(foreign) == 1 {
		objects = "1 object"
	}
	last := len(names) - 1
	if last == 0 {
		return objects + " of the namespace " + names[0] + ", which is no control plane"
	}
	return objects + " of the namespaces " + strings.Join(names[:last], ", ") + " and " + names[last] + ", which are no control planes"
}
