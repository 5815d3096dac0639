// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/cobra"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile/folder"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/netmanifest"
)

func newNetworkCommand(s *Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "network",
		Short: "Prepare what asks a network provider",
		Long: `Prepare what asks a network provider.

A network provider gives addresses, and what goes with them, out of the pools of NetworkProfiles.`,
		Example: `  # Spiderpool's objects for a pool
  graft network manifests example/network/vlan.yaml --master enp0s28`,
		Args: unknownCommand,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newNetworkManifestsCommand(s))
	return command
}

// manifestsOptions are the flags of graft network manifests.
type manifestsOptions struct {
	netmanifest.Options

	kind, version, webhookURL string
	ips                       []string
	docker                    netmanifest.Discovery
}

// The values of --for.
const (
	forSpiderpool       = "spiderpool"
	forSpiderpoolValues = "spiderpool-values"
	forDRANETValues     = "dranet-values"
	forDocker           = "docker"
)

func newNetworkManifestsCommand(s *Streams) *cobra.Command {
	o := &manifestsOptions{}
	command := &cobra.Command{
		Use:   "manifests FILE...",
		Short: "Write the manifests that go with a pool",
		Long: `Write the manifests that go with a pool.

FILE is a NetworkProfile, or a folder with some. By default it writes Spiderpool's objects for one of the pools: a SpiderIPPool with
the subnet, the addresses, the gateway and the routes of each family, and the SpiderMultusConfig that Pods name. It has no vlanID:
Spiderpool asks the provider for the VLAN. The Helm values that Spiderpool needs stand in front as a comment; with
--for spiderpool-values they are all that is written. --for dranet-values writes the Helm values of DRANET, and --for docker the file
by which Docker finds the provider where its socket is not in /run/docker/plugins, such as that of a rootless dockerd, or one on another
machine; standard error says where it goes, and how the profiles are used.

Spiderpool chooses the addresses itself, and each of its interfaces is a VLAN: a pool without subnets, or without VLANs, will not do.`,
		Example: `  # Spiderpool's objects for the only pool of a profile; kubectl apply -f - takes them
  graft network manifests example/network/vlan.yaml --master enp0s28

  # a part of the pool, for an older Spiderpool
  graft network manifests example/network/vlan.yaml --pool vpc-a --name blue --ips 172.16.8.0/24 --master bond0 --spiderpool-version 1.2.0

  # Helm values of Spiderpool
  graft network manifests example/network/vlan.yaml --for spiderpool-values --server-url http://graft.kube-system.svc:80

  # Helm values of DRANET
  graft network manifests example/network/acme.yaml --for dranet-values

  # the file by which Docker finds a provider
  graft network manifests example/network/docker.yaml --for docker --docker-url unix:///run/graft/docker.sock > graft.spec`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				return fmt.Errorf("name a NetworkProfile: graft network manifests FILE")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, arguments []string) error { return o.run(s, arguments) },
	}
	o.addTo(command)
	return command
}

