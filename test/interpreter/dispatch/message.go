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

// These are the messages from the caller's view. They are declared separately from the server's codec, so that
// tests do not compare the codec with itself.

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

// MessageRequest is the request of both dialects. The proposal has no observedObject, but it is sent, because
// Retain needs it.
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

// StatusItem is the status in a member cluster. The proposal has no health.
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

// ResponseStatus explains a failure.
type ResponseStatus struct {
	Message string `json:"message,omitempty"`
	Code    int32  `json:"code,omitempty"`
}

// Requirements are the needs of each replica.
type Requirements struct {
	NodeClaim         *NodeClaim          `json:"nodeClaim,omitempty"`
	ResourceRequest   corev1.ResourceList `json:"resourceRequest,omitempty"`
	Namespace         string              `json:"namespace,omitempty"`
	PriorityClassName string              `json:"priorityClassName,omitempty"`
}

// NodeClaim selects nodes for replicas.
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

// Dependency is an object that must be propagated too.
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

// ReviewRequirements are the needs of a replica that the proposal can express.
type ReviewRequirements struct {
	NodeClaim       *NodeClaim          `json:"nodeClaim,omitempty"`
	ResourceRequest corev1.ResourceList `json:"resourceRequest,omitempty"`
}

// ReviewDependency is an object that must be propagated too. In the proposal, it always has a name.
type ReviewDependency struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// DeepCopyObject implements runtime.Object. The copy is shallow: messages are made for one call, and nothing
// else changes them.
func (m *ContextMessage) DeepCopyObject() runtime.Object {
	copied := *m
	return &copied
}

// DeepCopyObject implements runtime.Object, as that of ContextMessage does.
func (m *ReviewMessage) DeepCopyObject() runtime.Object {
	copied := *m
	return &copied
}
