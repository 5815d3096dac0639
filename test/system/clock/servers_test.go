//go:build system && linux

// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/signing"
)

// patience limits each wait. A guest is slow, above all beside other suites.
const patience = 12 * time.Minute

const (
	token      = "administrator"
	etcdClient = "http://127.0.0.1:2379"
	etcdPeer   = "http://127.0.0.1:2380"
	serverPort = "6443"
)

// cluster is an etcd and a kube-apiserver with certificates that are valid after all jumps.
type cluster struct {
	folder, kubeconfig string
	config             *rest.Config
	client             client.Client
}

// startCluster starts a cluster and waits until it serves Clusters.
func startCluster(ctx context.Context) (*cluster, error) {
	folder, err := os.MkdirTemp("", "cluster-")
	if err != nil {
		return nil, err
	}
	c := &cluster{folder: folder, kubeconfig: filepath.Join(folder, "kubeconfig")}
	authority, err := c.certify()
	if err != nil {
		return nil, fmt.Errorf("creating certificates: %w", err)
	}
	c.config = &rest.Config{
		Host: "https://127.0.0.1:" + serverPort, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: authority},
		QPS: 100, Burst: 200,
	}
	if err := c.write(); err != nil {
		return nil, err
	}
	if err := c.startEtcd(ctx); err != nil {
		return nil, err
	}
	server, err := c.startServer(ctx)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := eventually("the kube-apiserver is ready", func() error {
		// A kube-apiserver exits if the guest is too slow for one of its deadlines.
		if server.gone() {
			if server, err = c.startServer(ctx); err != nil {
				return fatal{err}
			}
		}
		c.client, err = client.New(c.config, client.Options{Scheme: scheme})
		if err != nil {
			return err
		}
		return c.ready(ctx)
	}); err != nil {
		log, _ := os.ReadFile("kube-apiserver.log")
		return nil, fmt.Errorf("%w\n%s", err, tail(log))
	}
	return c, c.define(ctx)
}

// define creates the CustomResourceDefinition of Clusters and waits until they are served.
func (c *cluster) define(ctx context.Context) error {
	raw, err := os.ReadFile(definition)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(raw, &object.Object); err != nil {
		return err
	}
	if err := c.client.Create(ctx, object); err != nil {
		return err
	}
	return eventually("Clusters are served", func() error {
		served, err := client.New(c.config, client.Options{})
		if err != nil {
			return err
		}
		all := &unstructured.UnstructuredList{}
		all.SetGroupVersionKind(schema.GroupVersionKind{Group: "extensions.gardener.cloud", Version: "v1alpha1",
			Kind: "ClusterList"})
		return served.List(ctx, all)
	})
}

// ready fails unless the kube-apiserver is ready.
func (c *cluster) ready(ctx context.Context) error {
	caller, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: c.config.Host, BearerToken: token, TLSClientConfig: c.config.TLSClientConfig,
		ContentConfig: rest.ContentConfig{NegotiatedSerializer: clientgoscheme.Codecs, GroupVersion: &metav1.Unversioned},
	})
	if err != nil {
		return err
	}
	return caller.Get().AbsPath("/readyz").Do(ctx).Error()
}

// certify writes a certificate of the kube-apiserver that is valid for ten years. It returns the CA.
func (c *cluster) certify() ([]byte, error) {
	now := time.Now()
	created, err := signing.New(&x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, NotBefore: now.AddDate(-5, 0, 0), NotAfter: now.AddDate(5, 0, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, IsCA: true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, nil)
	if err != nil {
		return nil, err
	}
	key, err := created.KeyPEM()
	if err != nil {
		return nil, err
	}
	authority := signing.PEM(created.Certificate)
	return authority, errors.Join(
		os.WriteFile(filepath.Join(c.folder, "tls.crt"), authority, 0o600),
		os.WriteFile(filepath.Join(c.folder, "tls.key"), key, 0o600))
}

// write writes a kubeconfig and the tokens of the kube-apiserver.
func (c *cluster) write() error {
	file := clientcmdapi.NewConfig()
	file.Clusters["it"] = &clientcmdapi.Cluster{Server: c.config.Host, CertificateAuthorityData: c.config.CAData}
	file.AuthInfos["it"] = &clientcmdapi.AuthInfo{Token: token}
	file.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it"}
	file.CurrentContext = "it"
	return errors.Join(clientcmd.WriteToFile(*file, c.kubeconfig),
		os.WriteFile(filepath.Join(c.folder, "tokens"), []byte(token+",admin,1,system:masters\n"), 0o600))
}

// startEtcd starts etcd. It ends with the guest.
func (c *cluster) startEtcd(ctx context.Context) error {
	_, err := start(ctx, "etcd.log", "./etcd", "--data-dir="+filepath.Join(c.folder, "etcd"),
		"--listen-client-urls="+etcdClient, "--advertise-client-urls="+etcdClient,
		"--listen-peer-urls="+etcdPeer, "--initial-advertise-peer-urls="+etcdPeer, "--initial-cluster=default="+etcdPeer,
		"--unsafe-no-fsync")
	return err
}

// startServer starts a kube-apiserver. It ends with the guest.
func (c *cluster) startServer(ctx context.Context) (*process, error) {
	in := func(name string) string { return filepath.Join(c.folder, name) }
	return start(ctx, "kube-apiserver.log", "./kube-apiserver", "--etcd-servers="+etcdClient, "--secure-port="+serverPort,
		"--bind-address=127.0.0.1",
		"--tls-cert-file="+in("tls.crt"), "--tls-private-key-file="+in("tls.key"), "--token-auth-file="+in("tokens"),
		// The only user is an administrator, and a guest is too slow for caches of all kinds.
		"--authorization-mode=AlwaysAllow", "--watch-cache=false", "--enable-priority-and-fairness=false",
		"--service-account-issuer=https://localhost", "--service-account-key-file="+in("tls.crt"),
		"--service-account-signing-key-file="+in("tls.key"),
		"--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount",
		"--advertise-address=10.0.0.1", "--endpoint-reconciler-type=none")
}

// process is a running program. ended is closed when it has exited.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
}

// start starts a program. It appends the output to a file.
func start(ctx context.Context, log, program string, arguments ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	p := &process{command: exec.CommandContext(ctx, program, arguments...), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = out, out
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	return p, nil
}

// gone returns whether the program has exited.
func (p *process) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// end terminates the program and waits until it has exited.
func (p *process) end() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	<-p.ended
}

// eventually calls a function until it succeeds, fails with fatal, or a time is over, which the jumps do not affect.
func eventually(what string, check func() error) error {
	start := time.Now()
	for {
		err := check()
		if err == nil {
			return nil
		}
		var end fatal
		if time.Since(start) > patience || errors.As(err, &end) {
			return fmt.Errorf("timed out waiting until %s: %w", what, err)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// fatal is an error that ends the retries.
type fatal struct{ error }

// tail returns the end of a log.
func tail(log []byte) string { return string(log[max(0, len(log)-8000):]) }
