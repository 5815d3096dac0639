// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package gardener_test

import (
	"encoding/json"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/snapshot/gardener"
)

// TestSimilarPlanes tests that control planes that share objects are as those that are generated alone.
func TestSimilarPlanes(t *testing.T) {
	all := []snapshot.Options{
		{Provider: "acme"},
		{Provider: "other", BackupProvider: "third", InfrastructureConfig: []byte(`{"kind":"A"}`), CloudProfileConfig: []byte(`{"kind":"B"}`)},
		{Provider: "other", SeedProvider: "fourth", ControlPlaneConfig: []byte(`{"kind":"C"}`), Seed: []byte(`{"metadata":{"labels":{"a":"b"}}}`)},
		{Provider: "acme", Workerless: true}, {Provider: "other", Workerless: true},
		{Provider: "other", Shoot: []byte(`{"spec":{"kubernetes":{"kubeAPIServer":{"eventTTL":"2h"}}}}`)},
	}
	together, err := gardener.Generator{}.Generate(t.Context(), all...)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range all {
		options := sample.Options{Provider: o.Provider, SeedProvider: o.SeedProvider, BackupProvider: o.BackupProvider, Workerless: o.Workerless}
		if o.Shoot != nil {
			options.Edit = func(shoot *gardencorev1beta1.Shoot) {
				shoot.Spec.Kubernetes.KubeAPIServer.EventTTL = &metav1.Duration{Duration: 2 * time.Hour}
			}
		}
		alone, err := sample.ControlPlane(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		var want []json.RawMessage
		for _, object := range alone {
			want = append(want, object.JSON)
		}
		if diff := cmp.Diff(want, together[i].Objects); diff != "" {
			t.Errorf("options %d (-alone +together):\n%s", i, diff)
		}
	}
}

func TestUnknownFields(t *testing.T) {
	for written, want := range map[string]struct{ field, message string }{
		`{"shoot":{"spec":{"region":"x","kubernetes":null}}}`: {},
		`{"shoot":{"spec":{"regoin":"x"}}}`:                   {"shoot.spec.regoin", `unknown field "shoot.spec.regoin" (did you mean "region"?)`},
		`{"shoot":{"spec":{"provider":{"workers":[{"machin":{}}]}}}}`: {
			"shoot.spec.provider.workers[0].machin", `unknown field "shoot.spec.provider.workers[0].machin" (did you mean "machine"?)`,
		},
		`{"seed":{"spec":{"provider":{"tpye":"x"}}}}`:   {"seed.spec.provider.tpye", `unknown field "seed.spec.provider.tpye" (did you mean "type"?)`},
		`{"cloudProfile":{"spec":{"qqqqqqqqqqqqq":1}}}`: {"cloudProfile.spec.qqqqqqqqqqqqq", `unknown field "cloudProfile.spec.qqqqqqqqqqqqq"`},
		`{"shoot":{"metadata":{"annotation":{}}}}`:      {"shoot.metadata.annotation", `unknown field "shoot.metadata.annotation" (did you mean "annotations"?)`},
	} {
		planes, err := gardener.Generator{}.Generate(t.Context(), snapshot.Options{Written: []byte(written)})
		if err != nil || planes[0].Field != want.field || planes[0].Error != want.message {
			t.Errorf("%s: got field %q and error %q (%v), want %+v", written, planes[0].Field, planes[0].Error, err, want)
		}
	}
}
