// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/rule"
	"github.com/graft-provider/gardener-extension-provider-graft/test/interpreter/dispatch"
)

// uid is the UID of all requests.
const uid = "d36d2d1c-7a3c-4a7e-8a2e-5d7e6c1f0b9a"

// kind is the kind in all requests: one of Gardener's kinds with rules for all operations.
var kind = interpreter.Kind{Group: "machine.sapcloud.io", Version: "v1alpha1", Kind: "MachineDeployment"}

// asked are the measured operations, with Karmada's names.
var asked = []struct {
	operation interpreter.Operation
	name      string
}{
	{interpreter.Health, "InterpretHealth"},
	{interpreter.Status, "InterpretStatus"},
	{interpreter.Replicas, "InterpretReplica"},
	{interpreter.Aggregate, "AggregateStatus"},
	{interpreter.Retain, "Retain"},
	{interpreter.Dependencies, "InterpretDependency"},
	{interpreter.Revise, "ReviseReplica"},
}

// sizes are the sizes of the objects, in kB of 1000 bytes.
var sizes = []int{2, 20, 200}

// question is a request, and its encoded message.
type question struct {
	interpreter.Request
	body []byte
}

func newQuestion(program *rule.Program, operation interpreter.Operation, name string, kilobytes int) (question, error) {
	q := question{Request: interpreter.Request{Operation: operation, Kind: kind}}
	machines, err := newMachines(kilobytes*1000, 3)
	if err != nil {
		return q, err
	}
	message := &dispatch.MessageRequest{
		UID: uid, Kind: metav1.GroupVersionKind(kind), Name: machines.Name, Namespace: machines.Namespace, Operation: name,
		DesiredReplicas: &q.Replicas,
	}
	if q.Object, err = json.Marshal(machines); err != nil {
		return q, err
	}
	switch operation {
	case interpreter.Revise:
		q.Replicas = 5
	case interpreter.Retain:
		machines.Spec.Replicas = 4
		if q.Observed, err = json.Marshal(machines); err != nil {
			return q, err
		}
		message.ObservedObject = &runtime.RawExtension{Raw: q.Observed}
	case interpreter.Aggregate:
		if err := q.aggregated(program, machines); err != nil {
			return q, err
		}
		for _, m := range q.Members {
			message.AggregatedStatus = append(message.AggregatedStatus, dispatch.StatusItem{
				ClusterName: m.Cluster, Status: &runtime.RawExtension{Raw: m.Status}, Applied: m.Applied, Health: m.Health,
			})
		}
	}
	message.Object.Raw = q.Object
	q.body, err = json.Marshal(dispatch.ContextMessage{
		TypeMeta: metav1.TypeMeta{APIVersion: api.Group + "/" + api.Version, Kind: api.KindContext}, Request: message,
	})
	return q, err
}

// aggregated changes a request so that its status was aggregated before, and a replica in one of two members has become
// ready since.
func (q *question) aggregated(program *rule.Program, machines *machinev1alpha1.MachineDeployment) error {
	for _, cluster := range []string{"one", "two"} {
		status, err := reflected(machines)
		if err != nil {
			return err
		}
		q.Members = append(q.Members, interpreter.Member{Cluster: cluster, Status: status, Applied: true, Health: "Healthy"})
	}
	before, err := program.Interpret(context.Background(), q.Request)
	if err != nil {
		return err
	}
	patch, err := jsonpatch.DecodePatch(before.Patch)
	if err != nil {
		return err
	}
	if q.Object, err = patch.Apply(q.Object); err != nil {
		return err
	}
	machines.Status.ReadyReplicas++
	q.Members[1].Status, err = reflected(machines)
	return err
}

// reflected returns a member's reflected status of its machines, with the observed generation.
func reflected(machines *machinev1alpha1.MachineDeployment) (json.RawMessage, error) {
	raw, err := json.Marshal(machines.Status)
	if err != nil {
		return nil, err
	}
	var status map[string]any
	if err := json.Unmarshal(raw, &status); err != nil {
		return nil, err
	}
	status["generation"], status["resourceTemplateGeneration"] = machines.Generation, machines.Generation
	return json.Marshal(status)
}

