// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
)

const (
	clustersPath   = "/apis/extensions.gardener.cloud/v1alpha1/clusters"
	namespacesPath = "/api/v1/namespaces"
)

// seed is an API server with a number of shoots. It answers lists, gets and watches of their Clusters and namespaces,
// which never change. A real kube-apiserver answers all other requests.
type seed struct {
	shoots int
	seedObjects

	folder string // contains kubeconfig, tls.crt and tls.key
	server *http.Server
	// listed counts lists of Clusters, and got counts Clusters that were read one by one.
	listed, got atomic.Int64
}

// newSeed returns a running seed. It serves until it is closed.
func newSeed(ctx context.Context, shoots int, objects seedObjects, behind *rest.Config) (*seed, error) {
	s := &seed{shoots: shoots, seedObjects: objects}
	target, err := url.Parse(behind.Host)
	if err != nil {
		return nil, err
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	if proxy.Transport, err = rest.TransportFor(behind); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	mux.HandleFunc("GET "+clustersPath, s.many("Cluster", s.writeCluster, &s.listed))
	mux.HandleFunc("GET "+clustersPath+"/{name}", s.one(s.writeCluster, &s.got))
	mux.HandleFunc("GET "+namespacesPath, s.many("Namespace", s.writeNamespace, new(atomic.Int64)))
	mux.HandleFunc("GET "+namespacesPath+"/{name}", s.one(s.writeNamespace, new(atomic.Int64)))
	if s.folder, err = os.MkdirTemp("", "graft-memory-"); err != nil {
		return nil, err
	}
	return s, s.serve(ctx, mux)
}

func (s *seed) serve(ctx context.Context, handler http.Handler) error {
	crt, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(crt, key)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.server = &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = s.server.ServeTLS(listener, "", "") }()
	config := clientcmdapi.NewConfig()
	config.Clusters["seed"] = &clientcmdapi.Cluster{Server: "https://" + listener.Addr().String(),
		CertificateAuthorityData: crt}
	config.AuthInfos["seed"] = &clientcmdapi.AuthInfo{}
	config.Contexts["seed"] = &clientcmdapi.Context{Cluster: "seed", AuthInfo: "seed"}
	config.CurrentContext = "seed"
	return errors.Join(
		clientcmd.WriteToFile(*config, s.kubeconfig()),
		os.WriteFile(filepath.Join(s.folder, "tls.crt"), crt, 0o600),
		os.WriteFile(filepath.Join(s.folder, "tls.key"), key, 0o600),
	)
}

func (s *seed) kubeconfig() string { return filepath.Join(s.folder, "kubeconfig") }

func (s *seed) close() {
	_ = s.server.Close()
	_ = os.RemoveAll(s.folder)
}

// write writes an object of a shoot, or only its metadata.
type write func(to *bytes.Buffer, shoot int, metadataOnly bool)

// many answers a list as kube-apiserver does from its cache, and a watch without events.
func (s *seed) many(kind string, write write, count *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		only := metadataOnly(r)
		header := metav1.TypeMeta{APIVersion: apiVersions[kind], Kind: kind + "List"}
		if only {
			header = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}
		}
		fmt.Fprintf(w, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"2"},"items":[`, header.Kind,
			header.APIVersion)
		var buffer bytes.Buffer
		for i := range s.shoots {
			buffer.Reset()
			if i > 0 {
				buffer.WriteByte(',')
			}
			write(&buffer, i, only)
			if _, err := w.Write(buffer.Bytes()); err != nil {
				return
			}
		}
		_, _ = w.Write([]byte("]}"))
		count.Add(1)
	}
}

// one answers a request for one object.
func (s *seed) one(write write, count *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var shoot int
		if _, err := fmt.Sscanf(r.PathValue("name"), nameFormat, &shoot); err != nil || shoot >= s.shoots {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
				Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
			})
			return
		}
		var buffer bytes.Buffer
		write(&buffer, shoot, metadataOnly(r))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(buffer.Bytes())
		count.Add(1)
	}
}

func metadataOnly(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}
