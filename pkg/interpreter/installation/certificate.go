// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// Source returns the certificate source that the configuration selects.
func (i *Installation) Source(log logr.Logger) (certificate.Source, error) {
	c, told := i.Config.Certificate, i.Config.Registration != nil
	if files := c.Files; files != nil {
		return certificate.NewFiles(certificate.FilesOptions{
			CertFile: files.CertFile, KeyFile: files.KeyFile, CAFile: files.CAFile, Told: told, Overlap: c.Overlap.Duration,
			Clock: clock.RealClock{}, Log: log,
		}), nil
	}
	store, err := i.store()
	if err != nil {
		return nil, err
	}
	names, addresses := i.Names()
	return certificate.NewIssued(certificate.Options{
		Store: store, Clock: clock.RealClock{}, Log: log,
		Policy: certificate.Policy{
			DNSNames: names, Addresses: addresses, Authority: c.AuthorityValidity.Duration, Certificate: c.Validity.Duration,
			Overlap: c.Overlap.Duration, Told: told,
		},
	})
}

// store returns the store for issued certificates.
func (i *Installation) store() (certificate.Store, error) {
	c := i.Config.Certificate
	if c.Folder != "" {
		return &certificate.Folder{Path: c.Folder}, nil
	}
	clients, namespace, err := i.clients(c.Secret.Namespace)
	if err != nil {
		return nil, err
	}
	return &certificate.Secret{Client: clients.CoreV1(), Namespace: namespace, Name: c.Secret.Name}, nil
}

// clients returns clients of the program's cluster, and the namespace in it: the given one or the default.
func (i *Installation) clients(namespace string) (*kubernetes.Clientset, string, error) {
	config, err := i.cluster(i.Config.Kubernetes.Kubeconfig)
	if err != nil {
		return nil, "", err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, "", fmt.Errorf("making a client: %w", err)
	}
	namespace, err = i.namespace(namespace)
	return clients, namespace, err
}

// Names returns the DNS names and IP addresses that callers use for the server.
func (i *Installation) Names() (names, addresses []string) {
	names, addresses = slices.Clone(i.Config.Certificate.DNSNames), slices.Clone(i.Config.Certificate.IPAddresses)
	if r := i.Config.Registration; r != nil && r.URL != "" {
		if u, err := url.Parse(r.URL); err == nil && net.ParseIP(u.Hostname()) != nil {
			addresses = append(addresses, u.Hostname())
		} else if err == nil {
			names = append(names, u.Hostname())
		}
	} else if r != nil && r.Service != nil {
		names = append(names, r.Service.Name+"."+r.Service.Namespace+".svc", r.Service.Name+"."+r.Service.Namespace+".svc.cluster.local")
	}
	if len(names)+len(addresses) == 0 {
		return []string{"localhost"}, []string{"127.0.0.1", "::1"}
	}
	return names, addresses
}

// cluster returns a client configuration with user agent and timeout.
func (i *Installation) cluster(kubeconfig string) (*rest.Config, error) {
	config, err := shell.Cluster(kubeconfig, "give --kubeconfig")
	if err == nil {
		config.UserAgent, config.Timeout = i.Program, clusterTimeout
	}
	return config, err
}

// namespaceFile contains the Pod's namespace. The kubelet writes it.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

var errNoNamespace = errors.New("the namespace of the program is not known: set --namespace")

// namespace returns the given namespace, the configured one, or that of the Pod, in this order.
func (i *Installation) namespace(given string) (string, error) {
	if given = cmp.Or(given, i.Config.Kubernetes.Namespace); given != "" {
		return given, nil
	}
	text, err := os.ReadFile(namespaceFile)
	if own := strings.TrimSpace(string(text)); err == nil && own != "" {
		return own, nil
	}
	return "", errNoNamespace
}
