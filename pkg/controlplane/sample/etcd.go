// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/utils/ptr"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/gardener/gardener/pkg/component/etcd/etcd"
)

// etcds deploys the Etcd resources of etcd-druid (pkg/gardenlet/operation/botanist/etcd.go). Only the main one has a
// backup. They come before the kube-apiserver, which reads the client certificate that they generate.
func (p *plane) etcds(ctx context.Context) error {
	for _, v := range []etcd.Values{
		{
			Role: v1beta1constants.ETCDRoleMain, Class: etcd.ClassImportant, StorageCapacity: "25Gi",
			DefragmentationSchedule: ptr.To("7 22 */3 * *"), EvictionRequirement: ptr.To(v1beta1constants.EvictionRequirementNever),
			BackupConfig: &etcd.BackupConfig{
				Provider: p.BackupProvider, Container: "backups", SecretRefName: v1beta1constants.BackupSecretName,
				Prefix: p.namespace + "--" + uid, FullSnapshotSchedule: "52 21 * * *",
			},
		},
		{
			Role: v1beta1constants.ETCDRoleEvents, Class: etcd.ClassNormal, StorageCapacity: "10Gi",
			DefragmentationSchedule: ptr.To("7 22 */3 * *"),
			EvictionRequirement:     ptr.To(v1beta1constants.EvictionRequirementInMaintenanceWindowOnly),
		},
	} {
		v.NamePrefix = p.prefix
		v.Replicas = p.etcdReplicas()
		v.RuntimeKubernetesVersion = p.runtimeVersion
		v.MaintenanceTimeWindow = *maintenance()
		v.HighAvailabilityEnabled = p.HighAvailability
		v.PriorityClassName = v1beta1constants.PriorityClassNameShootControlPlane500
		if p.prefix != "" {
			v.PriorityClassName = v1beta1constants.PriorityClassNameGardenSystem500
		}
		if err := etcd.New(logr.Discard(), p.client, p.namespace, p.secrets, v).Deploy(ctx); err != nil {
			return fmt.Errorf("deploying etcd %s: %w", v.Role, err)
		}
	}
	return nil
}

// etcdReplicas is nil for a hibernated shoot, as gardenlet leaves it: then a new Etcd gets none.
func (p *plane) etcdReplicas() *int32 {
	switch {
	case p.Hibernated:
		return nil
	case p.HighAvailability:
		return ptr.To[int32](3)
	default:
		return ptr.To[int32](1)
	}
}
