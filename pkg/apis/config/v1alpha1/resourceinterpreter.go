// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// ResourceInterpreterConfiguration configures graft-resource-interpreter. Flags on the command line override
// fields of the same meaning.
type ResourceInterpreterConfiguration struct {
	// APIVersion is graft.provider.extensions.config.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is ResourceInterpreterConfiguration.
	Kind string `json:"kind"`
	// Profiles configures the sources of InterpreterProfiles.
	Profiles InterpreterProfiles `json:"profiles,omitempty"`
	// Server configures the address for Karmada.
	Server InterpreterServer `json:"server,omitempty"`
	// Certificate configures the source of the server's certificate; exactly one of files, secret and folder is
	// required.
	Certificate InterpreterCertificate `json:"certificate,omitempty"`
	// Kubernetes is the cluster where the program runs, with the Secret of its certificates and its Lease.
	Kubernetes InterpreterCluster `json:"kubernetes,omitempty"`
	// Registration is the registration in Karmada's API server; without it, you register the webhook yourself.
	Registration *Registration `json:"registration,omitempty"`
	// LeaderElection elects the replica that writes the registration; all replicas serve.
	LeaderElection InterpreterElection `json:"leaderElection,omitempty"`
	// Metrics configures the address of /metrics, /healthz and /readyz.
	Metrics InterpreterMetrics `json:"metrics,omitempty"`
	// Limits limit concurrent requests of callers.
	Limits InterpreterLimits `json:"limits,omitempty"`
	// Logging configures the log.
	Logging Logging `json:"logging,omitempty"`
	// Debugging serves Go's profiles under /debug/pprof at the metrics address; off by default.
	Debugging Debugging `json:"debugging,omitempty"`
	// Shutdown configures the shutdown of the program.
	Shutdown Shutdown `json:"shutdown,omitempty"`
}

// InterpreterProfiles configures the sources of InterpreterProfiles; all are read together, and again when they
// change.
type InterpreterProfiles struct {
	// Paths are files, or folders with *.yaml and *.yml files (not recursive). They take precedence over Gardener's.
	Paths []string `json:"paths,omitempty"`
	// Gardener enables the profiles for Gardener's own kinds; true by default.
	Gardener *bool `json:"gardener,omitempty"`
	// Optional are the optional profiles of Gardener to enable.
	Optional []string `json:"optional,omitempty"`
}

// InterpreterServer configures the address for Karmada and its agents in member clusters.
type InterpreterServer struct {
	// Address is host:port; ":8443" by default.
	Address string `json:"address,omitempty"`
}

// InterpreterCertificate configures a certificate from files, or one that the program issues itself and keeps
// with its authority in a Secret that all replicas share, or in a folder that programs on one machine share.
type InterpreterCertificate struct {
	// Files are your own files, such as from cert-manager; they are reloaded when they change.
	Files *CertificateFiles `json:"files,omitempty"`
	// Secret is the Secret with the issued certificate; it is created if missing.
	Secret *SecretName `json:"secret,omitempty"`
	// Folder is the folder with the issued certificate.
	Folder string `json:"folder,omitempty"`
	// DNSNames are additional names in the certificate; localhost if there is no other name.
	DNSNames []string `json:"dnsNames,omitempty"`
	// IPAddresses are the addresses in an issued certificate.
	IPAddresses []string `json:"ipAddresses,omitempty"`
	// AuthorityValidity is the validity of the issued CA; 8760h by default. It is renewed when a third is left.
	AuthorityValidity Duration `json:"authorityValidity,omitempty"`
	// Validity is the validity of issued certificates; 720h by default. They are renewed when a third is left.
	Validity Duration `json:"validity,omitempty"`
	// Overlap is the time that a new CA is registered before it signs certificates, and an old one afterwards; 10m by
	// default. Without a registration, the time that you need to distribute it.
	Overlap Duration `json:"overlap,omitempty"`
}

// CertificateFiles are PEM files, such as those of a mounted Secret.
type CertificateFiles struct {
	// CertFile is the file with the certificate of the server and its chain.
	CertFile string `json:"certFile"`
	// KeyFile is the file with the key of the certificate.
	KeyFile string `json:"keyFile"`
	// CAFile is the CA bundle for callers; without it, callers use the CAs of their machine.
	CAFile string `json:"caFile,omitempty"`
}

// SecretName names a Secret.
type SecretName struct {
	// Namespace is the namespace of the Secret; by default the program's.
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the Secret; graft-resource-interpreter-tls by default.
	Name string `json:"name,omitempty"`
}

// InterpreterCluster identifies a cluster and the program's namespace in it.
type InterpreterCluster struct {
	// Kubeconfig is the kubeconfig; by default the ServiceAccount. It needs get and list on pods and
	// resourceclaims, and create and patch on events.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Namespace is the namespace of the program; by default that of the ServiceAccount.
	Namespace string `json:"namespace,omitempty"`
}

// The dialects of a registration.
const (
	// DialectShipped is the dialect of ResourceInterpreterWebhookConfiguration.
	DialectShipped = "shipped"
	// DialectProposal is the dialect of ResourceExploringWebhookConfiguration.
	DialectProposal = "proposal"
)

