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

// ResourceInterpreterConfiguration configures graft-resource-interpreter. A flag of the same meaning that is given on the command
// line wins over a field.
type ResourceInterpreterConfiguration struct {
	// APIVersion is graft.provider.extensions.config.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is ResourceInterpreterConfiguration.
	Kind string `json:"kind"`
	// Profiles says where the InterpreterProfiles are found.
	Profiles InterpreterProfiles `json:"profiles,omitempty"`
	// Server says where Karmada is answered.
	Server InterpreterServer `json:"server,omitempty"`
	// Certificate says where the certificate of the server comes from; exactly one of its files, secret and folder is needed.
	Certificate InterpreterCertificate `json:"certificate,omitempty"`
	// Kubernetes is the cluster where the program runs, with the Secret of its certificates and its Lease.
	Kubernetes InterpreterCluster `json:"kubernetes,omitempty"`
	// Registration is what is written in Karmada's API server, so that Karmada asks; without it, that is somebody else's business.
	Registration *Registration `json:"registration,omitempty"`
	// LeaderElection chooses the replica that writes the registration; all replicas answer.
	LeaderElection InterpreterElection `json:"leaderElection,omitempty"`
	// Metrics says where /metrics, /healthz and /readyz are answered.
	Metrics InterpreterMetrics `json:"metrics,omitempty"`
	// Limits bound what callers can ask for at a time.
	Limits InterpreterLimits `json:"limits,omitempty"`
	// Logging says what is logged and how.
	Logging Logging `json:"logging,omitempty"`
	// Debugging serves Go's profiles under /debug/pprof at the metrics address; off by default.
	Debugging Debugging `json:"debugging,omitempty"`
	// Shutdown says how the program ends.
	Shutdown Shutdown `json:"shutdown,omitempty"`
}

// InterpreterProfiles are the sources of InterpreterProfiles; all are read together, and read again when they change.
type InterpreterProfiles struct {
	// Paths are files, or folders whose *.yaml and *.yml files are read (not those of folders in them). They come before those of Gardener.
	Paths []string `json:"paths,omitempty"`
	// Gardener says whether Gardener's own kinds are known without a profile; true by default.
	Gardener *bool `json:"gardener,omitempty"`
	// Optional are names of Gardener's profiles that are in force only where they are named, since not everybody wants what they say.
	Optional []string `json:"optional,omitempty"`
}

// InterpreterServer is the address for Karmada, and for its agents in member clusters.
type InterpreterServer struct {
	// Address is host:port; ":8443" by default.
	Address string `json:"address,omitempty"`
}

// InterpreterCertificate is a certificate that comes from files, or one that the program issues itself, and keeps with its authority in a Secret, which
// all replicas share, or in a folder that programs on one machine share.
type InterpreterCertificate struct {
	// Files are of somebody else, such as cert-manager, and are read again when they change.
	Files *CertificateFiles `json:"files,omitempty"`
	// Secret is where what is issued is kept; it is made where it is not there.
	Secret *SecretName `json:"secret,omitempty"`
	// Folder is where what is issued is kept.
	Folder string `json:"folder,omitempty"`
	// DNSNames are those in the certificate that is issued, beside that of registration.url or those of registration.service; localhost where there are
	// none of all these.
	DNSNames []string `json:"dnsNames,omitempty"`
	// IPAddresses are those in the certificate that is issued.
	IPAddresses []string `json:"ipAddresses,omitempty"`
	// AuthorityValidity is how long an authority that is issued holds; 8760h by default. When a third of it is left, another one follows.
	AuthorityValidity Duration `json:"authorityValidity,omitempty"`
	// Validity is how long a certificate that is issued holds; 720h by default. When a third of it is left, another one follows.
	Validity Duration `json:"validity,omitempty"`
	// Overlap is how long a new authority is known to callers before a certificate of it is served, and an old one after; 10m by default. Where no
	// registration tells callers, it is as long as somebody else needs to tell them.
	Overlap Duration `json:"overlap,omitempty"`
}

// CertificateFiles are files in PEM, such as those of a mounted Secret.
type CertificateFiles struct {
	// CertFile is the file with the certificate of the server and its chain.
	CertFile string `json:"certFile"`
	// KeyFile is the file with the key of the certificate.
	KeyFile string `json:"keyFile"`
	// CAFile is the file with the CAs by which callers know the certificate; without it, a registration says none, and callers use those of their machine.
	CAFile string `json:"caFile,omitempty"`
}

// SecretName names a Secret.
type SecretName struct {
	// Namespace is that of the Secret; the program's own by default.
	Namespace string `json:"namespace,omitempty"`
	// Name is that of the Secret; graft-resource-interpreter-tls by default.
	Name string `json:"name,omitempty"`
}

