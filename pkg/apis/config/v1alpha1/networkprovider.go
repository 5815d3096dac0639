// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"
	"strings"
)

// NetworkProviderConfiguration configures graft-network-provider. Flags on the command line override fields of
// the same meaning.
type NetworkProviderConfiguration struct {
	// APIVersion is graft.provider.extensions.config.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is NetworkProviderConfiguration.
	Kind string `json:"kind"`
	// Node is the name of the served node in Kubernetes; empty for a service for many nodes.
	Node string `json:"node,omitempty"`
	// Profiles configures the sources of NetworkProfiles.
	Profiles NetworkProfiles `json:"profiles,omitempty"`
	// Ledger is the store of allocations.
	Ledger Ledger `json:"ledger,omitempty"`
	// Listeners are the addresses for clients; at least one is required.
	Listeners []NetworkListener `json:"listeners,omitempty"`
	// Administration configures the socket for graft ledger.
	Administration Administration `json:"administration,omitempty"`
	// Metrics configures the address of /metrics, /healthz and /readyz.
	Metrics NetworkMetrics `json:"metrics,omitempty"`
	// Limits limit concurrent requests of callers.
	Limits NetworkLimits `json:"limits,omitempty"`
	// Docker configures Docker's API, which creates links on this machine.
	Docker Docker `json:"docker,omitempty"`
	// CNI configures the folders of clouds that are CNI plugins.
	CNI CNI `json:"cni,omitempty"`
	// Kubernetes is the cluster with the Pods and ResourceClaims of the allocations; without it, leaked allocations are not found.
	Kubernetes *NetworkKubernetes `json:"kubernetes,omitempty"`
	// Leaks configures the search for allocations whose holders no longer exist.
	Leaks Leaks `json:"leaks,omitempty"`
	// Logging configures the log.
	Logging Logging `json:"logging,omitempty"`
	// Debugging serves Go's profiles under /debug/pprof at the metrics address; off by default.
	Debugging Debugging `json:"debugging,omitempty"`
	// Shutdown configures the shutdown of the program. The delay applies to TCP listeners only.
	Shutdown Shutdown `json:"shutdown,omitempty"`
}

// NetworkProfiles configures the sources of NetworkProfiles; all are read together, and again when they change.
type NetworkProfiles struct {
	// Paths are files, or folders with *.yaml and *.yml files (not recursive).
	Paths []string `json:"paths,omitempty"`
}

// Ledger is a folder on this machine, or an etcd that several servers share.
type Ledger struct {
	// Path is the folder of the embedded ledger, which belongs to one server; /var/lib/graft/ledger by default.
	Path string `json:"path,omitempty"`
	// Etcd replaces the folder.
	Etcd *Etcd `json:"etcd,omitempty"`
}

// Etcd is a cluster of etcd.
type Etcd struct {
	// Endpoints are the URLs of the members.
	Endpoints []string `json:"endpoints"`
	// Prefix is the prefix of the ledger's keys; /graft by default.
	Prefix string `json:"prefix,omitempty"`
	// CAFile is the file with the CAs of the members; by default the system's.
	CAFile string `json:"caFile,omitempty"`
	// CertFile is the client certificate for etcd.
	CertFile string `json:"certFile,omitempty"`
	// KeyFile is the file with the key of the certificate.
	KeyFile string `json:"keyFile,omitempty"`
}

// NetworkListener is an address for clients.
type NetworkListener struct {
	// Address is unix:///path, tcp://host:port, or systemd://name of a systemd socket by its FileDescriptorName. TCP
	// off loopback needs tls or insecure.
	Address string `json:"address"`
	// Mode are the mode of the socket in octal digits; 0600 by default. A mode for all users needs insecure.
	Mode string `json:"mode,omitempty"`
	// Owner is the owner of the socket as uid:gid; by default the program's.
	Owner string `json:"owner,omitempty"`
	// Contracts are the contracts of the listener; dranet and spiderpool by default. docker must be named; over TCP
	// it needs tls with clientCAFile, or insecure.
	Contracts []NetworkContract `json:"contracts,omitempty"`
	// TLS encrypts TCP. Its files are reloaded when they change.
	TLS *ListenerTLS `json:"tls,omitempty"`
	// Insecure permits TCP off loopback without TLS, and a socket that all users can open: every caller can read,
	// allocate and release everything.
	Insecure bool `json:"insecure,omitempty"`
}

// ListenerTLS contains the files for TLS.
type ListenerTLS struct {
	// CertFile is the file with the certificate of the server and its chain.
	CertFile string `json:"certFile"`
	// KeyFile is the file with the key of the certificate.
	KeyFile string `json:"keyFile"`
	// ClientCAFile is the CAs for client certificates; without it, callers need none.
	ClientCAFile string `json:"clientCAFile,omitempty"`
}

// Administration configures a socket for the program's user and root: everyone who can open it can see and
// release everything.
type Administration struct {
	// Address is unix:///path of the socket (mode 0600); by default <path>.sock of the ledger's folder, and none for
	// etcd.
	Address string `json:"address,omitempty"`
}

// Socket returns the path of the socket, or "" if none is set. It fails for an invalid address.
func (a Administration) Socket() (path string, err error) {
	if a.Address == "" {
		return "", nil
	}
	if !strings.HasPrefix(a.Address, "unix://") {
		return "", errors.New("must be unix:///path: administration uses Unix sockets only")
	}
	_, path, err = NetworkListener{Address: a.Address}.Endpoint()
	return path, err
}

// NetworkMetrics configures monitoring.
type NetworkMetrics struct {
	// Address is host:port, or "0" for none; 127.0.0.1:9474 by default.
	Address string `json:"address,omitempty"`
}

// NetworkLimits bound the load by clients.
type NetworkLimits struct {
	// Requests are the number of concurrent requests; 512 by default. Further ones get 429.
	Requests int32 `json:"requests,omitempty" between:"1,100000"`
	// Connections are the number of connections at all listeners; 1024 by default, and at most three quarters of the
	// file limit. Beyond it, the connection that has been idle the longest is closed.
	Connections int32 `json:"connections,omitempty" between:"1,1000000"`
	// Streams are the number of concurrent requests on an HTTP/2 connection; 32 by default.
	Streams int32 `json:"streams,omitempty" between:"1,10000"`
	// BodyBytes is the maximum size of a request; 1 MiB by default.
	BodyBytes int32 `json:"bodyBytes,omitempty" between:"1024,67108864"`
	// BodiesBytes limits the received bodies of all requests; 64 MiB by default, and at least four times bodyBytes.
	// Stalled bodies are dropped.
	BodiesBytes int32 `json:"bodiesBytes,omitempty" between:"65536,2147483647"`
}

// CNI contains the folders of CNI.
type CNI struct {
	// Configurations is the folder of network configurations; /etc/cni/net.d by default.
	Configurations string `json:"configurations,omitempty"`
	// Plugins is the folder of plugins; /opt/cni/bin by default.
	Plugins string `json:"plugins,omitempty"`
}
