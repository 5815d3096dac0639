// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

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
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
)

// source is where the certificate comes from.
func (o *Options) source(log logr.Logger) (certificate.Source, error) {
	c, told := o.Config.Certificate, o.Config.Registration != nil
	if files := c.Files; files != nil {
		return certificate.NewFiles(certificate.FilesOptions{
			CertFile: files.CertFile, KeyFile: files.KeyFile, CAFile: files.CAFile, Told: told, Overlap: c.Overlap.Duration,
			Clock: clock.RealClock{}, Log: log,
		}), nil
	}
	store, err := o.store()
	if err != nil {
		return nil, err
	}
	names, addresses := o.names()
	return certificate.NewIssued(certificate.Options{
		Store: store, Clock: clock.RealClock{}, Log: log,
		Policy: certificate.Policy{
			DNSNames: names, Addresses: addresses, Authority: c.AuthorityValidity.Duration, Certificate: c.Validity.Duration,
			Overlap: c.Overlap.Duration, Told: told,
		},
	})
}

// store is where what is issued is kept.
func (o *Options) store() (certificate.Store, error) {
	c := o.Config.Certificate
	if c.Folder != "" {
		return &certificate.Folder{Path: c.Folder}, nil
	}
	config, err := clusterAt(o.Config.Kubernetes.Kubeconfig)
	if err != nil {
		return nil, err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	namespace, err := o.namespace(c.Secret.Namespace)
	if err != nil {
		return nil, err
	}
	return &certificate.Secret{Client: clients.CoreV1(), Namespace: namespace, Name: c.Secret.Name}, nil
}

// names are those by which callers know the server.
func (o *Options) names() (names, addresses []string) {
	names, addresses = slices.Clone(o.Config.Certificate.DNSNames), slices.Clone(o.Config.Certificate.IPAddresses)
	if r := o.Config.Registration; r != nil && r.URL != "" {
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

// clusterAt leads to the cluster of a kubeconfig, or to that in which the program runs.
func clusterAt(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("finding the cluster: %w (outside of a cluster give --kubeconfig)", err)
		}
		return limited(config), nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return limited(config), nil
}

// limited names the program to the API server, and bounds what is waited for.
func limited(config *rest.Config) *rest.Config {
	config.UserAgent, config.Timeout = Name, clusterTimeout
	return config
}

// namespaceFile is where the kubelet writes the namespace of a Pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

var errNoNamespace = errors.New("the namespace of the program is not known: give --namespace")

// namespace is the one that is given, or that of the program.
func (o *Options) namespace(given string) (string, error) {
	if given = cmp.Or(given, o.Config.Kubernetes.Namespace); given != "" {
		return given, nil
	}
	text, err := os.ReadFile(namespaceFile)
	if own := strings.TrimSpace(string(text)); err == nil && own != "" {
		return own, nil
	}
	return "", errNoNamespace
}
