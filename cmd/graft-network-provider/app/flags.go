// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package app wires graft-network-provider: flags and configuration become Options, and Options become a store,
// the active profiles, the codecs and a server. Only this package knows concrete stores, clouds and codecs. The
// packages below make the decisions. Start reading at Main.
package app

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/installation"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Name is the name of the program.
const Name = "graft-network-provider"

// Main runs the program and returns its exit status.
var Main = shell.Main(NewCommand)

// NewCommand returns the program as a cobra command.
func NewCommand(version string) *cobra.Command {
	flags := NewFlags()
	command := shell.New(&cobra.Command{
		Use:   Name,
		Short: "Answer DRANET, Spiderpool and Docker from NetworkProfiles",
		Long: `Answer DRANET, Spiderpool and Docker from NetworkProfiles.

It allocates addresses, MAC addresses and VLANs from pools, binds them in the cloud, and stores the allocations in a
ledger. It runs on each node, on a socket, or as a service for many nodes. For Docker it is a network and IPAM driver,
and creates the links of containers.`,
		Example: `  graft-network-provider --config /etc/graft/network-provider.yaml
  graft-network-provider --profiles acme.yaml --ledger /var/lib/graft/ledger --node worker-1 \
    --listen dranet=unix:///run/graft/dranet.sock
  graft-network-provider --profiles acme.yaml --listen docker=unix:///run/docker/plugins/graft.sock
  graft-network-provider --config /etc/graft/network-provider.yaml --check`,
	}, version, func(c *cobra.Command) error {
		options, err := flags.Complete(c.Flags())
		if err != nil {
			return err
		}
		if options.CheckOnly {
			return options.Check(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		}
		return Run(c.Context(), version, options, c.ErrOrStderr())
	})
	flags.AddTo(command.Flags())
	return command
}

// Flags are the command line.
type Flags struct {
	shell.Flags
	node, ledger            string
	profiles, listen        []string
	insecure, check         bool
	metricsAddress          string
	configurations, plugins string
}

// Options are the completed flags and configuration.
type Options struct {
	installation.Installation
	// CheckOnly validates without serving.
	CheckOnly bool
}

// NewFlags returns the defaults. A DaemonSet sets the node's name in the environment.
func NewFlags() *Flags { return &Flags{node: os.Getenv("NODE_NAME")} }

// AddTo defines the flags.
func (f *Flags) AddTo(set *pflag.FlagSet) {
	set.SortFlags = false
	f.AddConfig(set, "NetworkProviderConfiguration")
	set.StringVar(&f.node, "node", f.node, "node of this server; empty for a service for many nodes (default $NODE_NAME)")
	set.StringArrayVar(&f.profiles, "profiles", nil, "file or folder with NetworkProfiles, in addition to the configuration (repeatable)")
	set.StringVar(&f.ledger, "ledger", "", "folder of the embedded ledger (default /var/lib/graft/ledger)")
	set.StringArrayVar(&f.listen, "listen", nil, "listener, instead of those of the configuration (repeatable): unix:///path,\n"+
		"tcp://host:port or systemd://name, after its contracts, such as\n"+
		"dranet=unix:///run/graft/dranet.sock. The default contracts are dranet and\n"+
		"spiderpool; docker must be named: docker=unix:///run/docker/plugins/graft.sock")
	set.BoolVar(&f.insecure, "insecure", false, "allow --listen on other addresses than loopback: any client that\nreaches it can allocate and release")
	set.StringVar(&f.metricsAddress, "metrics-address", "", `host:port of /metrics, /healthz and /readyz, "0" for none (default 127.0.0.1:9474)`)
	set.StringVar(&f.configurations, "cni-conf-dir", "", "folder of CNI network configurations (default /etc/cni/net.d)")
	set.StringVar(&f.plugins, "cni-bin-dir", "", "folder of CNI plugins (default /opt/cni/bin)")
	f.Flags.AddTo(set)
	set.BoolVar(&f.check, "check", false, "validate configuration and profiles, and exit; does not open the ledger")
}

// Complete reads the configuration and applies the given flags. It fails if a file is unreadable, or a value is
// invalid.
func (f *Flags) Complete(set *pflag.FlagSet) (*Options, error) {
	config, err := shell.Read(&f.Flags, configv1alpha1.DecodeNetworkProviderConfiguration)
	if err != nil {
		return nil, err
	}
	placed := !set.Changed("node") && config.Node == ""
	if err := errors.Join(f.override(set, config), validate(config)); err != nil {
		return nil, err
	}
	return &Options{CheckOnly: f.check, Installation: installation.Installation{Config: config, EachNode: placed && config.Node != ""}}, nil
}

func (f *Flags) override(set *pflag.FlagSet, c *configv1alpha1.NetworkProviderConfiguration) error {
	limits := [4]*int32{&c.Limits.Connections, &c.Limits.Streams, &c.Limits.Requests, &c.Limits.BodiesBytes}
	problems := []error{f.Override(set, &c.Logging, limits, map[string]func(){
		"ledger":          func() { c.Ledger = configv1alpha1.Ledger{Path: f.ledger} },
		"metrics-address": func() { c.Metrics.Address = f.metricsAddress },
		"cni-conf-dir":    func() { c.CNI.Configurations = f.configurations },
		"cni-bin-dir":     func() { c.CNI.Plugins = f.plugins },
	})}
	if set.Changed("node") || c.Node == "" {
		c.Node = f.node
	}
	c.Profiles.Paths = append(c.Profiles.Paths, f.profiles...)
	if len(f.listen) == 0 {
		return errors.Join(problems...)
	}
	c.Listeners = nil
	for _, text := range f.listen {
		l, err := f.listener(text)
		problems = append(problems, err)
		c.Listeners = append(c.Listeners, l)
	}
	return errors.Join(problems...)
}

// listener parses a value of --listen.
func (f *Flags) listener(text string) (configv1alpha1.NetworkListener, error) {
	l := configv1alpha1.NetworkListener{Address: text}
	contracts, address, ok := strings.Cut(text, "=")
	if ok && !strings.Contains(contracts, "/") {
		l.Address = address
		for _, name := range strings.Split(contracts, ",") {
			if known := configv1alpha1.NetworkContracts(); !slices.Contains(known, name) {
				return l, fmt.Errorf("--listen %s: there is no contract %q: there are %s%s", text, name, strings.Join(known, ", "), source.Suggest(name, known))
			}
			l.Contracts = append(l.Contracts, configv1alpha1.NetworkContract(name))
		}
	}
	l.Insecure = f.insecure && (l.Exposed() || !strings.HasPrefix(l.Address, "unix://"))
	problems := l.Check()
	for _, field := range slices.Sorted(maps.Keys(problems)) {
		return l, fmt.Errorf("--listen %s: %s %w", text, field, problems[field])
	}
	return l, nil
}

// validate reports errors in flags and missing settings.
func validate(c *configv1alpha1.NetworkProviderConfiguration) error {
	var problems shell.Problems
	add := problems.Add
	add(len(c.Profiles.Paths) == 0, "no profiles: give --profiles, or profiles.paths in the configuration")
	add(len(c.Listeners) == 0, "nowhere to listen: give --listen, or listeners in the configuration")
	add(c.AnswersDocker() && c.Ledger.Etcd != nil && c.Node == "",
		"no node: Docker's networks and endpoints are of one machine, and a ledger in etcd may be that of several; give --node, or node in the configuration")
	problems.AddMetricsAddress(c.Metrics.Address)
	problems.AddLog(c.Logging)
	return problems.Err()
}
