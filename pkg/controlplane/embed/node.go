// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/Masterminds/semver/v3"
	extensionscontextwebhook "github.com/gardener/gardener/extensions/pkg/webhook/context"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/facts"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/mutation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
)

// nodeSpec is as much of an OperatingSystemConfig as a method of an ensurer is handed.
type nodeSpec = extensionsv1alpha1.OperatingSystemConfigSpec

// handed is what a method of an ensurer is called with.
type handed struct {
	purpose extensionsv1alpha1.OperatingSystemConfigPurpose
	// version is that of the pool's kubelets; nil where the method is not told.
	version *semver.Version
	// current is the part, and old what it was; nil for a new one.
	current, old *nodeSpec
}

// node applies the rules of a part to it. It returns the part as it is to be, nil when nothing changes.
func (e *Ensurer) node(ctx context.Context, gctx extensionscontextwebhook.GardenContext, p *part, h handed) (*nodeSpec, error) {
	if !p.any {
		return nil, nil
	}
	read := &contextFacts{gctx: gctx, inner: e.options.Facts}
	namespace, labels := "", map[string]string{}
	if p.facts {
		cluster, err := read.cluster(ctx)
		if err != nil {
			return nil, factsFailure(err)
		}
		namespace = cluster.ObjectMeta.Name
	}
	if p.pool {
		pool, err := poolOf(ctx, read, h.version)
		if err != nil {
			return nil, err
		}
		labels[facts.LabelWorkerPool] = pool
	}
	raw, err := nodeJSON(h.purpose, labels, h.current)
	if err != nil {
		return nil, err
	}
	old, err := nodeJSON(h.purpose, labels, h.old)
	if err != nil {
		return nil, err
	}
	parsed, err := document.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("reading a part of an OperatingSystemConfig: %w", err)
	}
	gvk := extensionsv1alpha1.SchemeGroupVersion.WithKind(extensionsv1alpha1.OperatingSystemConfigResource)
	result, err := e.admit(ctx, p.program, mutation.Request{
		Operation: operationOf(old), Namespace: namespace, Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Object: raw, OldObject: old, Document: parsed,
	}, read)
	if err != nil || result.Patch == nil {
		return nil, err
	}
	into := &extensionsv1alpha1.OperatingSystemConfig{}
	if err := decodeStrictly(parsed.Bytes(), into); err != nil {
		return nil, fmt.Errorf("OperatingSystemConfig: %w", err)
	}
	return &into.Spec, nil
}

// nodeJSON is an OperatingSystemConfig that has no more than a part; nil for none.
func nodeJSON(purpose extensionsv1alpha1.OperatingSystemConfigPurpose, labels map[string]string, spec *nodeSpec) ([]byte, error) {
	if spec == nil {
		return nil, nil
	}
	object := extensionsv1alpha1.OperatingSystemConfig{
		TypeMeta: metav1.TypeMeta{
			APIVersion: extensionsv1alpha1.SchemeGroupVersion.String(), Kind: extensionsv1alpha1.OperatingSystemConfigResource,
		},
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       *spec,
	}
	object.Spec.Purpose = purpose
	raw, err := json.Marshal(&object)
	if err != nil {
		return nil, fmt.Errorf("encoding a part of an OperatingSystemConfig: %w", err)
	}
	return raw, nil
}

// poolOf is the name of a worker pool whose kubelets have the version, as rules of an ensurer ask for no more of it. The Cluster of
// a cache may not know the version yet.
func poolOf(ctx context.Context, read *contextFacts, version *semver.Version) (string, error) {
	for _, again := range []bool{false, true} {
		if again {
			if err := read.refresh(ctx); err != nil {
				return "", factsFailure(err)
			}
		}
		found, err := read.Read(ctx, "")
		if err != nil {
			return "", factsFailure(err)
		}
		if found.Shoot == nil || version == nil {
			break
		}
		for i := range found.Shoot.Workers {
			if worker := &found.Shoot.Workers[i]; worker.Kubernetes == version.String() {
				return worker.Name, nil
			}
		}
	}
	return "", nil
}

// factsFailure converts an error of reading facts to the failure that the engine reports.
func factsFailure(err error) error {
	reason := mutation.FactsUnavailable
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		reason = mutation.DeadlineExceeded
	case errors.Is(err, facts.ErrNotFound):
		reason = mutation.ClusterMissing
	case errors.Is(err, facts.ErrUndecodable):
		reason = mutation.ClusterUndecodable
	}
	return fmt.Errorf("%s: %w", reason, &mutation.Failure{Reason: reason, Message: "reading the facts of an OperatingSystemConfig", Err: err})
}

// A unit and a configuration of the kubelet that say nothing: they stand for the one that a method is not handed, as a rule may be
// for both.
const (
	bareUnit          = "[Service]\nExecStart=/opt/bin/kubelet\n"
	bareConfiguration = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
)

// kubeletSpec has the unit and the configuration of the kubelet.
func kubeletSpec(unit, configuration string) *nodeSpec {
	return &nodeSpec{
		Units: []extensionsv1alpha1.Unit{{Name: target.KubeletUnit, Content: &unit}},
		Files: []extensionsv1alpha1.File{inlineFile(target.KubeletConfigurationPath, configuration)},
	}
}

func inlineFile(path, text string) extensionsv1alpha1.File {
	return extensionsv1alpha1.File{
		Path: path, Content: extensionsv1alpha1.FileContent{Inline: &extensionsv1alpha1.FileContentInline{Data: text}},
	}
}
