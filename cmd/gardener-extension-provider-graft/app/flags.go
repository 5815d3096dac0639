// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/installation"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/webhook"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

const leaseName = Name + "-leader-election"

// Flags are the command line. The names are those of all Gardener extensions.
type Flags struct {
	shell.Flags
	kubeconfig, master string
	gardenerVersion    string
	kubernetesVersions string
	profiles           []string

	webhookMode, webhookURL, webhookNamespace, webhookHost string
	webhookPort, webhookServicePort                        int32
	clientCA                                               string

	leaderElection                            bool
	leaderElectionID, leaderElectionNamespace string
	heartbeatNamespace                        string
	heartbeatSeconds                          int32
	metricsAddress, healthAddress             string
}

// NewFlags returns the defaults. The namespaces come from the environment, as in Gardener's other extensions.
func NewFlags() *Flags {
	return &Flags{
		webhookMode:             webhook.ModeService,
		webhookServicePort:      443,
		webhookNamespace:        os.Getenv("WEBHOOK_CONFIG_NAMESPACE"),
		leaderElectionNamespace: os.Getenv("LEADER_ELECTION_NAMESPACE"),
		kubeconfig:              os.Getenv("KUBECONFIG"),
		heartbeatSeconds:        30,
	}
}

// AddTo defines the flags.
func (f *Flags) AddTo(set *pflag.FlagSet) {
	set.SortFlags = false
	f.AddConfig(set, "ControllerConfiguration")
	set.StringArrayVar(&f.profiles, "profile", nil, "file or folder with profiles, in addition to the configuration (repeatable)")
	set.StringVar(&f.gardenerVersion, "gardener-version", "", "version of Gardener (default: the current one)")
	set.StringVar(&f.kubernetesVersions, "kubernetes-versions", "", `versions of Kubernetes that are served, such as ">= 1.31, < 1.36" (default: all)`)
	set.StringVar(&f.kubeconfig, "kubeconfig", f.kubeconfig, "kubeconfig of the seed (default: the Pod's service account)")
	set.StringVar(&f.master, "master", "", "URL of the kube-apiserver, instead of the one in the kubeconfig")

	set.StringVar(&f.webhookMode, "webhook-config-mode", f.webhookMode, "how the kube-apiserver calls: service (in the cluster) or url (outside)")
	set.StringVar(&f.webhookURL, "webhook-config-url", "", "host:port for calls of kube-apiserver in mode url")
	set.StringVar(&f.webhookNamespace, "webhook-config-namespace", f.webhookNamespace, "the program's namespace, for Secrets and ConfigMaps")
	set.Int32Var(&f.webhookServicePort, "webhook-config-service-port", f.webhookServicePort, "port of the Service in mode service")
	set.StringVar(&f.webhookHost, "webhook-config-server-host", "", "address of the webhook server (default: all addresses)")
	set.Int32Var(&f.webhookPort, "webhook-config-server-port", 0, "port of the webhook server (default 10250)")
	// Charts of Gardener's extensions give this flag.
	set.String("webhook-config-cert-dir", "", "folder for the server certificate")
	_ = set.MarkDeprecated("webhook-config-cert-dir", "certificates stay in memory and in Secrets")

	set.StringVar(&f.clientCA, "client-ca", "", "file with the CAs for client certificates; default: client certificates are not requested")

	set.BoolVar(&f.leaderElection, "leader-election", true, "elect a leader that writes registration and certificates")
	set.StringVar(&f.leaderElectionID, "leader-election-id", "", "name of the Lease (default "+leaseName+")")
	set.StringVar(&f.leaderElectionNamespace, "leader-election-namespace", f.leaderElectionNamespace, "namespace of the Lease (default: the program's)")
	set.StringVar(&f.heartbeatNamespace, "heartbeat-namespace", "", "namespace of the heartbeat Lease (default: no heartbeat)")
	set.Int32Var(&f.heartbeatSeconds, "heartbeat-renew-interval-seconds", f.heartbeatSeconds, "seconds between heartbeats")

	set.StringVar(&f.metricsAddress, "metrics-bind-address", "", `address of /metrics, "0" for none (default :8080)`)
	set.StringVar(&f.healthAddress, "health-bind-address", "", "address of /healthz and /readyz (default :8081)")
	f.Flags.AddTo(set)
}

