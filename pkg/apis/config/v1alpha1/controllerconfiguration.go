// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/graft-provider/gardener-extension-provider-graft/pkg/source"

// ControllerConfiguration configures gardener-extension-provider-graft. A flag of the same meaning that is given on the
// command line wins over a field.
type ControllerConfiguration struct {
	// APIVersion is graft.provider.extensions.config.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is ControllerConfiguration.
	Kind string `json:"kind"`
	// ClientConnection limits the requests to the kube-apiserver of the seed.
	ClientConnection ClientConnection `json:"clientConnection,omitempty"`
	// LeaderElection chooses the replica that writes the registration and the certificates; all replicas serve.
	LeaderElection LeaderElection `json:"leaderElection,omitempty"`
	// Server says where the program listens.
	Server Server `json:"server,omitempty"`
	// Limits limit what callers of the webhook server can use.
	Limits WebhookLimits `json:"limits,omitempty"`
	// Debugging serves Go's profiles under /debug/pprof at the metrics address; off by default.
	Debugging Debugging `json:"debugging,omitempty"`
	// Logging configures the log.
	Logging Logging `json:"logging,omitempty"`
	// Webhook bounds and registers the admission webhooks.
	Webhook Webhook `json:"webhook,omitempty"`
	// Profiles says where the profiles are found.
	Profiles Profiles `json:"profiles,omitempty"`
	// Parameters overrides parameters of profiles: profile → parameter → value, of the type of the profile's default.
	Parameters map[string]map[string]source.Node `json:"parameters,omitempty"`
	// Drift is the search for objects that missed the webhook; off by default.
	Drift Drift `json:"drift,omitempty"`
	// Gate makes gardenlet wait for the webhooks before it writes the kube-apiserver of a shoot; off by default.
	Gate Gate `json:"gate,omitempty"`
	// Shutdown says how the program ends.
	Shutdown Shutdown `json:"shutdown,omitempty"`
}

// Drift has the replica that leads look now and then for objects that are not what the profiles in force make of them: those that were admitted while no
// replica answered, before the webhook was installed, or under other profiles. It is counted in graft_drifted_objects. It needs permissions that the chart
// gives where it is enabled.
type Drift struct {
	// Enabled is false by default.
	Enabled bool `json:"enabled,omitempty"`
	// Interval is the time between two looks; 1h by default, a minute at least.
	Interval Duration `json:"interval,omitempty"`
	// Touch sends an empty patch to drifted objects, so that they pass the webhook; false by default. It can restart
	// Pods.
	Touch bool `json:"touch,omitempty"`
	// RatePerSecond is how many objects are touched in a second at most, 1 to 50; 1 by default.
	RatePerSecond int32 `json:"ratePerSecond,omitempty" between:"1,50"`
}

// Gate has the replica that leads answer the Extension resources of a type, which gardenlet makes for each shoot where a ControllerRegistration says so: with a
// success once the webhooks for the provider of the shoot are registered and answered, and at once where no profile is for it. It needs permissions that the
// chart gives where it is enabled.
type Gate struct {
	// Enabled is false by default.
	Enabled bool `json:"enabled,omitempty"`
	// Type is the type of the Extension resources, as in the ControllerRegistration; graft by default. gardenlet calls the objects by it.
	Type string `json:"type,omitempty"`
}

// ClientConnection are client-side limits.
type ClientConnection struct {
	// QPS are the requests per second that are allowed in the long run; 100 by default.
	QPS int32 `json:"qps,omitempty" between:"1,100000"`
	// Burst are the requests that are allowed at once; 130 by default.
	Burst int32 `json:"burst,omitempty" between:"1,100000"`
}

// LeaderElection configures the lease among replicas.
type LeaderElection struct {
	// Enabled is true by default; a single replica outside a cluster may do without.
	Enabled *bool `json:"enabled,omitempty"`
	// ResourceName is the name of the Lease; gardener-extension-provider-graft-leader-election by default.
	ResourceName string `json:"resourceName,omitempty"`
	// ResourceNamespace is the namespace of the Lease; the program's own by default.
	ResourceNamespace string `json:"resourceNamespace,omitempty"`
}

// Server holds addresses.
type Server struct {
	// WebhookPort is the TCP port of the webhook server; 10250 by default, a port that clusters let the kube-apiserver reach.
	WebhookPort int32 `json:"webhookPort,omitempty" between:"1,65535"`
	// MetricsBindAddress is host:port of /metrics, or "0" for none; ":8080" by default.
	MetricsBindAddress string `json:"metricsBindAddress,omitempty"`
	// HealthBindAddress is host:port of /healthz and /readyz; ":8081" by default.
	HealthBindAddress string `json:"healthBindAddress,omitempty"`
}

// WebhookLimits bound the work for callers. Health checks are answered whatever the limits are.
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

// Debugging are switches for developers.
type Debugging struct {
	// Profiling serves /debug/pprof at the metrics address.
	Profiling bool `json:"profiling,omitempty"`
	// ContentionProfiling samples blocked goroutines and mutexes too; it needs Profiling.
	ContentionProfiling bool `json:"contentionProfiling,omitempty"`
}

// Logging configures the log on standard error.
type Logging struct {
	// Level is debug, info (default) or error.
	Level string `json:"level,omitempty" oneOf:"debug,info,error"`
	// Format is json (default) or text.
	Format string `json:"format,omitempty" oneOf:"json,text"`
}

// Webhook bounds one admission and says how the API server calls.
type Webhook struct {
	// MaxReviewBytes is the largest AdmissionReview; 8 MiB by default.
	MaxReviewBytes int32 `json:"maxReviewBytes,omitempty" between:"65536,268435456"`
	// TimeoutSeconds is how long the API server waits, 1 to 30; 10 by default, as Gardener's library registers.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" between:"1,30"`
	// FailurePolicy is Fail (default) or Ignore: how the API server handles missing answers.
	FailurePolicy string `json:"failurePolicy,omitempty" oneOf:"Fail,Ignore"`
	// SyncPeriod is how often the registration is compared without a reason; 5m by default.
	SyncPeriod Duration `json:"syncPeriod,omitempty"`
}

// Profiles are the sources of profiles; all are read together.
type Profiles struct {
	// Paths are files, or folders with *.yaml and *.yml files (not recursive).
	Paths []string `json:"paths,omitempty"`
	// ConfigMaps reads profiles from the own namespace.
	ConfigMaps ConfigMaps `json:"configMaps,omitempty"`
}

// ConfigMaps are ConfigMaps in the own namespace with the label graft.provider.extensions.gardener.cloud/profile: "true";
// every key that ends in .yaml or .yml is a file of profiles.
type ConfigMaps struct {
	// Enabled is false by default.
	Enabled bool `json:"enabled,omitempty"`
}

// Shutdown orders the end: first /readyz fails, then the delay passes, then what is in flight is finished.
type Shutdown struct {
	// Delay is the time between the failure of /readyz and the end of new requests; 3s by default.
	Delay Duration `json:"delay,omitempty"`
	// Timeout is how long requests in flight may take after that; 30s by default.
	Timeout Duration `json:"timeout,omitempty"`
}

// Duration is a span of time.
type Duration = source.Duration
