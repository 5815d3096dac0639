// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"sigs.k8s.io/yaml"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/dispatch"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/manifest"
)

// The values of --dialect.
const (
	dialectShipped  = "shipped"
	dialectProposal = "proposal"
)

// addDialect defines the flag.
func addDialect(command *cobra.Command, into *string) {
	command.Flags().StringVar(into, "dialect", dialectShipped, "dialect of Karmada: that which it ships, or that of the proposal before it: shipped, proposal")
	_ = command.RegisterFlagCompletionFunc("dialect", fixed(
		dialectShipped+"\tResourceInterpreterContext, as Karmada ships it", dialectProposal+"\tExploreReview, as the proposal has it"))
}

// chooseDialect is the kind of the messages.
func chooseDialect(name string) (string, error) {
	switch name {
	case dialectShipped:
		return api.KindContext, nil
	case dialectProposal:
		return api.KindReview, nil
	}
	return "", fmt.Errorf("--dialect %s: must be one of %s, %s", name, dialectShipped, dialectProposal)
}

// webhookFlags say which webhooks are asked.
type webhookFlags struct {
	configurations []string
	services       []string
	url, ca        string
	timeout        int32
	dialect        string
}

func (f *webhookFlags) addTo(command *cobra.Command) {
	set := command.Flags()
	set.StringArrayVar(&f.configurations, "configuration", nil, "ask webhooks: file with configurations of webhooks that choose which (repeatable)")
	set.StringArrayVar(&f.services, "service-at", nil,
		"with --configuration: address of a service that has no name here, such as a forwarded port: namespace/name=host:port (repeatable)")
	set.StringVar(&f.url, "url", "", "ask a webhook: that at this URL, everything")
	set.StringVar(&f.ca, "ca", "", "with --url: file with the certificates of its authority; those of the system without one")
	set.Int32Var(&f.timeout, "timeout", configuration.DefaultTimeoutSeconds, "with --url: seconds to wait for it")
	addDialect(command, &f.dialect)
	for _, name := range []string{"url", "timeout", "service-at"} {
		_ = command.RegisterFlagCompletionFunc(name, fixed())
	}
}

// flags are those that say nothing without a webhook.
func (*webhookFlags) flags() []string { return []string{"service-at", "ca", "timeout", "dialect"} }

// named says whether webhooks are asked at all.
func (f *webhookFlags) named() bool { return f.url != "" || len(f.configurations) > 0 }

// dispatcher asks the webhooks.
func (f *webhookFlags) dispatcher() (*dispatch.Dispatcher, error) {
	dialect, err := chooseDialect(f.dialect)
	if err != nil {
		return nil, err
	}
	var hooks dispatch.Hooks
	switch {
	case f.url != "" && len(f.configurations) > 0:
		return nil, errors.New("give one of --url and --configuration: configurations have URLs of their own")
	case f.url != "":
		hooks, err = f.any(dialect)
	case f.ca != "":
		return nil, errors.New("--ca is of --url: configurations have a caBundle of their own")
	default:
		hooks, err = readHooks(f.configurations, dialect)
	}
	if err != nil {
		return nil, err
	}
	services, err := servicesAt(f.services)
	if err != nil {
		return nil, err
	}
	return dispatch.New(dispatch.Options{Hooks: hooks, Services: services})
}

// addresses are those of services, by namespace/name; the others are asked for by their names.
type addresses map[string]string

// servicesAt reads namespace/name=host:port.
func servicesAt(texts []string) (addresses, error) {
	all := addresses{}
	for _, text := range texts {
		service, at, _ := strings.Cut(text, "=")
		_, _, err := net.SplitHostPort(at)
		if namespace, name, divided := strings.Cut(service, "/"); err != nil || !divided || namespace == "" || name == "" {
			return nil, fmt.Errorf("--service-at %s: must be namespace/name=host:port", text)
		}
		all[service] = at
	}
	return all, nil
}

// ResolveEndpoint implements webhookutil.ServiceResolver.
func (a addresses) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	if at, known := a[namespace+"/"+name]; known {
		return &url.URL{Scheme: "https", Host: at}, nil
	}
	return webhookutil.NewDefaultServiceResolver().ResolveEndpoint(namespace, name, port)
}

// any is the webhook at the URL.
func (f *webhookFlags) any(dialect string) (dispatch.Hooks, error) {
	e := configuration.Endpoint{URL: f.url, TimeoutSeconds: f.timeout}
	if f.ca != "" {
		var err error
		if e.CABundle, err = disk.ReadStream(f.ca, disk.CertificateSize); err != nil {
			return nil, fmt.Errorf("reading --ca: %w", err)
		}
	}
	if err := asFlags(configuration.Interpreter("any", nil, e).Validate()); err != nil {
		return nil, err
	}
	return dispatch.Any(dialect, e), nil
}

// asFlags are the mistakes in where a webhook is, by the flags that say it.
func asFlags(errs field.ErrorList) error {
	var all []error
	for _, err := range errs {
		name := err.Field
		for _, of := range [...]struct{ part, flag string }{
			{"caBundle", "--ca"}, {"clientConfig.url", "--url"}, {"clientConfig.service", "--service"}, {"timeoutSeconds", "--timeout"}, {"metadata.name", "--name"},
		} {
			if strings.Contains(err.Field, of.part) {
				name = of.flag
				break
			}
		}
		all = append(all, fmt.Errorf("%s: %s", name, err.ErrorBody()))
	}
	return errors.Join(all...)
}

// readHooks reads configurations, and gives the webhooks of those of a dialect.
func readHooks(paths []string, dialect string) (dispatch.Hooks, error) {
	objects, err := manifest.Read(paths, strings.NewReader(""))
	if err != nil {
		return nil, err
	}
	var (
		shipped  []*configuration.ResourceInterpreterWebhookConfiguration
		proposed []*configuration.ResourceExploringWebhookConfiguration
	)
	for _, o := range objects {
		switch {
		case o.Is(api.Group, configuration.KindInterpreter):
			c := &configuration.ResourceInterpreterWebhookConfiguration{}
			if err := decodeConfiguration(o, c, c.Validate); err != nil {
				return nil, err
			}
			shipped = append(shipped, c)
		case o.Is(api.Group, configuration.KindExploring):
			c := &configuration.ResourceExploringWebhookConfiguration{}
			if err := decodeConfiguration(o, c, c.Validate); err != nil {
				return nil, err
			}
			c.Default()
			proposed = append(proposed, c)
		}
	}
	if dialect == api.KindReview && len(proposed) > 0 {
		return dispatch.Explorers(proposed...), nil
	}
	if dialect == api.KindContext && len(shipped) > 0 {
		return dispatch.Interpreters(shipped...), nil
	}
	kind := map[string]string{api.KindReview: configuration.KindExploring, api.KindContext: configuration.KindInterpreter}[dialect]
	return nil, fmt.Errorf("there is no %s in %s; see --dialect", kind, strings.Join(paths, ", "))
}

// decodeConfiguration reads a configuration strictly.
func decodeConfiguration(o manifest.Object, into any, validate func() field.ErrorList) error {
	if err := yaml.UnmarshalStrict(o.JSON, into); err != nil {
		return fmt.Errorf("%s: %s: %w", o.Position, o, err)
	}
	if err := validate().ToAggregate(); err != nil {
		return fmt.Errorf("%s: %s: %w", o.Position, o, err)
	}
	return nil
}