// Complete reads the configuration and applies the given flags. It fails if a file is unreadable, or a value is
// invalid.
func (f *Flags) Complete(set *pflag.FlagSet) (*installation.Installation, error) {
	config, err := shell.Read(&f.Flags, configv1alpha1.DecodeControllerConfiguration)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.override(set, config), f.validate(config)); err != nil {
		return nil, err
	}
	generation, err := contract.GenerationOf(f.gardenerVersion)
	if err != nil {
		return nil, fmt.Errorf("reading --gardener-version: %w", err)
	}
	var kubernetes *semver.Constraints
	if f.kubernetesVersions != "" {
		if kubernetes, err = semver.NewConstraint(f.kubernetesVersions); err != nil {
			return nil, fmt.Errorf("reading --kubernetes-versions: %w", err)
		}
	}
	component := strings.TrimPrefix(Name, "gardener-extension-")
	if strings.HasPrefix(f.webhookNamespace, installation.RuntimeNamespacePrefix) {
		component += "-runtime"
	}
	clientCA, err := readCAs(f.clientCA)
	if err != nil {
		return nil, fmt.Errorf("reading --client-ca: %w", err)
	}
	certificates := webhook.Certificates{Component: component, Namespace: f.webhookNamespace, Mode: f.webhookMode, URL: f.webhookURL}
	return &installation.Installation{
		Name:   Name,
		Config: config, Kubeconfig: f.kubeconfig, Master: f.master,
		GardenerVersion: f.gardenerVersion, Generation: generation, Kubernetes: kubernetes,
		Certificates: certificates, Endpoint: f.endpoint(certificates, config),
		WebhookHost: f.webhookHost, ClientCA: clientCA, ManagedResource: managedResource(f.webhookNamespace),
		HeartbeatNamespace: f.heartbeatNamespace, HeartbeatSeconds: f.heartbeatSeconds,
	}, nil
}

func (f *Flags) override(set *pflag.FlagSet, c *configv1alpha1.ControllerConfiguration) error {
	limits := [4]*int32{&c.Limits.Connections, &c.Limits.Streams, &c.Limits.Requests, &c.Limits.BodiesBytes}
	err := f.Override(set, &c.Logging, limits, map[string]func(){
		"leader-election":            func() { c.LeaderElection.Enabled = &f.leaderElection },
		"leader-election-id":         func() { c.LeaderElection.ResourceName = f.leaderElectionID },
		"webhook-config-server-port": func() { c.Server.WebhookPort = f.webhookPort },
		"metrics-bind-address":       func() { c.Server.MetricsBindAddress = f.metricsAddress },
		"health-bind-address":        func() { c.Server.HealthBindAddress = f.healthAddress },
	})
	c.LeaderElection.ResourceNamespace = cmp.Or(f.leaderElectionNamespace, c.LeaderElection.ResourceNamespace, f.webhookNamespace)
	if c.LeaderElection.ResourceName == leaseName && c.LeaderElection.ResourceNamespace != f.webhookNamespace {
		// Two installations may use one namespace for Leases; each elects its own leader.
		c.LeaderElection.ResourceName += "." + f.webhookNamespace
	}
	c.Profiles.Paths = append(c.Profiles.Paths, f.profiles...)
	return err
}

func (f *Flags) validate(c *configv1alpha1.ControllerConfiguration) error {
	var problems shell.Problems
	add := problems.Add
	_, _, err := net.SplitHostPort(f.webhookURL)
	add(f.webhookMode != webhook.ModeService && f.webhookMode != webhook.ModeURL, "--webhook-config-mode must be service or url, is %q", f.webhookMode)
	add(f.webhookMode == webhook.ModeURL && err != nil, "--webhook-config-url must be host:port in the mode url")
	add(f.webhookNamespace == "", "--webhook-config-namespace (or WEBHOOK_CONFIG_NAMESPACE) is needed")
	add(len(c.Profiles.Paths) == 0 && !c.Profiles.ConfigMaps.Enabled, "no profiles: give --profile, or profiles.paths or profiles.configMaps in the configuration")
	add(c.Server.WebhookPort < 1 || c.Server.WebhookPort > 65535, "--webhook-config-server-port must be 1 to 65535")
	add(f.webhookServicePort < 1 || f.webhookServicePort > 65535, "--webhook-config-service-port must be 1 to 65535")
	problems.AddLog(c.Logging)
	add(f.heartbeatSeconds < 1, "--heartbeat-renew-interval-seconds must be at least 1")
	return problems.Err()
}

func (f *Flags) endpoint(certificates webhook.Certificates, c *configv1alpha1.ControllerConfiguration) webhook.Endpoint {
	return webhook.Endpoint{
		Name: certificates.ClusterName(), Service: certificates.FullName(), Mode: f.webhookMode, URL: f.webhookURL,
		Namespace: f.webhookNamespace, ServicePort: f.webhookServicePort,
		TimeoutSeconds: c.Webhook.TimeoutSeconds, FailurePolicy: admissionregistrationv1.FailurePolicyType(c.Webhook.FailurePolicy),
	}
}

// readCAs reads a file with CA certificates. It returns nil without a path, and fails if the file has none.
func readCAs(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := disk.ReadFile(path, disk.CertificateSize)
	if err != nil {
		return nil, err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s has no certificate in PEM", path)
	}
	return raw, nil
}

// managedResource returns the ManagedResource of an installation, derived from its namespace (gardener:
// pkg/utils/gardener/controllerinstallation.go and pkg/utils/gardener/operator/extension.go). It returns an
// empty key for a namespace that Gardener did not create.
func managedResource(namespace string) client.ObjectKey {
	if name, ok := strings.CutPrefix(namespace, installation.RuntimeNamespacePrefix); ok {
		return client.ObjectKey{Namespace: v1beta1constants.GardenNamespace, Name: "extension-" + name + "-garden"}
	}
	if name, ok := strings.CutPrefix(namespace, "extension-"); ok {
		return client.ObjectKey{Namespace: v1beta1constants.GardenNamespace, Name: name}
	}
	return client.ObjectKey{}
}
