// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/Masterminds/semver/v3"
	druidcorev1alpha1 "github.com/gardener/etcd-druid/api/core/v1alpha1"
	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	vpaautoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"github.com/gardener/gardener/extensions/pkg/webhook/controlplane/genericmutator"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	"github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/original/components/kubelet"
	oscutils "github.com/gardener/gardener/pkg/component/extensions/operatingsystemconfig/utils"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/test/golden"
	"github.com/graft-provider/gardener-extension-provider-graft/test/samples"
)

// subject is an object on its way into the API server; old is nil while it is being created.
type subject struct {
	sample.Object

	raw, old []byte
}

// outcome is the object as the API server would store it, or why it was denied.
type outcome struct {
	object []byte
	denied string
}

// sides are the two ways to make the edits, for one shoot.
type sides struct {
	handler admission.Handler
	program *mutation.Program
	facts   *facts.Static
	// changed collects the rules of the profile that have changed an object.
	changed map[string]bool
}

func newSides(t *testing.T, options sample.Options, changed map[string]bool) *sides {
	t.Helper()
	cluster, err := sample.Cluster(options)
	if err != nil {
		t.Fatal(err)
	}
	found, err := samples.Facts(options)
	if err != nil {
		t.Fatal(err)
	}
	return &sides{handler: newHandler(t, cluster), program: newProgram(t), facts: &facts.Static{Facts: found},
		changed: changed}
}

// newHandler is the handler of an extension that is built on Gardener's library.
func newHandler(t *testing.T, cluster *extensionsv1alpha1.Cluster) admission.Handler {
	t.Helper()
	mgr := clusterManager{client: clusterClient{cluster: cluster}}
	codec := oscutils.NewFileContentInlineCodec()
	mutator := genericmutator.NewMutator(mgr, &ensurer{}, oscutils.NewUnitSerializer(), kubelet.NewConfigCodec(codec),
		codec, logr.Discard())
	handler, err := extensionswebhook.NewBuilder(mgr, logr.Discard()).WithMutator(mutator,
		extensionswebhook.Type{Obj: &appsv1.Deployment{}}, extensionswebhook.Type{Obj: &appsv1.StatefulSet{}},
		extensionswebhook.Type{Obj: &vpaautoscalingv1.VerticalPodAutoscaler{}},
		extensionswebhook.Type{Obj: &druidcorev1alpha1.Etcd{}},
		extensionswebhook.Type{Obj: &extensionsv1alpha1.OperatingSystemConfig{}}).Build()
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// clusterManager is the part of a manager that the library needs to build a handler.
type clusterManager struct {
	manager.Manager

	client client.Client
}

func (m clusterManager) GetScheme() *runtime.Scheme { return kubernetes.SeedScheme }
func (m clusterManager) GetClient() client.Client   { return m.client }

// clusterClient reads the one Cluster.
type clusterClient struct {
	client.Client

	cluster *extensionsv1alpha1.Cluster
}

func (c clusterClient) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.cluster.DeepCopyInto(into.(*extensionsv1alpha1.Cluster))
	return nil
}

func newProgram(t *testing.T) *mutation.Program {
	t.Helper()
	// Of these versions no feature gates are known, so that the profile may set one that is locked in some.
	served, err := semver.NewConstraint("< 1.31")
	if err != nil {
		t.Fatal(err)
	}
	return golden.Compile(t, compiler.Options{Generation: contract.Today, Kubernetes: served}, "testdata/profile.yaml")
}

// labelled is the object selector with which extensions register the webhook for the shoot's provider. That for the
// seed's provider, which mutates the Etcds, has none.
var labelled = labels.SelectorFromSet(labels.Set{
	v1beta1constants.LabelExtensionProviderMutatedByControlplaneWebhook: "true"})

// gardener sends the object to the handler of Gardener's library and applies its patch, as an API server does.
func (s *sides) gardener(t *testing.T, o subject) outcome {
	t.Helper()
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(o.raw, &meta); err != nil {
		t.Fatal(err)
	}
	if setOf(o) == target.ControlPlane && !labelled.Matches(labels.Set(meta.Labels)) {
		return outcome{object: o.raw}
	}
	gvk := meta.GroupVersionKind()
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind(gvk), Name: meta.Name, Namespace: meta.Namespace,
		Operation: admissionv1.Operation(operation(o)),
		Object:    runtime.RawExtension{Raw: o.raw}, OldObject: runtime.RawExtension{Raw: o.old},
	}}
	response := s.handler.Handle(t.Context(), request)
	if !response.Allowed {
		return outcome{denied: response.Result.Message}
	}
	if len(response.Patches) == 0 {
		return outcome{object: o.raw}
	}
	patch, err := json.Marshal(response.Patches)
	if err != nil {
		t.Fatal(err)
	}
	return outcome{object: golden.Apply(t, o.raw, patch)}
}

// graft takes the object through the engine.
func (s *sides) graft(t *testing.T, o subject) outcome {
	t.Helper()
	gvk, namespace := o.Object.Object.GetObjectKind().GroupVersionKind(), o.Object.Object.GetNamespace()
	garden, provider := namespace == target.GardenNamespace, "openstack"
	if garden {
		provider = ""
	}
	result, err := s.program.Admit(t.Context(), mutation.Request{
		Set: setOf(o), Provider: provider, Garden: garden, Operation: operation(o),
		Namespace: namespace, Name: o.Object.Object.GetName(),
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Object: o.raw, OldObject: o.old,
	}, s.facts)
	if err != nil {
		return outcome{denied: err.Error()}
	}
	for _, applied := range result.Applied {
		if applied.Outcome == mutation.Changed {
			s.changed[applied.Rule] = true
		}
	}
	if result.Patch == nil {
		return outcome{object: o.raw}
	}
	return outcome{object: golden.Apply(t, o.raw, result.Patch)}
}

func setOf(o subject) target.Set {
	if o.Target == "etcd-main" || o.Target == "etcd-events" {
		return target.Exposure
	}
	return target.ControlPlane
}

func operation(o subject) string {
	if o.old != nil {
		return "UPDATE"
	}
	return "CREATE"
}