// InterpreterCluster is a cluster, and the place of the program in it.
type InterpreterCluster struct {
	// Kubeconfig is the file that leads to the cluster; that of the program's ServiceAccount without one.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Namespace is that of the program; that of its ServiceAccount by default.
	Namespace string `json:"namespace,omitempty"`
}

// The dialects of a registration.
const (
	// DialectShipped is that of ResourceInterpreterWebhookConfiguration.
	DialectShipped = "shipped"
	// DialectProposal is that of ResourceExploringWebhookConfiguration.
	DialectProposal = "proposal"
)

// Registration is the ResourceInterpreterWebhookConfiguration in Karmada's API server. It is written whenever the profiles in force or the certificate's
// authorities change, and when somebody else has changed it.
type Registration struct {
	// Name is that of the ResourceInterpreterWebhookConfiguration; graft-resource-interpreter by default.
	Name string `json:"name,omitempty"`
	// Kubeconfig is the file that leads to Karmada's API server; the cluster where the program runs without one.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Dialects are those in which the program registers itself: shipped, which is the default, and proposal, the one before it.
	Dialects []string `json:"dialects,omitempty"`
	// URL is where Karmada and its agents ask: https://host:port/path. Agents in member clusters can use no service.
	URL string `json:"url,omitempty"`
	// Service is used in place of a URL, where no member cluster is in pull mode.
	Service *RegisteredService `json:"service,omitempty"`
	// Without are operations, as profiles call them, that are not registered, such as components: a Karmada that does not know one refuses the whole
	// registration.
	Without []string `json:"without,omitempty"`
	// TimeoutSeconds is how long Karmada waits, 1 to 30; 10 by default.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" between:"1,30"`
	// Owner names this installation, so that another one does not write the same object: where it runs by default, which is the Lease with its UID, or without
	// an election the URL or the Service.
	Owner string `json:"owner,omitempty"`
	// SyncPeriod is how often it is compared without a reason; 30s by default.
	SyncPeriod Duration `json:"syncPeriod,omitempty"`
}

// RegisteredService is a Service in the cluster where Karmada runs.
type RegisteredService struct {
	// Namespace is that of the Service.
	Namespace string `json:"namespace"`
	// Name is that of the Service.
	Name string `json:"name"`
	// Port is that of the Service; 443 by default.
	Port int32 `json:"port,omitempty" between:"1,65535"`
	// Path is that of the URL; /interpret by default.
	Path string `json:"path,omitempty"`
}

// InterpreterElection configures the lease among replicas.
type InterpreterElection struct {
	// Enabled is true by default, and false with certificate.folder; a single replica may do without. Without a registration there is no election.
	Enabled *bool `json:"enabled,omitempty"`
	// ResourceName is the name of the Lease; graft-resource-interpreter by default.
	ResourceName string `json:"resourceName,omitempty"`
	// ResourceNamespace is the namespace of the Lease; the program's own by default.
	ResourceNamespace string `json:"resourceNamespace,omitempty"`
}

// InterpreterMetrics is where the program is watched.
type InterpreterMetrics struct {
	// Address is host:port, or "0" for none; ":9475" by default.
	Address string `json:"address,omitempty"`
}

// InterpreterLimits bound the work for callers.
type InterpreterLimits struct {
	// Requests are how many are worked on at a time; 256 by default. What is beyond waits, and is answered with 503 when it has waited in vain, or when four
	// times as many wait.
	Requests int32 `json:"requests,omitempty" between:"1,100000"`
	// Connections are how many are open at a time; 1024 by default, and three quarters of the files that the process may open at most. For what is beyond, the
	// connection is closed that has waited for its caller the longest.
	Connections int32 `json:"connections,omitempty" between:"1,1000000"`
	// Streams are how many requests one connection of HTTP/2 may have open at a time; 32 by default. Clients open another connection for more.
	Streams int32 `json:"streams,omitempty" between:"1,10000"`
	// BodyBytes is the size of the largest request that is read; 20 MiB by default.
	BodyBytes int32 `json:"bodyBytes,omitempty" between:"65536,268435456"`
	// BodiesBytes bounds the bodies of all requests together, by what has arrived of them; 128 MiB by default, and four times bodyBytes at least. What is
	// beyond waits, and bodies that do not come are given up for others.
	BodiesBytes int32 `json:"bodiesBytes,omitempty" between:"65536,2147483647"`
}

// Default fills in every field of the configuration that was not written.
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

// Default fills in every field that was not written.
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

// ParseService reads a Service of the form namespace/name or namespace/name:port.
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
