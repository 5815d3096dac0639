// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/installation"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// Flags are the command line.
type Flags struct {
	shell.Flags
	profiles                    []string
	optional                    []string
	gardener, check             bool
	unregister                  bool
	listen, metricsAddress      string
	certFile, keyFile, caFile   string
	secret, folder              string
	dnsNames, addresses         []string
	kubeconfig, namespace       string
	register, karmadaKubeconfig string
	url, service                string
	timeoutSeconds              int32
	leaderElection              bool
}

// Options are the completed flags and configuration.
type Options struct {
	// Installation has the configuration after applying the flags.
	installation.Installation
	// CheckOnly validates without serving.
	CheckOnly bool
	// Unregister deletes the registration without serving.
	Unregister bool
}

// AddTo defines the flags.
func (f *Flags) AddTo(set *pflag.FlagSet) {
	set.SortFlags = false
	f.AddConfig(set, "ResourceInterpreterConfiguration")
	set.StringArrayVar(&f.profiles, "profiles", nil, "file or folder with InterpreterProfiles, in addition to the configuration (repeatable)")
	set.BoolVar(&f.gardener, "gardener", true, "include the rules for Gardener's kinds, after those of the profiles")
	set.StringArrayVar(&f.optional, "gardener-optional", nil, "name of an optional profile for Gardener's kinds: "+
		strings.Join(gardener.Optional(), ", ")+" (repeatable)")
	set.StringVar(&f.listen, "listen", "", "host:port for Karmada (default :8443)")
	set.StringVar(&f.metricsAddress, "metrics-address", "", `host:port of /metrics, /healthz and /readyz, "0" for none (default :9475)`)
	set.StringVar(&f.certFile, "tls-cert-file", "", "file with the certificate, read again when it changes")
	set.StringVar(&f.keyFile, "tls-key-file", "", "file with the key of the certificate")
	set.StringVar(&f.caFile, "tls-ca-file", "", "file with the CA bundle for the registration")
	set.StringVar(&f.secret, "certificate-secret", "", "[namespace/]name of a Secret for a certificate that the program issues and all replicas share")
	set.StringVar(&f.folder, "certificate-folder", "",
		"folder for a certificate that the program issues; programs on one machine can share it, and ca.crt in it is for callers")
	set.StringArrayVar(&f.dnsNames, "dns-name", nil, "additional name in the issued certificate, after --url or --service (repeatable)")
	set.StringArrayVar(&f.addresses, "ip-address", nil, "additional IP address in the issued certificate (repeatable)")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster with the Secret and the Lease (default that of the ServiceAccount)")
	set.StringVar(&f.namespace, "namespace", "", "namespace of the Secret and the Lease (default that of the ServiceAccount)")
	set.StringVar(&f.register, "register", "", "name of the ResourceInterpreterWebhookConfiguration that the program keeps current in Karmada; needs --url or --service")
	set.StringVar(&f.karmadaKubeconfig, "karmada-kubeconfig", "", "kubeconfig of Karmada's API server, for --register (default that of --kubeconfig)")
	set.StringVar(&f.url, "url", "", "https://host:port/path that Karmada and its agents call, for --register")
	set.StringVar(&f.service, "service", "", "namespace/name[:port] of the Service that Karmada calls, for --register; agents of member clusters cannot call it")
	set.Int32Var(&f.timeoutSeconds, "timeout-seconds", 0, "how long Karmada waits for an answer, 1 to 30, for --register (default 10)")
	set.BoolVar(&f.leaderElection, "leader-election", true, "let one replica write the registration; false by default with --certificate-folder")
	f.Flags.AddTo(set)
	set.BoolVar(&f.check, "check", false, "validate configuration and profiles, and exit")
	set.BoolVar(&f.unregister, "unregister", false, "delete the registration of this installation from Karmada, and exit")
}

// Complete reads the configuration and applies the given flags. It fails if a file is unreadable, or a value is
// invalid.
func (f *Flags) Complete(set *pflag.FlagSet) (*Options, error) {
	config, err := shell.Read(&f.Flags, configv1alpha1.DecodeResourceInterpreterConfiguration)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.override(set, config), validate(config)); err != nil {
		return nil, err
	}
	return &Options{Installation: installation.Installation{Program: Name, Config: config}, CheckOnly: f.check, Unregister: f.unregister}, nil
}

