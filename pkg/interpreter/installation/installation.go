// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package installation creates the parts of a resource interpreter from its configuration: the certificate
// source, the rules, and the registration in Karmada. It also validates a configuration. It runs nothing. Start
// reading at Installation.
package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/certificate"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/gardener"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/registration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/reload"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/leader"
	shell "github.com/graft-provider/gardener-extension-provider-graft/pkg/serving/program"
)

// Installation is a configured resource interpreter.
type Installation struct {
	// Program is the user agent for API servers.
	Program string
	Config  *configv1alpha1.ResourceInterpreterConfiguration
}

// Reloading returns the options of the reloader. It fails if a configured profile of Gardener is unknown.
func (i *Installation) Reloading() (reload.Options, error) {
	files := shell.Documents(i.Config.Profiles.Paths)
	r := reload.Options{Read: files.Read, Empty: files.Empty, Ignored: files.Ignored, Log: logr.Discard()}
	if !*i.Config.Profiles.Gardener {
		return r, nil
	}
	var err error
	if r.Behind, err = gardener.Profiles(i.Config.Profiles.Optional...); err != nil {
		return r, fmt.Errorf("reading the profiles of Gardener: %w", err)
	}
	return r, nil
}

// clusterTimeout limits a request to an API server. A leader without an answer for as long loses its Lease.
const clusterTimeout = 15 * time.Second

// dialects maps the dialects in the configuration to kinds of messages.
var dialects = map[string]string{configv1alpha1.DialectShipped: api.KindContext, configv1alpha1.DialectProposal: api.KindReview}

// Registrable returns the kinds with the operations that may be registered.
func (i *Installation) Registrable(kinds []interpreter.Known) []interpreter.Known {
	return interpreter.Without(kinds, i.Config.Registration.Without)
}

// endpoint returns the address under which the server is registered.
func (i *Installation) endpoint(bundle []byte) configuration.Endpoint {
	r := i.Config.Registration
	e := configuration.Endpoint{URL: r.URL, CABundle: bundle, TimeoutSeconds: r.TimeoutSeconds}
	if s := r.Service; s != nil {
		e.Service = &admissionv1.ServiceReference{Namespace: s.Namespace, Name: s.Name, Path: &s.Path, Port: &s.Port}
	}
	return e
}

// Owner returns a function that names the installation: by the configured owner, or by the UID of its Lease. It fails
// if there is no configured owner and no client for Leases.
func (i *Installation) Owner() (func(context.Context) (string, error), error) {
	r := i.Config.Registration
	if r.Owner != "" || !*i.Config.LeaderElection.Enabled {
		name := cmp.Or(r.Owner, r.URL)
		if name == "" {
			name = r.Service.Namespace + "/" + r.Service.Name
		}
		return func(context.Context) (string, error) { return name, nil }, nil
	}
	leases, namespace, err := i.Leases()
	if err != nil {
		return nil, err
	}
	return registration.LeaseOwner(leases, namespace, i.Config.LeaderElection.ResourceName), nil
}

// Leases returns a client for the program's Leases, and their namespace. It fails outside of a cluster without a
// kubeconfig.
func (i *Installation) Leases() (coordinationv1.LeaseInterface, string, error) {
	clients, namespace, err := i.clients(i.Config.LeaderElection.ResourceNamespace)
	if err != nil {
		return nil, "", err
	}
	return clients.CoordinationV1().Leases(namespace), namespace, nil
}

// Registrars returns a Registrar for each dialect. o has the options that they share, and held returns the certificate to
// register, or nil if it is not known yet. It fails if Karmada's kubeconfig is invalid.
func (i *Installation) Registrars(o registration.Options, held func() *certificate.Held) ([]*registration.Registrar, error) {
	config, err := i.cluster(cmp.Or(i.Config.Registration.Kubeconfig, i.Config.Kubernetes.Kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("registration: %w", err)
	}
	if o.Client, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("registration: making a client: %w", err)
	}
	if o.Owner, err = i.Owner(); err != nil {
		return nil, err
	}
	o.Period = i.Config.Registration.SyncPeriod.Duration
	all := make([]*registration.Registrar, len(i.Config.Registration.Dialects))
	told := registration.Agreed(len(all), o.Registered)
	for j, name := range i.Config.Registration.Dialects {
		o, dialect := o, dialects[name]
		o.Dialect, o.Registered = dialect, told[j]
		o.Configuration = func(kinds []interpreter.Known) *configuration.Configuration {
			if current := held(); current != nil {
				return configuration.Generate(dialect, i.Config.Registration.Name, i.Registrable(kinds), i.endpoint(current.Bundle))
			}
			return nil
		}
		all[j] = registration.New(o)
	}
	return all, nil
}