// newMachines returns machines whose object has about the given number of bytes, without managedFields, which Karmada
// removes before its requests. Of the bytes above 2 kB, a tenth are failed machines, and the others are annotations of
// the machines.
func newMachines(size int, replicas int32) (*machinev1alpha1.MachineDeployment, error) {
	m := &machinev1alpha1.MachineDeployment{
		TypeMeta: metav1.TypeMeta{APIVersion: kind.Group + "/" + kind.Version, Kind: kind.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Name: "shoot--acme--live-worker-1-z1", Namespace: "shoot--acme--live", Generation: 7,
			Labels: map[string]string{"resourcetemplate.karmada.io/retain-replicas": "true"},
		},
		Spec: machinev1alpha1.MachineDeploymentSpec{
			Replicas: replicas, MinReadySeconds: 500,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": "worker-1-z1"}},
			Template: machinev1alpha1.MachineTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"name": "worker-1-z1"}},
				Spec: machinev1alpha1.MachineSpec{
					Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: "shoot--acme--live-worker-1-z1-4f1a2"},
					NodeTemplateSpec: machinev1alpha1.NodeTemplateSpec{
						ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"node.kubernetes.io/role": "node",
							"worker.gardener.cloud/pool": "worker-1"}},
						Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "acme.com/fast", Value: "true",
							Effect: corev1.TaintEffectNoSchedule}}},
					},
				},
			},
		},
		Status: machinev1alpha1.MachineDeploymentStatus{ObservedGeneration: 7, Replicas: 3, UpdatedReplicas: 3,
			ReadyReplicas: 3, AvailableReplicas: 3},
	}
	for _, name := range []machinev1alpha1.MachineDeploymentConditionType{machinev1alpha1.MachineDeploymentAvailable,
		machinev1alpha1.MachineDeploymentProgressing} {
		m.Status.Conditions = append(m.Status.Conditions, machinev1alpha1.MachineDeploymentCondition{
			Type: name, Status: machinev1alpha1.ConditionTrue, Reason: "MinimumReplicasAvailable",
			Message:        "Deployment has minimum availability.",
			LastUpdateTime: at(0), LastTransitionTime: at(0),
		})
	}
	return m, fill(m, size)
}

// fill adds failed machines and annotations until the object has its size.
func fill(m *machinev1alpha1.MachineDeployment, size int) error {
	failed, err := json.Marshal(failure(1000))
	if err != nil {
		return err
	}
	for i := range (size - 2000) / 10 / len(failed) {
		m.Status.FailedMachines = append(m.Status.FailedMachines, failure(1000+i))
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	m.Spec.Template.Annotations = map[string]string{}
	for i, length := 0, len(raw)+len(`,"annotations":{}`); length < size-20; i++ {
		key, value := fmt.Sprintf("acme.com/field-%04d", i), "what a controller notes"
		m.Spec.Template.Annotations[key] = value
		length += len(key) + len(value) + len(`"":"",`)
	}
	return nil
}

// failure returns a failed machine.
func failure(number int) *machinev1alpha1.MachineSummary {
	name := fmt.Sprintf("shoot--acme--live-worker-1-z1-%d", number)
	return &machinev1alpha1.MachineSummary{
		Name: name, ProviderID: "acme:///eu-1/" + name, OwnerRef: "shoot--acme--live-worker-1-z1-4f1a2",
		LastOperation: machinev1alpha1.LastOperation{
			Description: "Creating the machine failed: the quota of the region is used up",
			State:       machinev1alpha1.MachineStateFailed,
			Type:        machinev1alpha1.MachineOperationCreate, LastUpdateTime: at(number),
		},
	}
}

func at(minute int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 3, 1, 10, minute, 0, 0, time.UTC))
}
