// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// The messages as callers have them. They are written down here a second time, beside the codec that answers, so that it is not measured by itself.

// ContextMessage is the ResourceInterpreterContext that Karmada ships.
type ContextMessage struct {
	metav1.TypeMeta `json:",inline"`
	Request         *MessageRequest  `json:"request,omitempty"`
	Response        *ContextResponse `json:"response,omitempty"`
}

// ReviewMessage is the ExploreReview of the proposal.
type ReviewMessage struct {
	metav1.TypeMeta `json:",inline"`
	Request         *MessageRequest `json:"request,omitempty"`
	Response        *ReviewResponse `json:"response,omitempty"`
}

// MessageRequest is that of both dialects. The proposal has no observedObject; without one nothing can be retained, so that it is sent all the same.
type MessageRequest struct {
	UID              types.UID               `json:"uid"`
	Kind             metav1.GroupVersionKind `json:"kind"`
	Name             string                  `json:"name"`
	Namespace        string                  `json:"namespace,omitempty"`
	Operation        string                  `json:"operation"`
	Object           runtime.RawExtension    `json:"object,omitempty"`
	ObservedObject   *runtime.RawExtension   `json:"observedObject,omitempty"`
	DesiredReplicas  *int32                  `json:"replicas,omitempty"`
	AggregatedStatus []StatusItem            `json:"aggregatedStatus,omitempty"`
}

// StatusItem is what a member cluster says. The proposal has no health.
type StatusItem struct {
	ClusterName    string                `json:"clusterName"`
	Status         *runtime.RawExtension `json:"status,omitempty"`
	Applied        bool                  `json:"applied,omitempty"`
	AppliedMessage string                `json:"appliedMessage,omitempty"`
	Health         string                `json:"health,omitempty"`
}

// ContextResponse is the answer in a ResourceInterpreterContext.
type ContextResponse struct {
	UID                 types.UID             `json:"uid"`
	Successful          bool                  `json:"successful"`
	Status              *ResponseStatus       `json:"status,omitempty"`
	Patch               []byte                `json:"patch,omitempty"`
	PatchType           *string               `json:"patchType,omitempty"`
	ReplicaRequirements *Requirements         `json:"replicaRequirements,omitempty"`
	Replicas            *int32                `json:"replicas,omitempty"`
	Components          []Component           `json:"components,omitempty"`
	Dependencies        []Dependency          `json:"dependencies,omitempty"`
	RawStatus           *runtime.RawExtension `json:"rawStatus,omitempty"`
	Healthy             *bool                 `json:"healthy,omitempty"`
}

// ResponseStatus says why there is no answer.
type ResponseStatus struct {
	Message string `json:"message,omitempty"`
	Code    int32  `json:"code,omitempty"`
}

// Requirements are what each replica needs.
type Requirements struct {
	NodeClaim         *NodeClaim          `json:"nodeClaim,omitempty"`
	ResourceRequest   corev1.ResourceList `json:"resourceRequest,omitempty"`
	Namespace         string              `json:"namespace,omitempty"`
	PriorityClassName string              `json:"priorityClassName,omitempty"`
}

// NodeClaim says which nodes a replica fits on.
type NodeClaim struct {
	HardNodeAffinity *corev1.NodeSelector `json:"hardNodeAffinity,omitempty"`
	NodeSelector     map[string]string    `json:"nodeSelector,omitempty"`
	Tolerations      []corev1.Toleration  `json:"tolerations,omitempty"`
}

// Component is a part of a workload.
type Component struct {
	Name                string        `json:"name"`
	Replicas            int32         `json:"replicas"`
	ReplicaRequirements *Requirements `json:"replicaRequirements,omitempty"`
}

// Dependency is an object that must come along.
type Dependency struct {
	APIVersion    string                `json:"apiVersion"`
	Kind          string                `json:"kind"`
	Namespace     string                `json:"namespace,omitempty"`
	Name          string                `json:"name,omitempty"`
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// ReviewResponse is the answer in an ExploreReview.
type ReviewResponse struct {
	UID                 types.UID             `json:"uid"`
	Patch               []byte                `json:"patch,omitempty"`
	PatchType           *string               `json:"patchType,omitempty"`
	ReplicaRequirements *ReviewRequirements   `json:"replicaRequirements,omitempty"`
	Replicas            *int32                `json:"replicas,omitempty"`
	Dependencies        []ReviewDependency    `json:"dependencies,omitempty"`
	Status              *runtime.RawExtension `json:"status,omitempty"`
	Healthy             *bool                 `json:"healthy,omitempty"`
}

// ReviewRequirements are what the proposal knows of the needs of a replica.
type ReviewRequirements struct {
	NodeClaim       *NodeClaim          `json:"nodeClaim,omitempty"`
	ResourceRequest corev1.ResourceList `json:"resourceRequest,omitempty"`
}

// ReviewDependency is an object that must come along; the proposal names it always.
type ReviewDependency struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// DeepCopyObject implements runtime.Object. Messages are made for one call, and written to by nobody else: what they hold is shared.
func (m *ContextMessage) DeepCopyObject() runtime.Object {
	copied := *m
	return &copied
}

// DeepCopyObject implements runtime.Object, as that of ContextMessage does.
func (m *ReviewMessage) DeepCopyObject() runtime.Object {
	copied := *m
	return &copied
}
