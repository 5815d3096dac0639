// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package types_test

import (
	rollouts "github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	helm "github.com/fluxcd/helm-controller/api/v2"
	kustomize "github.com/fluxcd/kustomize-controller/api/v1"
	source "github.com/fluxcd/source-controller/api/v1"
	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	kubeadm "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterapi "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// project is where the API types of the kinds of a profile come from.
type project struct {
	// modules are the Go modules with the versions in the profile.
	modules []string
	// types returns an empty object of each kind.
	types map[string]func() any
	// why says why there are no types.
	why string
}

func of[T any]() func() any { return func() any { return new(T) } }

// projects are the profiles of the library by their folders.
var projects = map[string]project{
	"argo-rollouts": {
		modules: []string{"github.com/argoproj/argo-rollouts"},
		types: map[string]func() any{
			"argoproj.io/v1alpha1 Rollout":     of[rollouts.Rollout](),
			"argoproj.io/v1alpha1 AnalysisRun": of[rollouts.AnalysisRun](),
		},
	},
	"cert-manager": {
		modules: []string{"github.com/cert-manager/cert-manager"},
		types: map[string]func() any{
			"cert-manager.io/v1 Certificate":   of[certmanager.Certificate](),
			"cert-manager.io/v1 Issuer":        of[certmanager.Issuer](),
			"cert-manager.io/v1 ClusterIssuer": of[certmanager.ClusterIssuer](),
		},
	},
	"cluster-api": {
		modules: []string{"sigs.k8s.io/cluster-api/api"},
		types: map[string]func() any{
			"cluster.x-k8s.io/v1beta2 Cluster":                          of[clusterapi.Cluster](),
			"cluster.x-k8s.io/v1beta2 MachineDeployment":                of[clusterapi.MachineDeployment](),
			"controlplane.cluster.x-k8s.io/v1beta2 KubeadmControlPlane": of[kubeadm.KubeadmControlPlane](),
		},
	},
	"flux": {
		modules: []string{
			"github.com/fluxcd/helm-controller/api", "github.com/fluxcd/kustomize-controller/api",
			"github.com/fluxcd/source-controller/api",
		},
		types: map[string]func() any{
			"helm.toolkit.fluxcd.io/v2 HelmRelease":        of[helm.HelmRelease](),
			"kustomize.toolkit.fluxcd.io/v1 Kustomization": of[kustomize.Kustomization](),
			"source.toolkit.fluxcd.io/v1 GitRepository":    of[source.GitRepository](),
			"source.toolkit.fluxcd.io/v1 OCIRepository":    of[source.OCIRepository](),
			"source.toolkit.fluxcd.io/v1 HelmRepository":   of[source.HelmRepository](),
			"source.toolkit.fluxcd.io/v1 HelmChart":        of[source.HelmChart](),
			"source.toolkit.fluxcd.io/v1 Bucket":           of[source.Bucket](),
		},
	},
	"keda": {
		modules: []string{"github.com/kedacore/keda/v2"},
		types: map[string]func() any{
			"keda.sh/v1alpha1 ScaledObject": of[keda.ScaledObject](), "keda.sh/v1alpha1 ScaledJob": of[keda.ScaledJob](),
			"keda.sh/v1alpha1 TriggerAuthentication": of[keda.TriggerAuthentication](),
		},
	},
	"kubeflow-trainer": {
		modules: []string{"github.com/kubeflow/trainer/v2"},
		types:   map[string]func() any{"trainer.kubeflow.org/v1alpha1 TrainJob": of[trainer.TrainJob]()},
	},
	"prometheus-operator": {
		modules: []string{"github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring"},
		types: map[string]func() any{
			"monitoring.coreos.com/v1 Prometheus":   of[monitoring.Prometheus](),
			"monitoring.coreos.com/v1 Alertmanager": of[monitoring.Alertmanager](),
			"monitoring.coreos.com/v1 ThanosRuler":  of[monitoring.ThanosRuler](),
		},
	},
	"training-operator": {
		modules: []string{"github.com/kubeflow/training-operator"},
		types: map[string]func() any{
			"kubeflow.org/v1 PyTorchJob": of[kubeflow.PyTorchJob](), "kubeflow.org/v1 TFJob": of[kubeflow.TFJob](),
			"kubeflow.org/v1 MPIJob":     of[kubeflow.MPIJob](),
			"kubeflow.org/v1 XGBoostJob": of[kubeflow.XGBoostJob](), "kubeflow.org/v1 PaddleJob": of[kubeflow.PaddleJob](),
		},
	},
	"argo-workflows": {why: notPublished},
	"cloudnative-pg": {why: notPublished},
	"crossplane":     {why: notPublished},
	"kuberay":        {why: notPublished},
	"openkruise":     {why: notPublished},
	"spark-operator": {why: notPublished},
	"strimzi":        {why: "the types are written in Java"},
	"volcano":        {why: notPublished},
}

const notPublished = "the types are not published as a Go module that can be fetched"
