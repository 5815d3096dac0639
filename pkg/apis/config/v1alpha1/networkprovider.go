// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"errors"
	"strings"
)

// NetworkProviderConfiguration configures graft-network-provider. A flag of the same meaning that is given on the command
// line wins over a field.
type NetworkProviderConfiguration struct {
	// APIVersion is graft.provider.extensions.config.gardener.cloud/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is NetworkProviderConfiguration.
	Kind string `json:"kind"`
	// Node is the name of the node that is served, as Kubernetes knows it; empty for a service for many nodes.
	Node string `json:"node,omitempty"`
	// Profiles says where the NetworkProfiles are found.
	Profiles NetworkProfiles `json:"profiles,omitempty"`
	// Ledger is where it is remembered who holds what.
	Ledger Ledger `json:"ledger,omitempty"`
	// Listeners are where callers are answered; there must be one at least.
	Listeners []NetworkListener `json:"listeners,omitempty"`
	// Administration says where graft ledger can ask this server.
	Administration Administration `json:"administration,omitempty"`
	// Metrics says where /metrics, /healthz and /readyz are answered.
	Metrics NetworkMetrics `json:"metrics,omitempty"`
	// Limits bound what callers can ask for at a time.
	Limits NetworkLimits `json:"limits,omitempty"`
	// Spiderpool has what only Spiderpool's own tests want.
	Spiderpool Spiderpool `json:"spiderpool,omitempty"`
	// Docker configures that contract, which makes links on this machine.
	Docker Docker `json:"docker,omitempty"`
	// CNI is where clouds that are CNI plugins are found.
	CNI CNI `json:"cni,omitempty"`
	// Kubernetes is the cluster where it is looked whether holders of addresses still exist; without it that is not known.
	Kubernetes *NetworkKubernetes `json:"kubernetes,omitempty"`
	// Leaks says what is done with addresses whose holders do not exist any more, since a release was lost.
	Leaks Leaks `json:"leaks,omitempty"`
	// Logging says what is logged and how.
	Logging Logging `json:"logging,omitempty"`
	// Debugging serves Go's profiles under /debug/pprof at the metrics address; off by default.
	Debugging Debugging `json:"debugging,omitempty"`
	// Shutdown says how the program ends. The delay is for listeners of TCP: with sockets alone there is none.
	Shutdown Shutdown `json:"shutdown,omitempty"`
}

// NetworkProfiles are the sources of NetworkProfiles; all are read together, and read again when they change.
type NetworkProfiles struct {
	// Paths are files, or folders whose *.yaml and *.yml files are read (not those of folders in them).
	Paths []string `json:"paths,omitempty"`
}

// Ledger is a folder on this machine, or an etcd that several servers share.
type Ledger struct {
	// Path is the folder of the embedded ledger, which belongs to one server; /var/lib/graft/ledger by default.
	Path string `json:"path,omitempty"`
	// Etcd is used in place of a folder.
	Etcd *Etcd `json:"etcd,omitempty"`
}

// Etcd is a cluster of etcd.
type Etcd struct {
	// Endpoints are the URLs of the members.
	Endpoints []string `json:"endpoints"`
	// Prefix begins the keys of the ledger; /graft by default.
	Prefix string `json:"prefix,omitempty"`
	// CAFile is the file with the CAs of the members; those of the machine without one.
	CAFile string `json:"caFile,omitempty"`
	// CertFile is the file with the certificate by which the members know this client.
	CertFile string `json:"certFile,omitempty"`
	// KeyFile is the file with the key of the certificate.
	KeyFile string `json:"keyFile,omitempty"`
}

