// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/Masterminds/semver/v3"
	"github.com/coreos/go-systemd/v22/unit"
	extensionscontextwebhook "github.com/gardener/gardener/extensions/pkg/webhook/context"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	kubeletconfigv1beta1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
)

// ErrNoCRIConfig means that a rule sets the container runtime's configuration of an OperatingSystemConfig that has none, which an
// ensurer cannot add.
var ErrNoCRIConfig = errors.New("the OperatingSystemConfig has no criConfig")

const (
	provision = extensionsv1alpha1.OperatingSystemConfigPurposeProvision
	reconcile = extensionsv1alpha1.OperatingSystemConfigPurposeReconcile
)

// EnsureKubeletServiceUnitOptions implements genericmutator.Ensurer: flags of the kubelet, and options of its unit.
func (e *Ensurer) EnsureKubeletServiceUnitOptions(
	ctx context.Context, gctx extensionscontextwebhook.GardenContext, version *semver.Version, current, old []*unit.UnitOption,
) ([]*unit.UnitOption, error) {
	specOf := func(options []*unit.UnitOption) (*nodeSpec, error) {
		text, err := io.ReadAll(unit.Serialize(options))
		return kubeletSpec(string(text), bareConfiguration), err
	}
	h := handed{purpose: reconcile, version: version}
	var err error
	if h.current, err = specOf(current); err != nil {
		return nil, fmt.Errorf("writing the unit of the kubelet: %w", err)
	}
	if old != nil {
		if h.old, err = specOf(old); err != nil {
			return nil, fmt.Errorf("writing the old unit of the kubelet: %w", err)
		}
	}
	made, err := e.node(ctx, gctx, &e.unitOptions, h)
	if err != nil || made == nil {
		return current, err
	}
	options, err := unit.DeserializeOptions(bytes.NewBufferString(*made.Units[0].Content))
	if err != nil {
		// The error may quote a line.
		return nil, errors.New("reading the unit of the kubelet with its edits: go-systemd cannot read it")
	}
	return options, nil
}

// EnsureKubeletConfiguration implements genericmutator.Ensurer.
func (e *Ensurer) EnsureKubeletConfiguration(
	ctx context.Context, gctx extensionscontextwebhook.GardenContext, version *semver.Version, current, old *kubeletconfigv1beta1.KubeletConfiguration,
) error {
	specOf := func(configuration *kubeletconfigv1beta1.KubeletConfiguration) (*nodeSpec, error) {
		whole := *configuration
		whole.APIVersion, whole.Kind = kubeletconfigv1beta1.SchemeGroupVersion.String(), "KubeletConfiguration"
		text, err := yaml.Marshal(&whole)
		return kubeletSpec(bareUnit, string(text)), err
	}
	h := handed{purpose: reconcile, version: version}
	var err error
	if h.current, err = specOf(current); err != nil {
		return fmt.Errorf("writing the configuration of the kubelet: %w", err)
	}
	if old != nil {
		if h.old, err = specOf(old); err != nil {
			return fmt.Errorf("writing the old configuration of the kubelet: %w", err)
		}
	}
	made, err := e.node(ctx, gctx, &e.configuration, h)
	if err != nil || made == nil {
		return err
	}
	raw, err := yaml.YAMLToJSONStrict([]byte(made.Files[0].Content.Inline.Data))
	if err != nil {
		// The error may quote a line.
		return errors.New("reading the configuration of the kubelet with its edits: it is no YAML")
	}
	var whole kubeletconfigv1beta1.KubeletConfiguration
	if err := decodeStrictly(raw, &whole); err != nil {
		return fmt.Errorf("the configuration of the kubelet: %w", err)
	}
	whole.TypeMeta = current.TypeMeta
	*current = whole
	return nil
}

// ShouldProvisionKubeletCloudProviderConfig implements genericmutator.Ensurer: never, as profiles write files with the operation file.
func (e *Ensurer) ShouldProvisionKubeletCloudProviderConfig(context.Context, extensionscontextwebhook.GardenContext, *semver.Version) bool {
	return false
}

