// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/runtime"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
)

// ErrOptions is wrapped by the error of options that no control plane can have.
var ErrOptions = errors.New("invalid options of a sample control plane")

// NewestKubernetes is the default version of a control plane.
const NewestKubernetes = "1.34.2"

// The supported versions of Kubernetes of ControlPlane and VirtualGarden, and the version of the seed.
const (
	oldestMinor = 31
	newestMinor = 34
	seedVersion = "1.33.5"
)

// Options select a control plane. The zero value is a complete one: a shoot with workers, running, of the
// newest version, for OpenStack.
type Options struct {
	// Kubernetes is the version of the shoot, "1.31.0" to "1.34.x". Default "1.34.2".
	Kubernetes string
	// HighAvailability sets the failure tolerance to zone, which also makes the VPN highly available.
	HighAvailability bool
	// IPv6 makes the shoot's networks IPv6 only.
	IPv6 bool
	// Hibernated selects a shoot whose hibernation is complete.
	Hibernated bool
	// Workerless is a shoot without nodes.
	Workerless bool
	// Namespace is the shoot's technical ID, shoot--<project>--<name>. Default "shoot--local--sample". It is not used by
	// VirtualGarden.
	Namespace string
	// Provider is the type of the shoot's infrastructure, SeedProvider that of the seed's and BackupProvider that of the
	// backups'. Default "openstack", and each the same as the one before.
	Provider, SeedProvider, BackupProvider string
	// Annotations are set on the Shoot.
	Annotations map[string]string
	// InfrastructureConfig and ControlPlaneConfig are provider configurations of the Shoot, WorkerConfig of its first
	// worker pool, CloudProfileConfig of the CloudProfile, and SeedConfig of the Seed, as JSON; nil if not set.
	InfrastructureConfig, ControlPlaneConfig, WorkerConfig, CloudProfileConfig, SeedConfig []byte
	// Edit, when not nil, changes the Shoot after it was defaulted and before anything is computed from it. It must give
	// the same result each time.
	Edit func(*gardencorev1beta1.Shoot)
}

// withDefaults sets the defaults and validates the rest. Errors wrap ErrOptions.
func (o Options) withDefaults() (Options, error) {
	o.Kubernetes = cmp.Or(o.Kubernetes, NewestKubernetes)
	o.Namespace = cmp.Or(o.Namespace, "shoot--local--sample")
	o.Provider = cmp.Or(o.Provider, "openstack")
	o.SeedProvider = cmp.Or(o.SeedProvider, o.Provider)
	o.BackupProvider = cmp.Or(o.BackupProvider, o.SeedProvider)

	version, err := semver.StrictNewVersion(o.Kubernetes)
	if err != nil {
		return o, fmt.Errorf("%w: Kubernetes %q: %w", ErrOptions, o.Kubernetes, err)
	}
	if version.Major() != 1 || version.Minor() < oldestMinor || version.Minor() > newestMinor {
		return o, fmt.Errorf("%w: Kubernetes %s is outside 1.%d to 1.%d", ErrOptions, o.Kubernetes, oldestMinor, newestMinor)
	}
	if len(strings.Split(o.Namespace, "--")) != 3 || !strings.HasPrefix(o.Namespace, "shoot--") {
		return o, fmt.Errorf("%w: namespace %q is not shoot--<project>--<name>", ErrOptions, o.Namespace)
	}
	return o, nil
}

// project and name are the two parts of the technical ID.
func (o Options) project() string { return strings.Split(o.Namespace, "--")[1] }
func (o Options) name() string    { return strings.Split(o.Namespace, "--")[2] }

// raw returns a provider configuration as resources contain it, or nil if it is empty.
func raw(config []byte) *runtime.RawExtension {
	if len(config) == 0 {
		return nil
	}
	return &runtime.RawExtension{Raw: config}
}
