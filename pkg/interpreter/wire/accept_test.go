// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/wire"
)

// The messages as clients have them, and what they accept. They are written down here a second time, so that the codec is not measured by itself.

// contextMessage is Karmada's ResourceInterpreterContext.
type contextMessage struct {
	metav1.TypeMeta `json:",inline"`
	Request         *messageRequest  `json:"request,omitempty"`
	Response        *contextResponse `json:"response,omitempty"`
}

// messageRequest is that of both dialects; the proposal has no observedObject.
type messageRequest struct {
	UID              types.UID               `json:"uid"`
	Kind             metav1.GroupVersionKind `json:"kind"`
	Name             string                  `json:"name"`
	Namespace        string                  `json:"namespace,omitempty"`
	Operation        string                  `json:"operation"`
	Object           runtime.RawExtension    `json:"object,omitempty"`
	ObservedObject   *runtime.RawExtension   `json:"observedObject,omitempty"`
	DesiredReplicas  *int32                  `json:"replicas,omitempty"`
	AggregatedStatus []statusItem            `json:"aggregatedStatus,omitempty"`
}

type statusItem struct {
	ClusterName    string                `json:"clusterName"`
	Status         *runtime.RawExtension `json:"status,omitempty"`
	Applied        bool                  `json:"applied,omitempty"`
	AppliedMessage string                `json:"appliedMessage,omitempty"`
	Health         string                `json:"health,omitempty"`
}

type contextResponse struct {
	UID        types.UID `json:"uid"`
	Successful bool      `json:"successful"`
	Status     *struct {
		Message string `json:"message,omitempty"`
		Code    int32  `json:"code,omitempty"`
	} `json:"status,omitempty"`
	Patch               []byte                `json:"patch,omitempty"`
	PatchType           *string               `json:"patchType,omitempty"`
	ReplicaRequirements *requirements         `json:"replicaRequirements,omitempty"`
	Replicas            *int32                `json:"replicas,omitempty"`
	Components          []component           `json:"components,omitempty"`
	Dependencies        []dependency          `json:"dependencies,omitempty"`
	RawStatus           *runtime.RawExtension `json:"rawStatus,omitempty"`
	Healthy             *bool                 `json:"healthy,omitempty"`
}

type requirements struct {
	NodeClaim         *claim              `json:"nodeClaim,omitempty"`
	ResourceRequest   corev1.ResourceList `json:"resourceRequest,omitempty"`
	Namespace         string              `json:"namespace,omitempty"`
	PriorityClassName string              `json:"priorityClassName,omitempty"`
}

type claim struct {
	HardNodeAffinity *corev1.NodeSelector `json:"hardNodeAffinity,omitempty"`
	NodeSelector     map[string]string    `json:"nodeSelector,omitempty"`
	Tolerations      []corev1.Toleration  `json:"tolerations,omitempty"`
}

type component struct {
	Name                string        `json:"name"`
	Replicas            int32         `json:"replicas"`
	ReplicaRequirements *requirements `json:"replicaRequirements,omitempty"`
}

