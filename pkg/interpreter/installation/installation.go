// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package installation makes the parts of a resource interpreter from its configuration: the source of its certificate, the rules, and
// what is registered in Karmada. It also checks that a configuration would work. It runs nothing. Enter at Installation.
package installation

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/dynamic"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/reload"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/leader"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// Installation is a resource interpreter as it is configured.
type Installation struct {
	// Program is the name by which API servers know it.
	Program string
	Config  *configv1alpha1.ResourceInterpreterConfiguration
}

// Reloading returns the options of the reloader.
func (i *Installation) Reloading() (reload.Options, error) {
	files := shell.Documents(i.Config.Profiles.Paths)
	r := reload.Options{Read: files.Read, Empty: files.Empty, LeftAlone: files.LeftAlone, Log: logr.Discard()}
	if !*i.Config.Profiles.Gardener {
		return r, nil
	}
	var err error
	if r.Behind, err = gardener.Profiles(i.Config.Profiles.Optional...); err != nil {
		return r, fmt.Errorf("reading the profiles of Gardener: %w", err)
	}
	return r, nil
}

// clusterTimeout bounds a request to an API server.
const clusterTimeout = 15 * time.Second

// Registered returns what is written in Karmada's API server for kinds, and a bundle of authorities.
func (i *Installation) Registered(kinds []interpreter.Known, bundle []byte) *configuration.ResourceInterpreterWebhookConfiguration {
	r := i.Config.Registration
	endpoint := configuration.Endpoint{URL: r.URL, CABundle: bundle, TimeoutSeconds: r.TimeoutSeconds}
	if s := r.Service; s != nil {
		endpoint.Service = &admissionv1.ServiceReference{Namespace: s.Namespace, Name: s.Name, Path: &s.Path, Port: &s.Port}
	}
	left := make([]interpreter.Operation, len(r.Without))
	for i, name := range r.Without {
		left[i] = interpreter.Operation(name)
	}
	return configuration.Interpreter(r.Name, interpreter.Without(kinds, left...), endpoint)
}

// Karmada returns a client of Karmada's API server.
func (i *Installation) Karmada() (dynamic.Interface, error) {
	config, err := i.cluster(cmp.Or(i.Config.Registration.Kubeconfig, i.Config.Kubernetes.Kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("registration: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("registration: making a client: %w", err)
	}
	return client, nil
}

// Owner returns a function that names the installation: by what is said, or by something that no other one has.
func (i *Installation) Owner() (func(context.Context) (string, error), error) {
	r := i.Config.Registration
	if r.Owner != "" || !*i.Config.LeaderElection.Enabled {
		name := cmp.Or(r.Owner, r.URL)
		if name == "" {
			name = r.Service.Namespace + "/" + r.Service.Name
		}
		return func(context.Context) (string, error) { return name, nil }, nil
	}
	config, err := i.cluster(i.Config.Kubernetes.Kubeconfig)
	if err != nil {
		return nil, err
	}
	clients, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("registration: making a client: %w", err)
	}
	namespace, err := i.namespace(i.Config.LeaderElection.ResourceNamespace)
	if err != nil {
		return nil, err
	}
	return registration.LeaseOwner(clients.Leases(namespace), namespace, i.Config.LeaderElection.ResourceName), nil
}

// NewElection prepares the election of the replica that writes.
func (i *Installation) NewElection(term *leader.Term, log logr.Logger) (*leader.Election, error) {
	config, err := i.cluster(i.Config.Kubernetes.Kubeconfig)
	if err != nil {
		return nil, err
	}
	namespace, err := i.namespace(i.Config.LeaderElection.ResourceNamespace)
	if err != nil {
		return nil, err
	}
	return leader.NewElection(config, namespace, i.Config.LeaderElection.ResourceName, term, log)
}
