// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// Flags are the command line.
type Flags struct {
	config, node, ledger    string
	profiles, listen        []string
	insecure, check         bool
	metricsAddress          string
	configurations, plugins string
	logLevel, logFormat     string
	limits                  serving.LimitFlags
}

// Options are the completed flags and configuration.
type Options struct {
	// Config is the configuration, with the flags that were given laid over it.
	Config *configv1alpha1.NetworkProviderConfiguration
	// CheckOnly says that nothing is to be served.
	CheckOnly bool
	// EachNode says that the node is the one that the environment names: that of the Pod, as DaemonSets write it, so that other nodes have such a
	// server, too.
	EachNode bool
}

// NewFlags are the defaults. The node comes from the environment, where a DaemonSet puts it.
func NewFlags() *Flags { return &Flags{node: os.Getenv("NODE_NAME")} }

// AddTo defines the flags.
func (f *Flags) AddTo(set *pflag.FlagSet) {
	set.SortFlags = false
	set.StringVar(&f.config, "config", "", "file with the NetworkProviderConfiguration; defaults without one")
	set.StringVar(&f.node, "node", f.node, "node that is served; a service for many without one (default $NODE_NAME)")
	set.StringArrayVar(&f.profiles, "profiles", nil, "file or folder with NetworkProfiles, beside those of the configuration (repeatable)")
	set.StringVar(&f.ledger, "ledger", "", "folder of the embedded ledger (default /var/lib/graft/ledger)")
	set.StringArrayVar(&f.listen, "listen", nil, "address in place of those of the configuration (repeatable): unix:///path, tcp://host:port or\n"+
		"systemd://name, with the contracts that are answered there in front, such as dranet=unix:///run/graft/dranet.sock;\n"+
		"without, dranet and spiderpool. docker must be named: docker=unix:///run/docker/plugins/graft.sock")
	set.BoolVar(&f.insecure, "insecure", false, "permit --listen off loopback: everybody who can reach it can allocate and release")
	set.StringVar(&f.metricsAddress, "metrics-address", "", `host:port of /metrics, /healthz and /readyz, "0" for none (default 127.0.0.1:9474)`)
	set.StringVar(&f.configurations, "cni-conf-dir", "", "folder of CNI network configurations (default /etc/cni/net.d)")
	set.StringVar(&f.plugins, "cni-bin-dir", "", "folder of CNI plugins (default /opt/cni/bin)")
	f.limits.AddTo(set)
	set.StringVar(&f.logLevel, "log-level", "", "debug, info or error (default info)")
	set.StringVar(&f.logFormat, "log-format", "", "json or text (default json)")
	set.BoolVar(&f.check, "check", false, "say whether configuration and profiles are right, and end; the ledger is not opened")
}

// Complete reads the configuration and lays the flags that were given over it.
func (f *Flags) Complete(set *pflag.FlagSet) (*Options, error) {
	file := source.File{Name: f.config}
	if f.config != "" {
		data, err := disk.ReadFile(f.config, disk.DocumentSize)
		if err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
		file.Data = data
	}
	config, err := configv1alpha1.DecodeNetworkProviderConfiguration(file)
	if err != nil {
		return nil, err
	}
	placed := !set.Changed("node") && config.Node == ""
	if err := errors.Join(f.override(set, config), validate(config)); err != nil {
		return nil, err
	}
	return &Options{Config: config, CheckOnly: f.check, EachNode: placed && config.Node != ""}, nil
}

func (f *Flags) override(set *pflag.FlagSet, c *configv1alpha1.NetworkProviderConfiguration) error {
	for name, lay := range map[string]func(){
		"ledger":          func() { c.Ledger = configv1alpha1.Ledger{Path: f.ledger} },
		"metrics-address": func() { c.Metrics.Address = f.metricsAddress },
		"cni-conf-dir":    func() { c.CNI.Configurations = f.configurations },
		"cni-bin-dir":     func() { c.CNI.Plugins = f.plugins },
		"log-level":       func() { c.Logging.Level = f.logLevel },
		"log-format":      func() { c.Logging.Format = f.logFormat },
	} {
		if set.Changed(name) {
			lay()
		}
	}
	if set.Changed("node") || c.Node == "" {
		c.Node = f.node
	}
	c.Profiles.Paths = append(c.Profiles.Paths, f.profiles...)
	problems := []error{f.limits.Override(set, &c.Limits.Connections, &c.Limits.Streams, &c.Limits.Requests, &c.Limits.BodiesBytes)}
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

// listener reads --listen.
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

// validate finds what flags have got wrong, and what neither they nor the configuration say.
func validate(c *configv1alpha1.NetworkProviderConfiguration) error {
	var problems []error
	add := func(wrong bool, format string, arguments ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf(format, arguments...))
		}
	}
	add(len(c.Profiles.Paths) == 0, "no profiles: give --profiles, or profiles.paths in the configuration")
	add(len(c.Listeners) == 0, "nowhere to listen: give --listen, or listeners in the configuration")
	add(c.AnswersDocker() && c.Ledger.Etcd != nil && c.Node == "",
		"no node: Docker's networks and endpoints are of one machine, and a ledger in etcd may be that of several; give --node, or node in the configuration")
	_, _, err := net.SplitHostPort(c.Metrics.Address)
	add(err != nil && c.Metrics.Address != "0", "--metrics-address must be host:port, or 0")
	add(!slices.Contains([]string{"debug", "info", "error"}, c.Logging.Level), "--log-level must be debug, info or error, is %q", c.Logging.Level)
	add(!slices.Contains([]string{"json", "text"}, c.Logging.Format), "--log-format must be json or text, is %q", c.Logging.Format)
	return errors.Join(problems...)
}
