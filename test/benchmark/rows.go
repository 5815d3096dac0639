// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// row has one path and one body, with the measurements.
type row struct {
	name, path string
	body       []byte
	// others alternate with body, if there are any.
	others []other
	// sent is the number of others that were sent.
	sent atomic.Int64
	// floor is the base of comparison; nil for a floor.
	floor *row
	// patches reports whether the answer has a patch.
	patches bool

	rounds []round
	// latencies are the durations of all calls with one caller.
	latencies []time.Duration
}

// round has the measurements of one round.
type round struct {
	perOp, cpu    time.Duration
	allocs, bytes float64
	rate          float64 // requests per second with eight callers
	ratio         float64 // of the times of the row and of its floor, which are called in turn
}

// prepare creates the rows and sends each once: it checks the response, and whether it has a patch. A floor is measured
// with the body of the rows that it is the base of.
func prepare(ctx context.Context, s server, folder string, chosen *regexp.Regexp) ([]*row, error) {
	var rows []*row
	for _, group := range groups {
		toEdit, _, err := group.bodies(ctx, s, folder, group.paths[0])
		if err != nil {
			return nil, err
		}
		f0 := &row{name: "F0 " + group.name, path: "/f0", body: toEdit}
		f1 := &row{name: "F1 " + group.name, path: "/f1", body: toEdit}
		f2 := &row{name: "F2 " + group.name, path: "/f2", body: toEdit, floor: f1}
		f0.floor = f1
		rows = append(rows, f0, f1)
		answer, err := s.call(ctx, group.paths[0].path, toEdit)
		if err != nil {
			return nil, err
		}
		candidates := []*row{f2, {
			name: fmt.Sprintf("F1 %s, with an answer of %d bytes", group.name, len(answer)),
			path: fmt.Sprintf("/f1/%d", len(answer)), body: toEdit, floor: f1, patches: true,
		}}
		for _, way := range group.paths {
			toEdit, conforming, err := group.bodies(ctx, s, folder, way)
			if err != nil {
				return nil, err
			}
			candidates = append(candidates,
				&row{name: way.name + ", " + group.name + ", edits", path: way.path, body: toEdit, floor: f1, patches: true},
				&row{name: way.name + ", " + group.name + ", conforming", path: way.path, body: conforming, floor: f1})
		}
		if group.resource == "operatingsystemconfigs" {
			another, err := group.anotherEachTime(ctx, s, folder)
			if err != nil {
				return nil, err
			}
			// The floor of this row receives the same bodies in turn.
			another.floor = &row{name: f1.name + ", another content each time", path: f1.path, body: another.body,
				others: another.others}
			rows = append(rows, another.floor)
			candidates = append(candidates, another)
		}
		for _, r := range candidates {
			if chosen.MatchString(r.name) {
				rows = append(rows, r)
			}
		}
	}
	for _, r := range rows {
		if err := r.check(ctx, s); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// group is an object with its measured paths.
type group struct {
	name, file, resource string
	paths                []way
}

// way is a path with its name in the table.
type way struct{ name, path string }

var groups = []group{
	{
		name: "Deployment", file: "kube-apiserver.json", resource: "deployments",
		paths: []way{
			{"Graft", "/webhooks/controlplane/edits"},
			{"Graft with Cluster", "/webhooks/controlplane/cluster"},
			{"Graft with Cluster, 60 rules", "/webhooks/controlplane/sixty"},
			{"Graft with Cluster, one of 50 profiles", "/fifty/webhooks/controlplane/cluster"},
			{"Gardener's library", "/gardener"},
			{"Gardener's library with Cluster", "/gardener-cluster"},
		},
	},
	{
		name: "OperatingSystemConfig", file: "operatingsystemconfig.json", resource: "operatingsystemconfigs",
		paths: []way{
			{"Graft", "/webhooks/controlplane/edits"},
			{"Graft with Cluster", "/webhooks/controlplane/cluster"},
			{"Gardener's library with Cluster", "/gardener"}, // always reads the Cluster for this kind
		},
	},
}

// bodies returns the reviews of an update by gardenlet, with the edits of the given way. gardenlet resets its own
// fields by a merge patch: the object has no edits, and the old object has them. Fields that are not reset have the
// edits in both.
func (g group) bodies(ctx context.Context, s server, folder string, w way) (toEdit, conforming []byte, err error) {
	raw, err := os.ReadFile(filepath.Join(folder, g.file))
	if err != nil {
		return nil, nil, err
	}
	raw = bytes.TrimSpace(raw)
	return g.reviews(ctx, s, raw, w)
}

// reviews returns the bodies for an object.
func (g group) reviews(ctx context.Context, s server, raw []byte, w way) (toEdit, conforming []byte, err error) {
	first, err := g.review(raw, raw)
	if err != nil {
		return nil, nil, err
	}
	answer, err := s.ask(ctx, w.path, first)
	if err != nil {
		return nil, nil, err
	}
	patch, err := jsonpatch.DecodePatch(answer.Patch)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: decoding the patch for %s: %w (%+v)", w.name, g.name, err, answer.Result)
	}
	mutated, err := patch.Apply(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("applying the patch: %w", err)
	}
	if toEdit, err = g.review(raw, mutated); err != nil {
		return nil, nil, err
	}
	conforming, err = g.review(mutated, mutated)
	return toEdit, conforming, err
}

// review returns an AdmissionReview as kube-apiserver writes it.
func (g group) review(object, old []byte) ([]byte, error) {
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON(object); err != nil {
		return nil, err
	}
	kind := metav1.GroupVersionKind(u.GroupVersionKind())
	resource := metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: g.resource}
	return json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "d36d2d1c-7a3c-4a7e-8a2e-5d7e6c1f0b9a", Kind: kind, RequestKind: &kind, Resource: resource,
			RequestResource: &resource,
			Name:            u.GetName(), Namespace: u.GetNamespace(), Operation: admissionv1.Update,
			Object: runtime.RawExtension{Raw: object}, OldObject: runtime.RawExtension{Raw: old}, DryRun: ptr.To(false),
			Options: runtime.RawExtension{Raw: []byte(`{"kind":"PatchOptions","apiVersion":"meta.k8s.io/v1",` +
				`"fieldManager":"gardenlet"}`)},
		},
	})
}

func (r *row) check(ctx context.Context, s server) error {
	answer, err := s.ask(ctx, r.path, r.body)
	if err != nil {
		return fmt.Errorf("asking for %s: %w", r.name, err)
	}
	if !answer.Allowed || (len(answer.Patch) > 0) != r.patches {
		return fmt.Errorf("%s: allowed is %t, and the patch is %s (%+v)", r.name, answer.Allowed, answer.Patch, answer.Result)
	}
	return nil
}
