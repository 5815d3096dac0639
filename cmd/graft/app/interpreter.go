// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/api/configuration"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/convert"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/lua"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

func newInterpreterCommand(s *Streams) *cobra.Command {
	return group(s, &cobra.Command{
		Use:   "interpreter",
		Short: "Prepare and try a resource interpreter",
		Long: `Prepare and try a resource interpreter.

A resource interpreter answers Karmada's questions about custom kinds with the rules of InterpreterProfiles.`,
		Example: `  # kinds with rules
  graft interpreter kinds`,
	}, newInterpretCommand, newInterpreterWebhookCommand, newInterpreterCustomizationCommand, newInterpreterConvertCommand,
		newInterpreterDefinitionCommand, newInterpreterKindsCommand)
}

func newInterpreterDefinitionCommand(s *Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "crd",
		Short: "Write the CustomResourceDefinition of the proposal",
		Long: `Write the CustomResourceDefinition of the proposal.

It defines ResourceExploringWebhookConfiguration with the defaults and the validation of the proposal. Karmada
ships its own CustomResourceDefinitions.`,
		Example: `  # for kubectl apply -f -
  graft interpreter crd`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := s.Out.Write(configuration.Definition())
			return err
		},
	}
}

func newInterpreterKindsCommand(s *Streams) *cobra.Command {
	o := &interpreterFlags{}
	command := &cobra.Command{
		Use:   "kinds",
		Short: "List the kinds with rules",
		Long: `List the kinds with rules, their operations, and the files with the rules.

The version * means all versions without their own line.`,
		Example: `  # kinds of a profile only
  graft interpreter kinds -p example/interpreter/profile.yaml --gardener=false`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			profiles, err := o.load()
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(s.Out, 0, 0, 3, ' ', 0)
			fmt.Fprintln(table, "KIND\tOPERATIONS\tFILES")
			for _, known := range profiles.program.Kinds() {
				var operations []string
				for _, one := range known.Operations {
					operations = append(operations, string(one))
				}
				fmt.Fprintf(table, "%s\t%s\t%s\n", known.Kind, strings.Join(operations, ","), strings.Join(filesOf(profiles.documents, known.Kind), ", "))
			}
			return table.Flush()
		},
	}
	o.addTo(command)
	return command
}

// filesOf returns the files with rules for a kind, in their order.
func filesOf(documents []*profile.Interpreter, kind interpreter.Kind) []string {
	var files []string
	for _, d := range documents {
		for _, k := range d.Kinds {
			names := []string{k.Kind.Value}
			for _, name := range k.Kinds {
				names = append(names, name.Value)
			}
			of, _ := schema.ParseGroupVersion(k.APIVersion.Value) // it was checked when the profile was loaded
			has := of.Group == kind.Group && (of.Version == "*" || of.Version == kind.Version) && slices.Contains(names, kind.Kind)
			if has && !slices.Contains(files, d.Node.File) {
				files = append(files, d.Node.File)
			}
		}
	}
	return files
}

func newInterpreterCustomizationCommand(s *Streams) *cobra.Command {
	var (
		o        interpreterFlags
		versions []string
	)
	command := &cobra.Command{
		Use:   "customization",
		Short: "Write the rules as customizations in Lua",
		Long: `Write the rules as customizations in Lua.

Karmada runs a ResourceInterpreterCustomization itself, without a webhook. The command writes one for each kind
and version. A rule that Lua cannot express is an error with its position; nothing is written then.`,
		Example: `  # customizations for a profile, for kubectl apply -f -
  graft interpreter customization -p example/interpreter/profile.yaml --gardener=false --version acme.com/v1`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			options, err := luaOptions(versions)
			if err != nil {
				return err
			}
			profiles, err := o.load()
			if err != nil {
				return err
			}
			all, findings := lua.Translate(profiles.documents, options)
			if err := findings.Errors().Err(); err != nil {
				return err
			}
			for _, warning := range findings {
				fmt.Fprintln(s.Err, warning.Error())
			}
			var objects []any
			for _, one := range all {
				objects = append(objects, one)
			}
			return writeYAML(s.Out, objects...)
		},
	}
	o.addTo(command)
	command.Flags().StringArrayVar(&versions, "version", nil, "version of a group, for rules for all its versions: group/version (repeatable)")
	return command
}

// luaOptions reads group/version.
func luaOptions(versions []string) (lua.Options, error) {
	o := lua.Options{Versions: map[string][]string{}}
	for _, one := range versions {
		group, version, divided := strings.Cut(one, "/")
		if !divided || group == "" || version == "" || strings.Contains(version, "/") {
			return o, fmt.Errorf("--version %s: must be group/version", one)
		}
		o.Versions[group] = append(o.Versions[group], version)
	}
	return o, nil
}

func newInterpreterConvertCommand(s *Streams) *cobra.Command {
	name := "converted"
	command := &cobra.Command{
		Use:   "convert FILE",
		Short: "Write an InterpreterProfile for customizations in Lua",
		Long: `Write an InterpreterProfile for customizations in Lua.

The file has ResourceInterpreterCustomizations of Karmada. The common forms are converted: replicas and the
requirements of a Pod template, setting replicas, health by comparisons and conditions, copied statuses and
retained fields. The command prints the line of each other script; write its rules by hand.`,
		Example: `  # a profile for a customization
  graft interpreter convert example/interpreter/lua/queue.yaml --name acme`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, arguments []string) error {
			customizations, err := disk.ReadStream(arguments[0], disk.DocumentSize)
			if err != nil {
				return err
			}
			profile, problems, err := convert.Profile(name, customizations)
			if err != nil {
				return fmt.Errorf("converting %s: %w", arguments[0], err)
			}
			for _, problem := range problems {
				fmt.Fprintln(s.Err, problem)
			}
			_, err = s.Out.Write(profile)
			return err
		},
	}
	command.Flags().StringVar(&name, "name", name, "name of the profile")
	return command
}