// Unregister deletes the registrations of this installation. Running replicas do not restore them until a
// replica starts. It fails without a configured registration, or if the API server rejects the deletion.
func (i *Installation) Unregister(ctx context.Context, out io.Writer) error {
	if i.Config.Registration == nil {
		return errors.New("there is no registration to delete: set --register, or registration in the configuration")
	}
	registrars, err := i.Registrars(registration.Options{Log: logr.Discard(), Clock: clock.RealClock{}}, func() *certificate.Held { return nil })
	if err != nil {
		return err
	}
	owner, err := registrars[0].Owner(ctx)
	if err != nil && owner == "" && !apierrors.IsNotFound(err) { // without a Lease, no replica has written a registration
		return err
	}
	if *i.Config.LeaderElection.Enabled && owner != "" {
		leases, _, err := i.Leases()
		if err != nil {
			return err
		}
		if err := registration.Suspend(ctx, leases, i.Config.LeaderElection.ResourceName, true); err != nil {
			return err
		}
	}
	for _, r := range registrars {
		deleted, err := r.Remove(ctx, i.Config.Registration.Name, owner)
		if err != nil {
			return err
		}
		if deleted {
			fmt.Fprintf(out, "deleted %s %s\n", configuration.ResourceOf(r.Dialect).Resource, i.Config.Registration.Name)
		}
	}
	return nil
}

// NewElection prepares the election of the replica that writes the registration. It fails if there is no client for
// Leases.
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

// Source returns the certificate source that the configuration selects. It fails if files are unreadable or there is no
// client for Secrets.
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

// host returns the host by which Karmada calls the server, or "" without registration.
func (i *Installation) host() string {
	r := i.Config.Registration
	switch {
	case r == nil:
		return ""
	case r.URL == "" && r.Service != nil:
		return r.Service.Name + "." + r.Service.Namespace + ".svc"
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Names returns the DNS names and IP addresses that callers use for the server.
func (i *Installation) Names() (names, addresses []string) {
	names, addresses = slices.Clone(i.Config.Certificate.DNSNames), slices.Clone(i.Config.Certificate.IPAddresses)
	switch host := i.host(); {
	case net.ParseIP(host) != nil:
		addresses = append(addresses, host)
	case strings.HasSuffix(host, ".svc") && i.Config.Registration.URL == "":
		names = append(names, host, host+".cluster.local")
	case host != "":
		names = append(names, host)
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

// namespace returns the given namespace, the configured one, or that of the Pod, in this order.
func (i *Installation) namespace(given string) (string, error) {
	if given = cmp.Or(given, i.Config.Kubernetes.Namespace); given != "" {
		return given, nil
	}
	text, err := os.ReadFile(namespaceFile)
	if own := strings.TrimSpace(string(text)); err == nil && own != "" {
		return own, nil
	}
	return "", errors.New("the namespace of the program is not known: set --namespace")
}

// Check validates the configuration, the files that it names, and the profiles. It contacts no cluster. It fails at the
// first mistake.
func (i *Installation) Check(out io.Writer) error {
	options, err := i.Reloading()
	if err != nil {
		return err
	}
	active, err := reload.Check(options)
	if err != nil {
		return err
	}
	if err := errors.Join(i.checkFiles(), i.checkClusters()); err != nil {
		return err
	}
	for _, warning := range active.Warnings {
		fmt.Fprintln(out, warning)
	}
	names := make([]string, len(active.Documents))
	for i, d := range active.Documents {
		names[i] = d.Metadata.Name
	}
	_, err = fmt.Fprintf(out, "ok: kinds %d; profiles %s\n", len(active.Kinds()), strings.Join(names, ", "))
	return err
}

// checkFiles loads the certificate files and checks that the certificate is valid for the registered host.
func (i *Installation) checkFiles() error {
	if i.Config.Certificate.Files == nil {
		return nil
	}
	files, err := i.Source(logr.Discard())
	if err == nil {
		err = files.Refresh(context.Background())
	}
	if err != nil {
		return fmt.Errorf("certificate.files: %w", err)
	}
	if host := i.host(); host != "" {
		err = files.Held().Certificate.Leaf.VerifyHostname(host)
	}
	if err != nil {
		return fmt.Errorf("certificate.files: callers would reject the certificate: %w", err)
	}
	return nil
}

// checkClusters reads the kubeconfigs, and checks that Karmada would accept the registration. It contacts no cluster.
func (i *Installation) checkClusters() error {
	check := func(field, kubeconfig string) error {
		if kubeconfig != "" {
			if _, err := i.cluster(kubeconfig); err != nil {
				return fmt.Errorf("%s.kubeconfig: %w", field, err)
			}
		}
		return nil
	}
	err := check("kubernetes", i.Config.Kubernetes.Kubeconfig)
	if r := i.Config.Registration; r != nil {
		err = errors.Join(err, check("registration", r.Kubeconfig))
		if wrong := i.endpoint(nil).Validate().ToAggregate(); wrong != nil {
			err = errors.Join(err, fmt.Errorf("registration: %w", wrong))
		}
	}
	return err
}
