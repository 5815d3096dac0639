// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	"github.com/gardener/gardener/pkg/client/kubernetes"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts/cluster"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation/compiler"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// seedManager is as much of a manager as webhooks ask for when they are made.
type seedManager struct {
	manager.Manager

	client client.Client
}

func (m seedManager) GetScheme() *runtime.Scheme  { return kubernetes.SeedScheme }
func (m seedManager) GetClient() client.Client    { return m.client }
func (m seedManager) GetAPIReader() client.Reader { return m.client }
func (m seedManager) GetLogger() logr.Logger      { return logr.Discard() }

// newSeed is a seed with a shoot on acme.
func newSeed(t *testing.T, shoot sample.Options) manager.Manager {
	t.Helper()
	of, err := sample.Cluster(shoot)
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: of.Name, ResourceVersion: "1"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: of.Name, Name: "cloudprovider"}, Data: map[string][]byte{"zone": []byte("a-1")}}
	of.ResourceVersion, of.UID = "1", types.UID("1")
	return seedManager{client: fake.NewClientBuilder().WithScheme(kubernetes.SeedScheme).WithObjects(of, namespace, secret).Build()}
}

// TestSameAsEngine sends generated control planes through both webhooks of the library, and compares the meaning of the
// results with the engine's.
func TestSameAsEngine(t *testing.T) {
	for name, shoot := range map[string]sample.Options{
		"plain 1.34": {Kubernetes: "1.34.2"}, "plain 1.31": {Kubernetes: "1.31.14"}, "ha": {HighAvailability: true, Kubernetes: "1.33.6"},
		"workerless": {Workerless: true, Kubernetes: "1.32.10"},
	} {
		t.Run(name, func(t *testing.T) {
			shoot.Provider = provider
			mgr := newSeed(t, shoot)
			program, objects := engine(t), samples(t, shoot)
			changed := map[string]bool{}
			for _, hook := range webhooks(t, mgr) {
				for _, object := range objects {
					if !selects(hook, object) {
						continue
					}
					want := byEngine(t, mgr, program, hook.set, object.JSON)
					for _, o := range [][2][]byte{{object.JSON, nil}, {object.JSON, want}, {want, want}} {
						compare(t, object, byWebhook(t, hook, object, o[0], o[1]), want)
					}
					if !bytes.Equal(want, object.JSON) {
						changed[object.Target] = true
					}
				}
			}
			expectTargets(t, shoot, changed)
		})
	}
}

// hook is one of the two webhooks.
type hook struct {
	*extensionswebhook.Webhook

	set target.Set
}

func webhooks(t *testing.T, mgr manager.Manager) []hook {
	t.Helper()
	controlPlane, err := newControlPlane(mgr)
	if err != nil {
		t.Fatal(err)
	}
	seedProvider, err := newSeedProvider(mgr)
	if err != nil {
		t.Fatal(err)
	}
	return []hook{{controlPlane, target.ControlPlane}, {seedProvider, target.Exposure}}
}

// selects reports whether the API server would call the webhook for an object.
func selects(h hook, o sample.Object) bool {
	selector, err := metav1.LabelSelectorAsSelector(h.ObjectSelector)
	if h.ObjectSelector == nil {
		selector, err = labels.Everything(), nil
	}
	return err == nil && o.Target != "" && selector.Matches(labels.Set(o.Object.GetLabels())) &&
		slices.ContainsFunc(h.Types, func(listed extensionswebhook.Type) bool {
			gvks, _, err := kubernetes.SeedScheme.ObjectKinds(listed.Obj)
			return err == nil && slices.Contains(gvks, o.Object.GetObjectKind().GroupVersionKind()) ||
				listed.Obj.GetObjectKind().GroupVersionKind() == o.Object.GetObjectKind().GroupVersionKind()
		})
}

func samples(t *testing.T, shoot sample.Options) []sample.Object {
	t.Helper()
	objects, err := sample.ControlPlane(t.Context(), shoot)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func engine(t *testing.T) *mutation.Program {
	t.Helper()
	documents, err := load()
	if err != nil {
		t.Fatal(err)
	}
	program, err := compiler.Compile(documents, compiler.Options{Generation: contract.Today})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// byEngine returns the engine's result for a new object.
func byEngine(t *testing.T, mgr manager.Manager, program *mutation.Program, set target.Set, object []byte) []byte {
	t.Helper()
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(object, &meta); err != nil {
		t.Fatal(err)
	}
	gvk := meta.GroupVersionKind()
	result, err := program.Admit(t.Context(), mutation.Request{
		Set: set, Provider: provider, Operation: "CREATE", Namespace: meta.Namespace, Name: meta.Name,
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Object: object,
	}, cluster.New(mgr.GetClient(), mgr.GetAPIReader(), cluster.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return patched(t, object, result.Patch)
}

// byWebhook returns the webhook's result, with the patch applied.
func byWebhook(t *testing.T, h hook, o sample.Object, object, old []byte) []byte {
	t.Helper()
	operation := admissionv1.Create
	if old != nil {
		operation = admissionv1.Update
	}
	response := h.Webhook.Webhook.Handler.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind(o.Object.GetObjectKind().GroupVersionKind()), Name: o.Object.GetName(), Namespace: o.Object.GetNamespace(),
		Operation: operation, Object: runtime.RawExtension{Raw: object}, OldObject: runtime.RawExtension{Raw: old},
	}})
	if !response.Allowed {
		t.Fatalf("%s %s was denied: %s", o.Target, o.Object.GetName(), response.Result.Message)
	}
	if len(response.Patches) == 0 {
		return object
	}
	patch, err := json.Marshal(response.Patches)
	if err != nil {
		t.Fatal(err)
	}
	return patched(t, object, patch)
}

func patched(t *testing.T, object, patch []byte) []byte {
	t.Helper()
	if patch == nil {
		return object
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	out, err := decoded.Apply(object)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// expectTargets checks that the profile had something to do on each target that the shoot has.
func expectTargets(t *testing.T, shoot sample.Options, changed map[string]bool) {
	t.Helper()
	want := map[string]bool{"kube-controller-manager": true, "etcd-main": true, "etcd-events": true}
	gated := shoot.Kubernetes < "1.34"
	for name, there := range map[string]bool{
		"kube-apiserver": gated, "kube-scheduler": gated && !shoot.Workerless,
		"machine-controller-manager": !shoot.Workerless, "machine-controller-manager-vpa": !shoot.Workerless,
		"operatingsystemconfig": !shoot.Workerless,
		"vpn-seed-server":       !shoot.Workerless && !shoot.HighAvailability, // the other lacks the label that is selected
	} {
		if there {
			want[name] = true
		}
	}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("changed targets (-want +got):\n%s", diff)
	}
}