// The values of --dialect.
const (
	dialectShipped  = "shipped"
	dialectProposal = "proposal"
)

// dialects are the kinds of the messages.
var dialects = map[string]string{dialectShipped: api.KindContext, dialectProposal: api.KindReview}

// interpreterWebhookOptions are the flags of graft interpreter webhook.
type interpreterWebhookOptions struct {
	profiles               interpreterFlags
	name, url, service, ca string
	timeout                int32
	dialect                string
	without                []string
}

func newInterpreterWebhookCommand(s *Streams) *cobra.Command {
	o := &interpreterWebhookOptions{}
	command := &cobra.Command{
		Use:   "webhook",
		Short: "Write the webhook configuration for Karmada",
		Long: `Write the webhook configuration for Karmada.

It contains the operations with rules, and a timeout, for which Karmada has no default. Karmada agents in pull
mode call the webhook as well: they cannot use Services of the control plane and need a reachable URL.
graft-resource-interpreter can keep the configuration up to date itself.`,
		Example: `  # Gardener's kinds, and those of a profile
  graft interpreter webhook -p example/interpreter/profile.yaml --url https://graft.example.com/interpret

  # for a Service in the control plane of Karmada, without members in pull mode
  graft interpreter webhook --service karmada-system/graft-resource-interpreter:443/interpret --timeout 5

  # for a Karmada without components, which would reject the configuration
  graft interpreter webhook --url https://graft.example.com/interpret --without components`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return o.run(s) },
	}
	set := command.Flags()
	o.profiles.addTo(command)
	set.StringVar(&o.name, "name", "graft-resource-interpreter", "name of the configuration; of several for a kind, Karmada uses only the first by name")
	set.StringVar(&o.url, "url", "", "URL of the webhook, for Karmada and for members in pull mode: https://host:port/path")
	set.StringVar(&o.service, "service", "", "Service of the webhook, instead of --url: namespace/name[:port][/path]")
	set.StringVar(&o.ca, "ca", "", "file with the CA bundle of the webhook (default: the system's CAs)")
	set.Int32Var(&o.timeout, "timeout", configuration.DefaultTimeoutSeconds, "timeout in seconds, 1 to 30")
	set.StringArrayVar(&o.without, "without", nil, "operation to leave out, such as one that Karmada does not support yet (repeatable)")
	set.StringVar(&o.dialect, "dialect", dialectShipped, "API of Karmada: shipped, or the earlier proposal")
	choices(command, "dialect", dialectShipped+"\tResourceInterpreterContext, as Karmada ships it", dialectProposal+"\tExploreReview, as the proposal has it")
	_ = command.RegisterFlagCompletionFunc("without", fixed(configv1alpha1.RegisteredOperations()...))
	return command
}

func (o *interpreterWebhookOptions) run(s *Streams) error {
	at, err := o.endpoint()
	if err != nil {
		return err
	}
	if err := o.checkWithout(); err != nil {
		return err
	}
	profiles, err := o.profiles.load()
	if err != nil {
		return err
	}
	kinds := interpreter.Without(profiles.program.Kinds(), o.without)
	if err := asFlags(at.Validate()); err != nil {
		return err
	}
	if at.Service != nil {
		fmt.Fprintln(s.Err, "Karmada's agents in member clusters that pull cannot call this service: with such members, give --url.")
	}
	return writeYAML(s.Out, configuration.Generate(dialects[o.dialect], o.name, kinds, at))
}

// checkWithout returns an error for an unknown operation in --without.
func (o *interpreterWebhookOptions) checkWithout() error {
	known := append(configv1alpha1.RegisteredOperations(), string(interpreter.Prune))
	for _, name := range o.without {
		if !slices.Contains(known, name) {
			return fmt.Errorf("--without %s: unknown operation%s; the operations are %s", name, source.Suggest(name, known), strings.Join(known, ", "))
		}
	}
	return nil
}

// endpoint returns the address of the webhook.
func (o *interpreterWebhookOptions) endpoint() (configuration.Endpoint, error) {
	switch {
	case (o.url == "") == (o.service == ""):
		return configuration.Endpoint{}, errors.New("give one of --url and --service: where the webhook is")
	case o.timeout == 0:
		return configuration.Endpoint{}, errors.New("--timeout 0: must be 1 to 30 seconds")
	}
	e := configuration.Endpoint{URL: o.url, TimeoutSeconds: o.timeout}
	var err error
	if o.ca != "" {
		if e.CABundle, err = disk.ReadStream(o.ca, disk.CertificateSize); err != nil {
			return e, fmt.Errorf("reading --ca: %w", err)
		}
	}
	if o.service != "" {
		if e.Service, err = parseService(o.service); err != nil {
			return e, fmt.Errorf("--service %s: %w", o.service, err)
		}
	}
	return e, nil
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

// parseService reads namespace/name[:port][/path].
func parseService(text string) (*admissionv1.ServiceReference, error) {
	parts := strings.SplitN(text, "/", 3)
	parsed, err := configv1alpha1.ParseService(strings.Join(parts[:min(2, len(parts))], "/"))
	if err != nil {
		return nil, errors.New("must be namespace/name[:port][/path], with a port of 1 to 65535")
	}
	s := &admissionv1.ServiceReference{Namespace: parsed.Namespace, Name: parsed.Name}
	if parsed.Port != 0 {
		s.Port = &parsed.Port
	}
	if len(parts) == 3 {
		s.Path = new("/" + parts[2])
	}
	return s, nil
}