// Registration configures the ResourceInterpreterWebhookConfiguration in Karmada's API server. It is written
// when the active profiles or the certificate's authorities change, and when another program has changed it.
type Registration struct {
	// Name is the name of the ResourceInterpreterWebhookConfiguration; graft-resource-interpreter by default.
	Name string `json:"name,omitempty"`
	// Kubeconfig is the kubeconfig of Karmada's API server; by default the cluster where the program runs is
	// used.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Dialects are the dialects of the registration: shipped (default) and proposal.
	Dialects []string `json:"dialects,omitempty"`
	// URL is the address for Karmada and its agents: https://host:port/path. Agents in member clusters cannot
	// use a Service.
	URL string `json:"url,omitempty"`
	// Service replaces URL if no member cluster is in pull mode.
	Service *RegisteredService `json:"service,omitempty"`
	// Without are operations to leave out of the registration, such as components, if Karmada does not know them.
	Without []string `json:"without,omitempty"`
	// TimeoutSeconds is Karmada's timeout, 1 to 30; 10 by default.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" between:"1,30"`
	// Owner the owner mark of this installation; by default the UID of the Lease, or without an election the URL or
	// the Service.
	Owner string `json:"owner,omitempty"`
	// SyncPeriod is the interval of regular checks of the registration; 30s by default.
	SyncPeriod Duration `json:"syncPeriod,omitempty"`
}

// RegisteredService is a Service in the cluster where Karmada runs.
type RegisteredService struct {
	// Namespace is the namespace of the Service.
	Namespace string `json:"namespace"`
	// Name is the name of the Service.
	Name string `json:"name"`
	// Port is the port of the Service; 443 by default.
	Port int32 `json:"port,omitempty" between:"1,65535"`
	// Path is the path of the URL; /interpret by default.
	Path string `json:"path,omitempty"`
}

// InterpreterElection configures the Lease of the replicas.
type InterpreterElection struct {
	// Enabled enables the election; true by default, false with certificate.folder. There is none without a
	// registration.
	Enabled *bool `json:"enabled,omitempty"`
	// ResourceName is the name of the Lease; graft-resource-interpreter by default.
	ResourceName string `json:"resourceName,omitempty"`
	// ResourceNamespace is the namespace of the Lease; the program's own by default.
	ResourceNamespace string `json:"resourceNamespace,omitempty"`
}

// InterpreterMetrics configures monitoring.
type InterpreterMetrics struct {
	// Address is host:port, or "0" for none; ":9475" by default.
	Address string `json:"address,omitempty"`
}

// InterpreterLimits bound the load by callers.
type InterpreterLimits struct {
	// Requests are the number of concurrent requests; 256 by default. Further ones wait, and get 503 after their
	// timeout or when four times as many wait.
	Requests int32 `json:"requests,omitempty" between:"1,100000"`
	// Connections are the number of connections; 1024 by default, and at most three quarters of the file limit.
	// Beyond it, the connection that has been idle the longest is closed.
	Connections int32 `json:"connections,omitempty" between:"1,1000000"`
	// Streams are the number of concurrent requests on an HTTP/2 connection; 32 by default.
	Streams int32 `json:"streams,omitempty" between:"1,10000"`
	// BodyBytes is the maximum size of a request; 20 MiB by default.
	BodyBytes int32 `json:"bodyBytes,omitempty" between:"65536,268435456"`
	// BodiesBytes limits the received bodies of all requests; 128 MiB by default, and at least four times bodyBytes.
	// Further ones wait, and stalled bodies are dropped.
	BodiesBytes int32 `json:"bodiesBytes,omitempty" between:"65536,2147483647"`
}

// Default sets the default of every field that was not set.
func (c *ResourceInterpreterConfiguration) Default() {
	enabled, elected := true, c.Certificate.Folder == ""
	c.APIVersion, c.Kind = GroupVersion.String(), KindResourceInterpreterConfiguration
	setDefault(&c.Profiles.Gardener, &enabled)
	setDefault(&c.Server.Address, ":8443")
	if c.Certificate.Secret != nil {
		setDefault(&c.Certificate.Secret.Name, "graft-resource-interpreter-tls")
	}
	setDuration(&c.Certificate.AuthorityValidity, 365*24*time.Hour)
	setDuration(&c.Certificate.Validity, 30*24*time.Hour)
	setDuration(&c.Certificate.Overlap, 10*time.Minute)
	if c.Registration != nil {
		c.Registration.Default()
	}
	setDefault(&c.LeaderElection.Enabled, &elected)
	setDefault(&c.LeaderElection.ResourceName, "graft-resource-interpreter")
	setDefault(&c.Metrics.Address, ":9475")
	setDefault(&c.Limits.Requests, 256)
	setDefault(&c.Limits.Connections, 1024)
	setDefault(&c.Limits.Streams, 32)
	setDefault(&c.Limits.BodyBytes, 20<<20)
	setDefault(&c.Limits.BodiesBytes, 128<<20)
	setDefault(&c.Logging.Level, "info")
	setDefault(&c.Logging.Format, "json")
	setDuration(&c.Shutdown.Delay, 3*time.Second)
	setDuration(&c.Shutdown.Timeout, 30*time.Second)
}

// Default sets the default of every field that was not set.
func (r *Registration) Default() {
	setDefault(&r.Name, "graft-resource-interpreter")
	if len(r.Dialects) == 0 {
		r.Dialects = []string{DialectShipped}
	}
	setDefault(&r.TimeoutSeconds, 10)
	setDuration(&r.SyncPeriod, 30*time.Second)
	if r.Service != nil {
		setDefault(&r.Service.Port, 443)
		setDefault(&r.Service.Path, "/interpret")
	}
}

// ParseService parses a Service in the form namespace/name or namespace/name:port. It fails for any other form.
func ParseService(text string) (*RegisteredService, error) {
	namespace, rest, ok := strings.Cut(text, "/")
	name, port, numbered := strings.Cut(rest, ":")
	s := &RegisteredService{Namespace: namespace, Name: name}
	if numbered {
		number, err := strconv.ParseUint(port, 10, 16)
		ok = ok && err == nil && number > 0
		s.Port = int32(number)
	}
	if !ok || namespace == "" || name == "" {
		return nil, errors.New("must be namespace/name or namespace/name:port")
	}
	return s, nil
}