// EnsureKubeletCloudProviderConfig implements genericmutator.Ensurer; it is not called.
func (e *Ensurer) EnsureKubeletCloudProviderConfig(context.Context, extensionscontextwebhook.GardenContext, *semver.Version, *string, string) error {
	return nil
}

// EnsureKubernetesGeneralConfiguration implements genericmutator.Ensurer: the settings of the kernel.
func (e *Ensurer) EnsureKubernetesGeneralConfiguration(ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *string) error {
	specOf := func(text *string) *nodeSpec {
		if text == nil || *text == "" {
			return nil
		}
		return &nodeSpec{Files: []extensionsv1alpha1.File{inlineFile(target.KernelSettingsPath, *text)}}
	}
	came := specOf(current)
	if came == nil {
		return nil
	}
	made, err := e.node(ctx, gctx, &e.settings, handed{purpose: reconcile, current: came, old: specOf(old)})
	if err != nil || made == nil {
		return err
	}
	*current = made.Files[0].Content.Inline.Data
	return nil
}

// EnsureAdditionalUnits implements genericmutator.Ensurer: units of purpose reconcile, with their drop-ins.
func (e *Ensurer) EnsureAdditionalUnits(ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *[]extensionsv1alpha1.Unit) error {
	return e.ensureUnits(ctx, gctx, reconcile, current, old)
}

// EnsureAdditionalProvisionUnits implements genericmutator.Ensurer: units of purpose provision, with their drop-ins.
func (e *Ensurer) EnsureAdditionalProvisionUnits(
	ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *[]extensionsv1alpha1.Unit,
) error {
	return e.ensureUnits(ctx, gctx, provision, current, old)
}

func (e *Ensurer) ensureUnits(ctx context.Context, gctx extensionscontextwebhook.GardenContext,
	purpose extensionsv1alpha1.OperatingSystemConfigPurpose, current, old *[]extensionsv1alpha1.Unit,
) error {
	h := handed{purpose: purpose, current: &nodeSpec{Units: *current}}
	if old != nil {
		h.old = &nodeSpec{Units: *old}
	}
	made, err := e.node(ctx, gctx, &e.units, h)
	if err != nil || made == nil {
		return err
	}
	*current = made.Units
	return nil
}

// EnsureAdditionalFiles implements genericmutator.Ensurer: files of purpose reconcile.
func (e *Ensurer) EnsureAdditionalFiles(ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *[]extensionsv1alpha1.File) error {
	return e.ensureFiles(ctx, gctx, reconcile, current, old)
}

// EnsureAdditionalProvisionFiles implements genericmutator.Ensurer: files of purpose provision.
func (e *Ensurer) EnsureAdditionalProvisionFiles(
	ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *[]extensionsv1alpha1.File,
) error {
	return e.ensureFiles(ctx, gctx, provision, current, old)
}

func (e *Ensurer) ensureFiles(ctx context.Context, gctx extensionscontextwebhook.GardenContext,
	purpose extensionsv1alpha1.OperatingSystemConfigPurpose, current, old *[]extensionsv1alpha1.File,
) error {
	h := handed{purpose: purpose, current: &nodeSpec{Files: *current}}
	if old != nil {
		h.old = &nodeSpec{Files: *old}
	}
	made, err := e.node(ctx, gctx, &e.files, h)
	if err != nil || made == nil {
		return err
	}
	*current = made.Files
	return nil
}

// EnsureCRIConfig implements genericmutator.Ensurer. The error is ErrNoCRIConfig where there is none and a rule sets one.
func (e *Ensurer) EnsureCRIConfig(ctx context.Context, gctx extensionscontextwebhook.GardenContext, current, old *extensionsv1alpha1.CRIConfig) error {
	h := handed{purpose: reconcile, current: &nodeSpec{CRIConfig: current}}
	if old != nil {
		h.old = &nodeSpec{CRIConfig: old}
	}
	made, err := e.node(ctx, gctx, &e.cri, h)
	switch {
	case err != nil || made == nil:
		return err
	case current == nil:
		return fmt.Errorf("EnsureCRIConfig: %w", ErrNoCRIConfig)
	case made.CRIConfig == nil:
		*current = extensionsv1alpha1.CRIConfig{}
	default:
		*current = *made.CRIConfig
	}
	return nil
}