// addTo defines the flags, and how they are completed.
func (o *manifestsOptions) addTo(command *cobra.Command) {
	set := command.Flags()
	set.SortFlags = false
	set.StringVar(&o.kind, "for", forSpiderpool, "what is written: "+strings.Join([]string{forSpiderpool, forSpiderpoolValues, forDRANETValues, forDocker}, ", "))
	set.StringVar(&o.Pool, "pool", "", "name of the pool; not needed where only one will do")
	set.StringVar(&o.Master, "master", "", "interface of the nodes that carries the VLANs; it must be called so on all of them")
	set.StringVar(&o.ServerURL, "server-url", "http://graft-network-provider.graft-system.svc:80", "URL at which Spiderpool finds the provider, with the port")
	set.StringVar(&o.Name, "name", "", "name of the SpiderMultusConfig, with which those of the SpiderIPPools begin (default: the name of the pool)")
	set.StringVar(&o.Namespace, "namespace", "spiderpool", "namespace of the SpiderMultusConfig")
	set.StringArrayVar(&o.ips, "ips", nil,
		"addresses that Spiderpool is to give, of those of the pool: 10.0.0.5, 10.0.0.0/28 or 10.0.0.5-10.0.0.9 (repeatable; default: all)")
	set.StringVar(&o.version, "spiderpool-version", "1.2.2", "version of Spiderpool")
	set.StringVar(&o.webhookURL, "webhook-url", "unix:///run/graft/dranet.sock", "URL at which DRANET finds the provider")
	set.StringVar(&o.docker.URL, "docker-url", "unix:///run/graft/docker.sock",
		"URL at which Docker finds the provider: unix:///path, http://host:port or https://host:port")
	set.StringVar(&o.docker.Name, "docker-name", "graft", "name of the driver, which is that of the file")
	set.StringVar(&o.docker.CAFile, "docker-ca", "", "for https: file with the CAs of the provider, on the machine of dockerd")
	set.StringVar(&o.docker.CertFile, "docker-cert", "", "for https: file with the certificate that Docker shows")
	set.StringVar(&o.docker.KeyFile, "docker-key", "", "for https: file with its key")
	_ = command.RegisterFlagCompletionFunc("for", fixed(
		forSpiderpool+"\tobjects for a pool", forSpiderpoolValues+"\tHelm values of Spiderpool", forDRANETValues+"\tHelm values of DRANET",
		forDocker+"\tfile by which Docker finds the provider",
	))
	_ = command.RegisterFlagCompletionFunc("pool", completePools)
	for _, name := range []string{"master", "server-url", "name", "namespace", "ips", "spiderpool-version", "webhook-url", "docker-url", "docker-name"} {
		_ = command.RegisterFlagCompletionFunc(name, fixed())
	}
}

func (o *manifestsOptions) run(s *Streams, paths []string) error {
	if err := choose(&o.kind, o.kind, forSpiderpool, forSpiderpoolValues, forDRANETValues, forDocker); err != nil {
		return fmt.Errorf("--for %s: %w", o.kind, err)
	}
	p, err := loadPolicy(paths)
	if err != nil {
		return err
	}
	if o.Version, err = semver.NewVersion(o.version); err != nil {
		return fmt.Errorf("--spiderpool-version %s: must be a version, such as 1.2.2", o.version)
	}
	if o.IPs, err = netmanifest.ParseIPs(o.ips); err != nil {
		return fmt.Errorf("reading --ips: %w", err)
	}
	var out []byte
	switch o.kind {
	case forDRANETValues:
		out, err = netmanifest.DRANETValues(p, o.webhookURL)
	case forSpiderpoolValues:
		out, err = netmanifest.SpiderpoolValues(o.ServerURL, o.Version)
	case forDocker:
		return writeDocker(s, p, o.docker)
	default:
		out, err = netmanifest.Spiderpool(p, o.Options)
	}
	if err != nil {
		return err
	}
	_, err = s.Out.Write(out)
	return err
}

// writeDocker writes the file, and to standard error where it goes: it has no place for comments.
func writeDocker(s *Streams, p *policy.Policy, d netmanifest.Discovery) error {
	file, err := netmanifest.Docker(p, d)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "Save it as %s in %s.\n", file.Name, strings.Join(file.Folders, ", or "))
	for _, advice := range file.Advice {
		fmt.Fprintln(s.Err, advice)
	}
	_, err = s.Out.Write(file.Data)
	return err
}

// loadPolicy reads and compiles NetworkProfiles. The error is source.Findings where they are wrong.
func loadPolicy(paths []string) (*policy.Policy, error) {
	files, err := folder.ReadNamed(paths...)
	if err != nil {
		return nil, err
	}
	return profile.Guard(files, func(files []source.File) (*policy.Policy, error) {
		documents, findings := profile.LoadNetworks(files...)
		if err := findings.Err(); err != nil {
			return nil, err
		}
		if len(documents) == 0 {
			return nil, fmt.Errorf("no NetworkProfile was found in %s", strings.Join(paths, ", "))
		}
		p, findings := policy.Compile(documents)
		if err := findings.Errors().Err(); err != nil {
			return nil, err
		}
		return p, nil
	})
}

// completePools are the pools of the files that are named already.
func completePools(_ *cobra.Command, paths []string, _ string) ([]string, cobra.ShellCompDirective) {
	p, err := loadPolicy(paths)
	if err != nil || len(paths) == 0 {
		return nil, noFile
	}
	return slices.Sorted(maps.Keys(p.Pools)), noFile
}