type dependency struct {
	APIVersion    string                `json:"apiVersion"`
	Kind          string                `json:"kind"`
	Namespace     string                `json:"namespace,omitempty"`
	Name          string                `json:"name,omitempty"`
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// reviewMessage is the proposal's ExploreReview.
type reviewMessage struct {
	metav1.TypeMeta `json:",inline"`
	Request         *messageRequest `json:"request,omitempty"`
	Response        *reviewResponse `json:"response,omitempty"`
}

type reviewResponse struct {
	UID                 types.UID             `json:"uid"`
	Patch               []byte                `json:"patch,omitempty"`
	PatchType           *string               `json:"patchType,omitempty"`
	ReplicaRequirements *reviewRequirements   `json:"replicaRequirements,omitempty"`
	Replicas            *int32                `json:"replicas,omitempty"`
	Dependencies        []reviewDependency    `json:"dependencies,omitempty"`
	Status              *runtime.RawExtension `json:"status,omitempty"`
	Healthy             *bool                 `json:"healthy,omitempty"`
}

type reviewRequirements struct {
	NodeClaim       *claim              `json:"nodeClaim,omitempty"`
	ResourceRequest corev1.ResourceList `json:"resourceRequest,omitempty"`
}

type reviewDependency struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// verify holds that a client accepts an answer to a request, and finds no field in it that it does not know.
func verify(kind string, request map[string]any, status int, answer []byte) error {
	uid, _ := request["uid"].(string)
	operation, _ := request["operation"].(string)
	if status != http.StatusOK {
		if kind == wire.KindContext {
			return errors.New("what Karmada is answered has the status 200")
		}
		return nil
	}
	if kind == wire.KindReview {
		var m reviewMessage
		if err := strictly(answer, &m); err != nil {
			return err
		}
		return acceptReview(uid, operation, m.Response)
	}
	var m contextMessage
	if err := strictly(answer, &m); err != nil {
		return err
	}
	return acceptContext(uid, operation, m.Response)
}

func strictly(raw []byte, into any) error {
	strict, err := kjson.UnmarshalStrict(raw, into)
	return errors.Join(append(strict, err)...)
}

// acceptContext are the rules of Karmada's client, each of them.
func acceptContext(uid, operation string, r *contextResponse) error {
	switch {
	case r == nil:
		return errors.New("there is no response")
	case string(r.UID) != uid:
		return fmt.Errorf("the uid is %q", r.UID)
	case !r.Successful && r.Status == nil:
		return errors.New("without success there must be a status")
	case !r.Successful && (r.Status.Message == "" || r.Status.Code == 0):
		return errors.New("a status must have a message and a code")
	case !r.Successful:
		return nil
	}
	switch operation {
	case "InterpretReplica":
		if r.Replicas == nil {
			return errors.New("there are no replicas")
		}
	case "InterpretComponent":
		for _, c := range r.Components {
			if c.Name == "" || len(c.Name) > 32 || c.Replicas < 0 {
				return fmt.Errorf("the component %q is not valid", c.Name)
			}
		}
	case "InterpretDependency":
		for _, d := range r.Dependencies {
			if d.APIVersion == "" || d.Kind == "" || d.Name == "" && d.LabelSelector == nil {
				return fmt.Errorf("the dependency %+v is not valid", d)
			}
		}
	case "Prune", "ReviseReplica", "Retain", "AggregateStatus":
		return acceptPatch(r.Patch, r.PatchType)
	case "InterpretStatus":
		if r.RawStatus == nil {
			return errors.New("there is no status")
		}
	case "InterpretHealth":
		if r.Healthy == nil {
			return errors.New("there is no health")
		}
	default:
		return fmt.Errorf("there is no operation %q", operation)
	}
	return nil
}

// acceptReview is what the proposal says of its response.
func acceptReview(uid, operation string, r *reviewResponse) error {
	switch {
	case r == nil:
		return errors.New("there is no response")
	case string(r.UID) != uid:
		return fmt.Errorf("the uid is %q", r.UID)
	case operation == "ExploreReplica" && (r.Replicas == nil || r.ReplicaRequirements == nil):
		return errors.New("replicas and replicaRequirements are required")
	case operation == "ExploreDependencies" && r.Dependencies == nil:
		return errors.New("dependencies are required")
	case operation == "ExploreStatus" && r.Status == nil:
		return errors.New("there is no status")
	case operation == "ExploreHealthy" && r.Healthy == nil:
		return errors.New("there is no health")
	}
	for _, d := range r.Dependencies {
		if d.APIVersion == "" || d.Kind == "" || d.Name == "" {
			return fmt.Errorf("the dependency %+v is not valid", d)
		}
	}
	return acceptPatch(r.Patch, r.PatchType)
}

// acceptPatch holds that there is a patch with its type, or neither.
func acceptPatch(patch []byte, kind *string) error {
	switch {
	case len(patch) == 0 && kind == nil:
		return nil
	case kind == nil || *kind != "JSONPatch" || len(patch) == 0:
		return errors.New("patch and patchType go together")
	}
	var operations []map[string]any
	return json.Unmarshal(patch, &operations)
}
