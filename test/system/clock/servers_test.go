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

// patience bounds every wait; a guest is slow.
const patience = 5 * time.Minute

const (
	token      = "administrator"
	etcdClient = "http://127.0.0.1:2379"
	etcdPeer   = "http://127.0.0.1:2380"
	serverPort = "6443"
)

// cluster is an etcd and a kube-apiserver with certificates that outlive every jump.
type cluster struct {
	folder, kubeconfig string
	config             *rest.Config
	client             client.Client
}

// startCluster returns when the kube-apiserver is ready.
func startCluster(ctx context.Context) (*cluster, error) {
	folder, err := os.MkdirTemp("", "cluster-")
	if err != nil {
		return nil, err
	}
	c := &cluster{folder: folder, kubeconfig: filepath.Join(folder, "kubeconfig")}
	authority, err := c.certify()
	if err != nil {
		return nil, fmt.Errorf("making certificates: %w", err)
	}
	c.config = &rest.Config{
		Host: "https://127.0.0.1:" + serverPort, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: authority},
		QPS: 100, Burst: 200,
	}
	if err := c.write(); err != nil {
		return nil, err
	}
	server, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := eventually("the kube-apiserver is ready", func() error {
		if server.gone() {
			return fatal{errors.New("it has ended")}
		}
		c.client, err = client.New(c.config, client.Options{Scheme: scheme})
		if err != nil {
			return err
		}
		return c.ready(ctx)
	}); err != nil {
		said, _ := os.ReadFile("kube-apiserver.log")
		return nil, fmt.Errorf("%w\n%s", err, tail(said))
	}
	return c, c.define(ctx)
}

// define installs the definition of Clusters, and returns when they are served.
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
		all.SetGroupVersionKind(schema.GroupVersionKind{Group: "extensions.gardener.cloud", Version: "v1alpha1", Kind: "ClusterList"})
		return served.List(ctx, all)
	})
}

// ready asks the kube-apiserver itself.
func (c *cluster) ready(ctx context.Context) error {
	asker, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: c.config.Host, BearerToken: token, TLSClientConfig: c.config.TLSClientConfig,
		ContentConfig: rest.ContentConfig{NegotiatedSerializer: clientgoscheme.Codecs, GroupVersion: &metav1.Unversioned},
	})
	if err != nil {
		return err
	}
	return asker.Get().AbsPath("/readyz").Do(ctx).Error()
}

// certify makes a certificate of the kube-apiserver for ten years, and a key for accounts, and returns the authority.
func (c *cluster) certify() ([]byte, error) {
	now := time.Now()
	made, err := signing.New(&x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, NotBefore: now.AddDate(-5, 0, 0), NotAfter: now.AddDate(5, 0, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, IsCA: true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, nil)
	if err != nil {
		return nil, err
	}
	key, err := made.KeyPEM()
	if err != nil {
		return nil, err
	}
	authority := signing.PEM(made.Certificate)
	return authority, errors.Join(
		os.WriteFile(filepath.Join(c.folder, "tls.crt"), authority, 0o600),
		os.WriteFile(filepath.Join(c.folder, "tls.key"), key, 0o600))
}

// write puts down who may do everything, for the kube-apiserver and for the extension.
func (c *cluster) write() error {
	file := clientcmdapi.NewConfig()
	file.Clusters["it"] = &clientcmdapi.Cluster{Server: c.config.Host, CertificateAuthorityData: c.config.CAData}
	file.AuthInfos["it"] = &clientcmdapi.AuthInfo{Token: token}
	file.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it"}
	file.CurrentContext = "it"
	return errors.Join(clientcmd.WriteToFile(*file, c.kubeconfig),
		os.WriteFile(filepath.Join(c.folder, "tokens"), []byte(token+",admin,1,system:masters\n"), 0o600))
}

// run starts both servers, and returns the kube-apiserver. They end with the guest.
func (c *cluster) run(ctx context.Context) (*process, error) {
	in := func(name string) string { return filepath.Join(c.folder, name) }
	_, err := start(ctx, "etcd.log", "./etcd", "--data-dir="+in("etcd"), "--listen-client-urls="+etcdClient,
		"--advertise-client-urls="+etcdClient,
		"--listen-peer-urls="+etcdPeer, "--initial-advertise-peer-urls="+etcdPeer, "--initial-cluster=default="+etcdPeer,
		"--unsafe-no-fsync")
	if err != nil {
		return nil, err
	}
	return start(ctx, "kube-apiserver.log", "./kube-apiserver", "--etcd-servers="+etcdClient, "--secure-port="+serverPort,
		"--bind-address=127.0.0.1",
		"--tls-cert-file="+in("tls.crt"), "--tls-private-key-file="+in("tls.key"), "--token-auth-file="+in("tokens"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://localhost", "--service-account-key-file="+in("tls.crt"),
		"--service-account-signing-key-file="+in("tls.key"),
		"--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=ServiceAccount",
		"--advertise-address=10.0.0.1", "--endpoint-reconciler-type=none")
}

// process is a program with a known end.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
}

// start starts a program with its output in a file.
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

func (p *process) gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// end asks the program to end, and waits for it.
func (p *process) end() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	<-p.ended
}

// eventually asks again and again until something is so. The clock that jumps has no part in it.
func eventually(what string, is func() error) error {
	began := time.Now()
	for {
		err := is()
		if err == nil {
			return nil
		}
		var end fatal
		if time.Since(began) > patience || errors.As(err, &end) {
			return fmt.Errorf("it does not come true: %s: %w", what, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// fatal is an error that ends the retries.
type fatal struct{ error }

// tail is the end of a log.
func tail(log []byte) string { return string(log[max(0, len(log)-8000):]) }
