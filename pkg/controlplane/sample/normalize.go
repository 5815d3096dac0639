// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"encoding/base64"
	"fmt"
	"strings"

	"k8s.io/component-base/version"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
)

const (
	// timestamp replaces the time of writing.
	timestamp = "2025-01-01T00:00:00Z"
	// gardenerVersion replaces the version of gardenlet, which components take from the program into which they are
	// linked. It is the version of the library.
	gardenerVersion = "v1.136.2"
)

// normalize replaces the two things that components take from their surroundings: the clock, and the version of the
// program, which is in the paths and texts of the node agent.
func normalize(o client.Object) error {
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

// replaceVersion knows the version by the name of the node agent's file, so that no other version is taken for it.
func replaceVersion(s string) string {
	return strings.ReplaceAll(s, "config-"+version.Get().GitVersion+".yaml", "config-"+gardenerVersion+".yaml")
}
