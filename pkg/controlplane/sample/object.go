// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/version"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// Object is one object of a control plane, ready to be sent to an API server or to a webhook.
type Object struct {
	// Target is the name of the contract's target that the object is (target.Target.Subject), without the prefix of a
	// virtual garden, or "" if the contract does not name it.
	Target string
	// Object is the typed object with apiVersion and kind set. It belongs to the caller.
	Object client.Object
	// JSON is Object as JSON.
	JSON []byte
}

// newObject sets apiVersion and kind from the scheme, and encodes. prefix is the prefix of the virtual garden, or "".
func newObject(scheme *runtime.Scheme, prefix string, o client.Object) (Object, error) {
	gvk, err := apiutil.GVKForObject(o, scheme)
	if err != nil {
		return Object{}, fmt.Errorf("naming the kind of %q: %w", o.GetName(), err)
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	raw, err := json.Marshal(o)
	if err != nil {
		return Object{}, fmt.Errorf("encoding %s %q: %w", gvk.Kind, o.GetName(), err)
	}
	object := Object{Object: o, JSON: raw}
	if found, _ := target.Match(prefix != "", gvk.Group, gvk.Kind, o.GetName()); found != nil {
		object.Target = strings.TrimPrefix(found.Subject(), prefix)
	}
	return object, nil
}

// sortObjects orders by kind and name: the constructors write in parallel, and the order must not show that.
func sortObjects(objects []Object) {
	slices.SortFunc(objects, func(a, b Object) int {
		return cmp.Or(
			cmp.Compare(a.Object.GetObjectKind().GroupVersionKind().Kind, b.Object.GetObjectKind().GroupVersionKind().Kind),
			cmp.Compare(a.Object.GetName(), b.Object.GetName()),
		)
	})
}

const (
	// timestamp replaces the time of writing.
	timestamp = "2025-01-01T00:00:00Z"
	// gardenerVersion replaces the version of gardenlet, which components take from the program into which they are
	// linked. It is the version of the library.
	gardenerVersion = "v1.136.2"
)

// normalize removes the resource version, and replaces the two values that components take from their environment: the
// time, and the version of the program, which occurs in paths and texts of the node agent.
func normalize(o client.Object) error {
	o.SetResourceVersion("")
	if annotations := o.GetAnnotations(); annotations[v1beta1constants.GardenerTimestamp] != "" {
		annotations[v1beta1constants.GardenerTimestamp] = timestamp
	}
	config, ok := o.(*extensionsv1alpha1.OperatingSystemConfig)
	if !ok {
		return nil
	}
	for i := range config.Spec.Units {
		unit := &config.Spec.Units[i]
		if unit.Content != nil {
			unit.Content = ptr.To(replaceVersion(*unit.Content))
		}
		for j := range unit.FilePaths {
			unit.FilePaths[j] = replaceVersion(unit.FilePaths[j])
		}
	}
	for i := range config.Spec.Files {
		file := &config.Spec.Files[i]
		file.Path = replaceVersion(file.Path)
		if err := normalizeContent(file.Content.Inline); err != nil {
			return fmt.Errorf("normalizing file %q of %q: %w", file.Path, o.GetName(), err)
		}
	}
	return nil
}

func normalizeContent(content *extensionsv1alpha1.FileContentInline) error {
	switch {
	case content == nil:
	case content.Encoding == string(extensionsv1alpha1.B64FileCodecID):
		data, err := base64.StdEncoding.DecodeString(content.Data)
		if err != nil {
			return err
		}
		content.Data = base64.StdEncoding.EncodeToString([]byte(replaceVersion(string(data))))
	default:
		content.Data = replaceVersion(content.Data)
	}
	return nil
}

// replaceVersion recognizes the version by the file name of the node agent, so that it replaces no other version.
func replaceVersion(s string) string {
	return strings.ReplaceAll(s, "config-"+version.Get().GitVersion+".yaml", "config-"+gardenerVersion+".yaml")
}
