// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package operation

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// Mounts calls a function with each volume that the write mounts, as far as they are known when the profile is loaded, and where that stands.
func (w Write) Mounts(each func(volume string, at source.Node, path string)) {
	if constant, ok := w.Value.Constant(); ok && constant.Absent {
		return
	}
	switch w.Place.Kind {
	case VolumeMount:
		each(w.Place.Name, w.At, w.Path)
	case Container, InitContainer:
		visit(w.At, w.Path, "volumeMounts[].name", func(n source.Node, at string) { each(n.Value, n, at) })
	}
}
