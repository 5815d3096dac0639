// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/dispatch"
)

// The values of --dialect.
const (
	dialectShipped  = "shipped"
	dialectProposal = "proposal"
)

// addDialect defines the flag.
func addDialect(command *cobra.Command, into *string) {
	command.Flags().StringVar(into, "dialect", dialectShipped, "API of Karmada: shipped, or the earlier proposal")
	_ = command.RegisterFlagCompletionFunc("dialect", fixed(
		dialectShipped+"\tResourceInterpreterContext, as Karmada ships it", dialectProposal+"\tExploreReview, as the proposal has it"))
}

// chooseDialect returns the kind of the messages.
func chooseDialect(name string) (string, error) {
	switch name {
	case dialectShipped:
		return api.KindContext, nil
	case dialectProposal:
		return api.KindReview, nil
	}
	return "", fmt.Errorf("--dialect %s: must be one of %s, %s", name, dialectShipped, dialectProposal)
}

// webhookFlags name a webhook that is asked in place of rules.
type webhookFlags struct {
	url, ca string
	timeout int32
}

func (f *webhookFlags) addTo(command *cobra.Command) {
	set := command.Flags()
	set.StringVar(&f.url, "url", "", "ask the webhook at this URL")
	set.StringVar(&f.ca, "ca", "", "with --url: file with the CA bundle (default: the system's CAs)")
	set.Int32Var(&f.timeout, "timeout", configuration.DefaultTimeoutSeconds, "with --url: timeout in seconds")
	for _, name := range []string{"url", "timeout"} {
		_ = command.RegisterFlagCompletionFunc(name, fixed())
	}
}

// dispatch returns a client of the webhook.
func (f *webhookFlags) dispatch() (*dispatch.Client, error) {
	e := configuration.Endpoint{URL: f.url, TimeoutSeconds: f.timeout}
	if f.ca != "" {
		var err error
		if e.CABundle, err = disk.ReadStream(f.ca, disk.CertificateSize); err != nil {
			return nil, fmt.Errorf("reading --ca: %w", err)
		}
	}
	if err := asFlags(e.Validate()); err != nil {
		return nil, err
	}
	return dispatch.New(e), nil
}

// asFlags converts errors about the location of a webhook to errors about its flags.
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