// NetworkListener is one address where callers are answered.
type NetworkListener struct {
	// Address is unix:///path of a socket, tcp://host:port, or systemd://name of a socket that systemd has opened, by its FileDescriptorName. Off loopback
	// TCP needs tls, or insecure.
	Address string `json:"address"`
	// Mode are the permissions of the socket in octal digits; 0600 by default. One that lets all users of the machine in needs tokenFile, or insecure.
	Mode string `json:"mode,omitempty"`
	// Owner is the numbers of the user and the group that own the socket, as uid:gid; those of the program by default.
	Owner string `json:"owner,omitempty"`
	// Contracts are those that are answered here; dranet and spiderpool by default. docker must be named; over TCP it needs tls with clientCAFile, or
	// insecure.
	Contracts []NetworkContract `json:"contracts,omitempty"`
	// TLS encrypts what goes over TCP. Its files are read again when they change.
	TLS *ListenerTLS `json:"tls,omitempty"`
	// TokenFile is a file with bearer tokens, one a line, of which callers must show one. It is read again when it changes.
	TokenFile string `json:"tokenFile,omitempty"`
	// Insecure permits TCP off loopback without TLS, and a socket that all users of the machine can open: whoever reaches the address can read,
	// allocate and release everything.
	Insecure bool `json:"insecure,omitempty"`
}

// ListenerTLS are the files of TLS.
type ListenerTLS struct {
	// CertFile is the file with the certificate of the server and its chain.
	CertFile string `json:"certFile"`
	// KeyFile is the file with the key of the certificate.
	KeyFile string `json:"keyFile"`
	// ClientCAFile is the file with the CAs by which callers must be signed; callers need no certificate without one.
	ClientCAFile string `json:"clientCAFile,omitempty"`
}

// Administration is a socket for the user of the program, and root: whoever can open it can see and release everything.
type Administration struct {
	// Address is unix:///path of the socket, whose mode is 0600; by default that beside the folder of the ledger, <path>.sock, and none for etcd.
	Address string `json:"address,omitempty"`
}

// Socket is the path of the socket; empty where no address is written.
func (a Administration) Socket() (path string, err error) {
	if a.Address == "" {
		return "", nil
	}
	if !strings.HasPrefix(a.Address, "unix://") {
		return "", errors.New("must be unix:///path: administration goes over sockets alone")
	}
	_, path, err = NetworkListener{Address: a.Address}.Endpoint()
	return path, err
}

// NetworkMetrics is where the program is watched.
type NetworkMetrics struct {
	// Address is host:port, or "0" for none; 127.0.0.1:9474 by default.
	Address string `json:"address,omitempty"`
}

// NetworkLimits bound the work for callers.
type NetworkLimits struct {
	// Requests are how many are worked on at a time; 512 by default. What is beyond is answered with 429.
	Requests int32 `json:"requests,omitempty" between:"1,100000"`
	// Connections are how many are open at a time at all listeners together; 1024 by default, and three quarters of the files that the process may open at
	// most. For what is beyond, the connection is closed that has waited for its caller the longest.
	Connections int32 `json:"connections,omitempty" between:"1,1000000"`
	// Streams are how many requests one connection of HTTP/2 may have open at a time; 32 by default. Clients open another connection for more.
	Streams int32 `json:"streams,omitempty" between:"1,10000"`
	// BodyBytes is the size of the largest request that is read; 1 MiB by default.
	BodyBytes int32 `json:"bodyBytes,omitempty" between:"1024,67108864"`
	// BodiesBytes bounds the bodies of all requests together, by what has arrived of them; 64 MiB by default, and four times bodyBytes at least. Where room is
	// short, bodies that do not come are given up.
	BodiesBytes int32 `json:"bodiesBytes,omitempty" between:"65536,2147483647"`
}

// Spiderpool configures that contract.
type Spiderpool struct {
	// Records is how many requests GET /records gives back, the last ones with their answers; POST /reset forgets them. They name Pods, so that
	// it is for tests only; 0 by default: there is neither path.
	Records int32 `json:"records,omitempty" between:"0,100000"`
}

// CNI are the folders of CNI.
type CNI struct {
	// Configurations is the folder of network configurations; /etc/cni/net.d by default.
	Configurations string `json:"configurations,omitempty"`
	// Plugins is the folder of plugins; /opt/cni/bin by default.
	Plugins string `json:"plugins,omitempty"`
}
