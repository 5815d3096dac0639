// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestMemoryLimit checks that GOMEMLIMIT is four fifths of the container's memory limit, that it is absent without one,
// and that there is a limit by default.
func TestMemoryLimit(t *testing.T) {
	limited := 0
	for _, o := range all(t) {
		if o.chart == "graft-profiles" {
			continue
		}
		t.Run(o.String(), func(t *testing.T) {
			for _, object := range o.render(t, "default") {
				if kind := object.GetKind(); kind != "Deployment" && kind != "DaemonSet" {
					continue
				}
				for _, container := range template(t, object).Spec.Containers {
					want := ""
					if limit, ok := container.Resources.Limits[corev1.ResourceMemory]; ok {
						limited++
						want = strconv.FormatFloat(limit.AsApproximateFloat64()*0.8, 'f', 0, 64)
					}
					got := ""
					for _, variable := range container.Env {
						if variable.Name == "GOMEMLIMIT" {
							got = variable.Value
						}
					}
					if got != want {
						t.Errorf("%s: GOMEMLIMIT is %q, want %q", container.Name, got, want)
					}
				}
			}
		})
	}
	if limited < 8 {
		t.Errorf("%d containers have a limit", limited)
	}
}