func (f *Flags) override(set *pflag.FlagSet, c *configv1alpha1.ResourceInterpreterConfiguration) error {
	l := &c.Limits
	limits := [4]*int32{&l.Connections, &l.Streams, &l.Requests, &l.BodiesBytes}
	f.certificate(set, c)
	err := f.Override(set, &c.Logging, limits, map[string]func(){
		"gardener":        func() { c.Profiles.Gardener = &f.gardener },
		"listen":          func() { c.Server.Address = f.listen },
		"metrics-address": func() { c.Metrics.Address = f.metricsAddress },
		"kubeconfig":      func() { c.Kubernetes.Kubeconfig = f.kubeconfig },
		"namespace":       func() { c.Kubernetes.Namespace = f.namespace },
		"leader-election": func() { c.LeaderElection.Enabled = &f.leaderElection },
	})
	c.Profiles.Paths = append(c.Profiles.Paths, f.profiles...)
	c.Profiles.Optional = append(c.Profiles.Optional, f.optional...)
	return errors.Join(err, f.registration(set, c))
}

// certificate replaces the configured source of the certificate by the source in the flags.
func (f *Flags) certificate(set *pflag.FlagSet, c *configv1alpha1.ResourceInterpreterConfiguration) {
	at := &c.Certificate
	if set.Changed("tls-cert-file") || set.Changed("tls-key-file") || set.Changed("certificate-secret") || set.Changed("certificate-folder") {
		at.Files, at.Secret, at.Folder = nil, nil, f.folder
	}
	if set.Changed("tls-cert-file") || set.Changed("tls-key-file") {
		at.Files = &configv1alpha1.CertificateFiles{CertFile: f.certFile, KeyFile: f.keyFile, CAFile: f.caFile}
	}
	if set.Changed("certificate-secret") {
		namespace, name, found := strings.Cut(f.secret, "/")
		if !found {
			namespace, name = "", f.secret
		}
		at.Secret = &configv1alpha1.SecretName{Namespace: namespace, Name: name}
	}
	if set.Changed("certificate-folder") {
		alone := false
		c.LeaderElection.Enabled = &alone
	}
	at.DNSNames = append(at.DNSNames, f.dnsNames...)
	at.IPAddresses = append(at.IPAddresses, f.addresses...)
}

// registration applies the flags of the registration.
func (f *Flags) registration(set *pflag.FlagSet, c *configv1alpha1.ResourceInterpreterConfiguration) error {
	if c.Registration == nil {
		if !set.Changed("register") {
			for _, name := range []string{"karmada-kubeconfig", "url", "service", "timeout-seconds"} {
				if set.Changed(name) {
					return fmt.Errorf("--%s needs --register", name)
				}
			}
			return nil
		}
		c.Registration = &configv1alpha1.Registration{}
	}
	r := c.Registration
	if set.Changed("register") {
		r.Name = f.register
	}
	if set.Changed("karmada-kubeconfig") {
		r.Kubeconfig = f.karmadaKubeconfig
	}
	if set.Changed("timeout-seconds") {
		r.TimeoutSeconds = f.timeoutSeconds
	}
	if set.Changed("url") || set.Changed("service") {
		r.URL, r.Service = f.url, nil
	}
	if set.Changed("service") {
		s, err := configv1alpha1.ParseService(f.service)
		if err != nil {
			return fmt.Errorf("--service %s: %w", f.service, err)
		}
		r.Service = s
	}
	r.Default()
	return nil
}

// validate reports errors in flags and missing settings.
func validate(c *configv1alpha1.ResourceInterpreterConfiguration) error {
	var problems shell.Problems
	add := problems.Add
	add(len(c.Profiles.Paths) == 0 && !*c.Profiles.Gardener, "no profiles: give --profiles, or profiles.paths in the configuration")
	add(len(c.Profiles.Optional) > 0 && !*c.Profiles.Gardener, "--gardener-optional needs --gardener")
	add(c.Certificate.Sources() == 0, "no certificate: give --tls-cert-file and --tls-key-file, --certificate-secret or --certificate-folder")
	add(c.Certificate.Sources() > 1, "there are several certificates: give only files, a Secret or a folder")
	if files := c.Certificate.Files; files != nil {
		add(files.CertFile == "" || files.KeyFile == "", "--tls-cert-file and --tls-key-file must be given together")
	}
	for _, name := range c.Certificate.DNSNames {
		if err := configv1alpha1.CheckDNSName(name); err != nil {
			problems = append(problems, fmt.Errorf("--dns-name: %w", err))
		}
	}
	for _, address := range c.Certificate.IPAddresses {
		_, err := netip.ParseAddr(address)
		add(err != nil, "--ip-address: %q is not an address", address)
	}
	if r := c.Registration; r != nil {
		if err := r.Check(); err != nil {
			problems = append(problems, fmt.Errorf("registration: %w", err))
		}
		add(r.TimeoutSeconds < 1 || r.TimeoutSeconds > 30, "--timeout-seconds must be 1 to 30")
	}
	_, _, err := net.SplitHostPort(c.Server.Address)
	add(err != nil, "--listen must be host:port")
	problems.AddMetricsAddress(c.Metrics.Address)
	problems.AddLog(c.Logging)
	return problems.Err()
}
