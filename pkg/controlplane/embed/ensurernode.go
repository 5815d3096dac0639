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
	ctx context.Context, gctx extensionscontextwebhook.GardenContext, version *semver.Version, new, old []*unit.UnitOption,
) ([]*unit.UnitOption, error) {
	specOf := func(options []*unit.UnitOption) (*nodeSpec, error) {
		if options == nil {
			return nil, nil
		}
		text, err := io.ReadAll(unit.Serialize(options))
		return &nodeSpec{Units: []extensionsv1alpha1.Unit{kubeletUnit(string(text))}, Files: []extensionsv1alpha1.File{kubeletFile("")}}, err
	}
	before, err := specOf(old)
	if err != nil {
		return nil, fmt.Errorf("writing the old unit of the kubelet: %w", err)
	}
	came, err := specOf(new)
	if err != nil {
		return nil, fmt.Errorf("writing the unit of the kubelet: %w", err)
	}
	made, err := e.node(ctx, gctx, &e.unitOptions, handed{purpose: reconcile, version: version, new: came, old: before})
	if err != nil || made == nil || came == nil {
		return new, err
	}
	options, err := unit.DeserializeOptions(bytes.NewBufferString(*made.Units[0].Content))
	if err != nil {
		return nil, fmt.Errorf("reading the unit of the kubelet with its edits: %w", err)
	}
	return options, nil
}

// EnsureKubeletConfiguration implements genericmutator.Ensurer.
func (e *Ensurer) EnsureKubeletConfiguration(
	ctx context.Context, gctx extensionscontextwebhook.GardenContext, version *semver.Version, new, old *kubeletconfigv1beta1.KubeletConfiguration,
) error {
	specOf := func(configuration *kubeletconfigv1beta1.KubeletConfiguration) (*nodeSpec, error) {
		if configuration == nil {
			return nil, nil
		}
		whole := *configuration
		whole.APIVersion, whole.Kind = kubeletconfigv1beta1.SchemeGroupVersion.String(), "KubeletConfiguration"
		text, err := yaml.Marshal(&whole)
		return &nodeSpec{Units: []extensionsv1alpha1.Unit{kubeletUnit("")}, Files: []extensionsv1alpha1.File{kubeletFile(string(text))}}, err
	}
	before, err := specOf(old)
	if err != nil {
		return fmt.Errorf("writing the old configuration of the kubelet: %w", err)
	}
	came, err := specOf(new)
	if err != nil {
		return fmt.Errorf("writing the configuration of the kubelet: %w", err)
	}
	made, err := e.node(ctx, gctx, &e.configuration, handed{purpose: reconcile, version: version, new: came, old: before})
	if err != nil || made == nil {
		return err
	}
	var whole kubeletconfigv1beta1.KubeletConfiguration
	if err := yaml.UnmarshalStrict([]byte(made.Files[0].Content.Inline.Data), &whole); err != nil {
		return fmt.Errorf("reading the configuration of the kubelet with its edits: %w: %w", ErrFieldUnknown, err)
	}
	whole.TypeMeta = new.TypeMeta
	*new = whole
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
func (e *Ensurer) EnsureKubernetesGeneralConfiguration(ctx context.Context, gctx extensionscontextwebhook.GardenContext, new, old *string) error {
	specOf := func(text *string) *nodeSpec {
		if text == nil || *text == "" {
			return nil
		}
		return &nodeSpec{Files: []extensionsv1alpha1.File{inlineFile(target.KernelSettingsPath, *text)}}
	}
	came := specOf(new)
	if came == nil {
		return nil
	}
	made, err := e.node(ctx, gctx, &e.settings, handed{purpose: reconcile, new: came, old: specOf(old)})
	if err != nil || made == nil {
		return err
	}
	*new = made.Files[0].Content.Inline.Data
	return nil
}

// EnsureAdditionalUnits implements genericmutator.Ensurer: units of purpose reconcile, with their drop-ins.
func (e *Ensurer) EnsureAdditionalUnits(ctx context.Context, gctx extensionscontextwebhook.GardenContext, new, old *[]extensionsv1alpha1.Unit) error {
	return e.ensureUnits(ctx, gctx, reconcile, new, old)
}

// EnsureAdditionalProvisionUnits implements genericmutator.Ensurer: units of purpose provision, with their drop-ins.
func (e *Ensurer) EnsureAdditionalProvisionUnits(
	ctx context.Context, gctx extensionscontextwebhook.GardenContext, new, old *[]extensionsv1alpha1.Unit,
) error {
	return e.ensureUnits(ctx, gctx, provision, new, old)
}

func (e *Ensurer) ensureUnits(ctx context.Context, gctx extensionscontextwebhook.GardenContext,
	purpose extensionsv1alpha1.OperatingSystemConfigPurpose, new, old *[]extensionsv1alpha1.Unit,
) error {
	h := handed{purpose: purpose, new: &nodeSpec{Units: *new}}
	if old != nil {
		h.old = &nodeSpec{Units: *old}
	}
	made, err := e.node(ctx, gctx, &e.units, h)
	if err != nil || made == nil {
		return err
	}
	*new = made.Units
	return nil
}

// EnsureAdditionalFiles implements genericmutator.Ensurer: files of purpose reconcile.
func (e *Ensurer) EnsureAdditionalFiles(ctx context.Context, gctx extensionscontextwebhook.GardenContext, new, old *[]extensionsv1alpha1.File) error {
	return e.ensureFiles(ctx, gctx, reconcile, new, old)
}

// EnsureAdditionalProvisionFiles implements genericmutator.Ensurer: files of purpose provision.
func (e *Ensurer) EnsureAdditionalProvisionFiles(
	ctx context.Context, gctx extensionscontextwebhook.GardenContext, new, old *[]extensionsv1alpha1.File,
) error {
	return e.ensureFiles(ctx, gctx, provision, new, old)
}

func (e *Ensurer) ensureFiles(ctx context.Context, gctx extensionscontextwebhook.GardenContext,
	purpose extensionsv1alpha1.OperatingSystemConfigPurpose, new, old *[]extensionsv1alpha1.File,
) error {
	h := handed{purpose: purpose, new: &nodeSpec{Files: *new}}
	if old != nil {
		h.old = &nodeSpec{Files: *old}
	}
	made, err := e.node(ctx, gctx, &e.files, h)
	if err != nil || made == nil {
		return err
	}
	*new = made.Files
	return nil
}

// EnsureCRIConfig implements genericmutator.Ensurer. The error is ErrNoCRIConfig where there is none and a rule sets one.
func (e *Ensurer) EnsureCRIConfig(ctx context.Context, gctx extensionscontextwebhook.GardenContext, new, old *extensionsv1alpha1.CRIConfig) error {
	h := handed{purpose: reconcile, new: &nodeSpec{CRIConfig: new}}
	if old != nil {
		h.old = &nodeSpec{CRIConfig: old}
	}
	made, err := e.node(ctx, gctx, &e.cri, h)
	switch {
	case err != nil || made == nil:
		return err
	case new == nil:
		return fmt.Errorf("EnsureCRIConfig: %w", ErrNoCRIConfig)
	case made.CRIConfig == nil:
		*new = extensionsv1alpha1.CRIConfig{}
	default:
		*new = *made.CRIConfig
	}
	return nil
}
