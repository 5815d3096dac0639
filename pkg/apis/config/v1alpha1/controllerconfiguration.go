// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// ControllerConfiguration configures gardener-extension-provider-graft. Flags on the command line override
// fields of the same meaning.
type ControllerConfiguration struct {
	// APIVersion is graft.provider.extensions.config.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is ControllerConfiguration.
	Kind string `json:"kind"`
	// ClientConnection limits the requests to the kube-apiserver of the seed.
	ClientConnection ClientConnection `json:"clientConnection,omitempty"`
	// LeaderElection elects the replica that writes the registration and the certificates; all replicas serve.
	LeaderElection LeaderElection `json:"leaderElection,omitempty"`
	// Server configures the addresses on which the program listens.
	Server Server `json:"server,omitempty"`
	// Limits limits the connections, requests and memory of callers of the webhook server.
	Limits WebhookLimits `json:"limits,omitempty"`
	// Debugging serves Go's profiles under /debug/pprof at the metrics address; off by default.
	Debugging Debugging `json:"debugging,omitempty"`
	// Logging configures the log.
	Logging Logging `json:"logging,omitempty"`
	// Webhook configures the admission webhooks and their registration.
	Webhook Webhook `json:"webhook,omitempty"`
	// Profiles configures the sources of profiles.
	Profiles Profiles `json:"profiles,omitempty"`
	// Parameters overrides parameters of profiles: profile → parameter → value, of the type of the profile's default.
	Parameters map[string]map[string]source.Node `json:"parameters,omitempty"`
	// Gate makes gardenlet wait for the webhooks before it writes the kube-apiserver of a shoot; off by default.
	Gate Gate `json:"gate,omitempty"`
	// Shutdown configures the shutdown of the program.
	Shutdown Shutdown `json:"shutdown,omitempty"`
}

// Gate makes the leader answer the Extension resources of a type, which gardenlet creates for each shoot if a
// ControllerRegistration requires it: with success once the webhooks for the shoot's provider are registered
// and answer, and at once if no profile applies to the provider. Gate needs permissions that the chart grants
// if it is enabled.
type Gate struct {
	// Enabled is false by default.
	Enabled bool `json:"enabled,omitempty"`
	// Type is the type of the Extension resources, as in the ControllerRegistration; graft by default. It is
	// also the name of the objects that gardenlet creates.
	Type string `json:"type,omitempty"`
}

// ClientConnection limits requests on the client side.
type ClientConnection struct {
	// QPS is the allowed average of requests per second; 100 by default.
	QPS int32 `json:"qps,omitempty" between:"1,100000"`
	// Burst is the allowed number of requests at once; 130 by default.
	Burst int32 `json:"burst,omitempty" between:"1,100000"`
}

// LeaderElection configures the Lease of the replicas.
type LeaderElection struct {
	// Enabled is true by default; a single replica outside of a cluster does not need it.
	Enabled *bool `json:"enabled,omitempty"`
	// ResourceName is the name of the Lease; gardener-extension-provider-graft-leader-election by default.
	ResourceName string `json:"resourceName,omitempty"`
	// ResourceNamespace is the namespace of the Lease; the program's own by default.
	ResourceNamespace string `json:"resourceNamespace,omitempty"`
}

// Server contains addresses.
type Server struct {
	// WebhookPort is the TCP port of the webhook server; 10250 by default, which clusters allow the
	// kube-apiserver to reach.
	WebhookPort int32 `json:"webhookPort,omitempty" between:"1,65535"`
	// MetricsBindAddress is host:port of /metrics, or "0" for none; ":8080" by default.
	MetricsBindAddress string `json:"metricsBindAddress,omitempty"`
	// HealthBindAddress is host:port of /healthz and /readyz; ":8081" by default.
	HealthBindAddress string `json:"healthBindAddress,omitempty"`
}

// WebhookLimits bound the load by callers. Health checks are always answered.
type WebhookLimits struct {
	// Connections are the number of connections; 1024 by default, and at most three quarters of the file limit.
	// Beyond it, the connection that has been idle the longest is closed.
	Connections int32 `json:"connections,omitempty" between:"1,1000000"`
	// Streams are the number of concurrent requests on an HTTP/2 connection; 32 by default.
	Streams int32 `json:"streams,omitempty" between:"1,10000"`
	// Requests are the number of concurrent requests; 256 by default. Further ones wait, and get 503 after their
	// timeout or when four times as many wait.
	Requests int32 `json:"requests,omitempty" between:"1,100000"`
	// BodiesBytes limits the received bodies of all requests; 64 MiB by default, and at least four times
	// webhook.maxReviewBytes. Stalled bodies are dropped.
	BodiesBytes int32 `json:"bodiesBytes,omitempty" between:"65536,2147483647"`
}

// Debugging contains switches for developers.
type Debugging struct {
	// Profiling serves /debug/pprof at the metrics address.
	Profiling bool `json:"profiling,omitempty"`
	// ContentionProfiling samples blocked goroutines and mutexes too; it needs Profiling.
	ContentionProfiling bool `json:"contentionProfiling,omitempty"`
}

// Logging configures the log on stderr.
type Logging struct {
	// Level is debug, info (default) or error.
	Level string `json:"level,omitempty" oneOf:"debug,info,error"`
	// Format is json (default) or text.
	Format string `json:"format,omitempty" oneOf:"json,text"`
}

// Webhook limits an admission and configures the calls of the API server.
type Webhook struct {
	// MaxReviewBytes is the largest AdmissionReview; 8 MiB by default.
	MaxReviewBytes int32 `json:"maxReviewBytes,omitempty" between:"65536,268435456"`
	// TimeoutSeconds is the API server's timeout, 1 to 30; 10 by default, as in Gardener's library.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" between:"1,30"`
	// FailurePolicy is Fail (default) or Ignore: how the API server handles missing answers.
	FailurePolicy string `json:"failurePolicy,omitempty" oneOf:"Fail,Ignore"`
	// SyncPeriod is the interval of regular checks of the registration; 5m by default.
	SyncPeriod Duration `json:"syncPeriod,omitempty"`
}

// Profiles configures the sources of profiles; all are read together.
type Profiles struct {
	// Paths are files, or folders with *.yaml and *.yml files (not recursive).
	Paths []string `json:"paths,omitempty"`
	// ConfigMaps reads profiles from the program's namespace.
	ConfigMaps ConfigMaps `json:"configMaps,omitempty"`
}

// ConfigMaps are ConfigMaps in the program's namespace with the label
// graft.provider.extensions.gardener.cloud/profile: "true"; every key that ends in .yaml or .yml is a file of
// profiles.
type ConfigMaps struct {
	// Enabled is false by default.
	Enabled bool `json:"enabled,omitempty"`
}

// Shutdown configures the order of the shutdown: first /readyz fails, then the delay passes, then requests in
// flight finish.
type Shutdown struct {
	// Delay is the time between the failure of /readyz and the end of new requests; 3s by default.
	Delay Duration `json:"delay,omitempty"`
	// Timeout is the time limit for requests in flight after that; 30s by default.
	Timeout Duration `json:"timeout,omitempty"`
}

// Duration is a span of time.
type Duration = source.Duration
