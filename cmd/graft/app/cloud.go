// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/catalog"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
)

func newCloudCommand(s *Streams) *cobra.Command {
	return group(s, &cobra.Command{
		Use:   "cloud",
		Short: "Check the clouds of network profiles",
		Long: `Check the clouds of network profiles.

A cloud makes the addresses of a pool work outside of the machine (docs/usage/clouds.md).`,
		Example: `  # can a server with this profile bind ports? (openstack.yaml does not exist here)
  graft cloud check openstack.yaml  # exit 2`,
	}, newCloudCheckCommand)
}

func newCloudCheckCommand(s *Streams) *cobra.Command {
	var cloud, nic string
	command := &cobra.Command{
		Use:   "check <file|folder>...",
		Short: "Test credentials, permissions, extensions and quotas of OpenStack",
		Long: `Test credentials, permissions, extensions and quotas of OpenStack.

It reads network profiles and tests each cloud of the kind openstack with the files and the network of this
machine. Nothing is changed. With --nic it also looks for the trunk of a node.

Exit status: 0; 1 if something is missing; 2 if the profiles or their credentials could not be read.`,
		Example: `  # can a server with this profile bind ports? (openstack.yaml does not exist here)
  graft cloud check openstack.yaml  # exit 2

  # and attach them to the trunk of this node?
  graft cloud check openstack.yaml --nic fa:16:3e:00:00:01  # exit 2`,
		Args: atLeastOne("the files or folders with the network profiles"),
		RunE: func(command *cobra.Command, paths []string) error {
			return checkClouds(command.Context(), s, paths, cloud, nic)
		},
	}
	set := command.Flags()
	set.StringVar(&cloud, "cloud", "", "name of the cloud (default: all of the kind openstack)")
	set.StringVar(&nic, "nic", "", "MAC address of a node's NIC with a trunk")
	return command
}

// checkClouds tests the named cloud of network profiles, or all of them, and looks for the trunk of a node with this NIC.
func checkClouds(ctx context.Context, s *Streams, paths []string, cloud, nic string) error {
	files, err := folder.ReadNamed(paths...)
	if err != nil {
		return err
	}
	documents, findings := profile.LoadNetworks(files...)
	compiled, more := policy.Compile(documents)
	if err := append(findings, more...).Errors().Err(); err != nil {
		return err
	}
	specs := maps.Clone(compiled.Clouds)
	maps.DeleteFunc(specs, func(name string, spec policy.CloudSpec) bool {
		return spec.OpenStack == nil || cloud != "" && name != cloud
	})
	if len(specs) == 0 {
		return errors.New("the profiles declare no such cloud of the kind openstack")
	}
	clouds := map[string]*openstack.Cloud{}
	for name, spec := range specs {
		made, problems := catalog.New(spec, catalog.Options{})
		clouds[name], _ = made.(*openstack.Cloud) // the specs are of this kind
		findings = append(findings, problems...)
	}
	if err := findings.Errors().Err(); err != nil {
		return err
	}
	var failed error
	for _, name := range slices.Sorted(maps.Keys(clouds)) {
		for _, result := range clouds[name].Check(ctx, nic) {
			switch {
			case result.Err != nil:
				failed = found{}
				fmt.Fprintf(s.Out, "%s: FAILED: %s: %s\n", name, result.Name, plain(result.Err))
			case result.Detail != "":
				fmt.Fprintf(s.Out, "%s: ok: %s: %s\n", name, result.Name, result.Detail)
			default:
				fmt.Fprintf(s.Out, "%s: ok: %s\n", name, result.Name)
			}
		}
	}
	return failed
}
