// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// TestAttributesAnnotation checks that the profiles take the same texts of the annotation for true as
// strconv.ParseBool, which the providers call.
func TestAttributesAnnotation(t *testing.T) {
	const version = "1.33.6"
	for _, provider := range []string{"aws", "azure", "gcp", "openstack"} {
		s := readSuite(t, provider)
		for _, text := range []string{
			"1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False", "yes", "on", "tRUE", " true", "",
		} {
			t.Run(fmt.Sprintf("%s/%q", provider, text), func(t *testing.T) {
				c := s.Cases[0]
				plain := c.subjects(t, version) // the objects do not depend on the annotation
				c.Annotations = map[string]string{
					provider + ".provider.extensions.gardener.cloud/enable-volume-attributes-class": text}
				r, found := newRun(t, &c, provider, version), false
				for _, s := range plain {
					if s.name == "kube-scheduler" && s.kind == "Deployment" {
						found = true
						patch, denied := r.admit(target.ControlPlane, s, s.object, nil)
						want, _ := strconv.ParseBool(text)
						if denied != nil || (patch != nil) != want {
							t.Errorf("the patch is %s (%v), and strconv.ParseBool returns %t", patch, denied, want)
						}
					}
				}
				if !found {
					t.Error("the sample has no kube-scheduler")
				}
			})
		}
	}
}
