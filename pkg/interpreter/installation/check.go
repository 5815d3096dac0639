// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/reload"
)

// Check validates the configuration, the files that it names, and the profiles. It contacts no cluster.
func (i *Installation) Check(out io.Writer) error {
	options, err := i.Reloading()
	if err != nil {
		return err
	}
	inForce, err := reload.Check(options)
	if err != nil {
		return err
	}
	if err := errors.Join(i.checkFiles(), i.checkClusters(), i.checkRegistration()); err != nil {
		return err
	}
	for _, warning := range inForce.Warnings {
		fmt.Fprintln(out, warning)
	}
	names := make([]string, len(inForce.Documents))
	for i, d := range inForce.Documents {
		names[i] = d.Metadata.Name
	}
	_, err = fmt.Fprintf(out, "ok: kinds %d; profiles %s\n", len(inForce.Kinds()), strings.Join(names, ", "))
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
	leaf, r := files.Held().Certificate.Leaf, i.Config.Registration
	switch {
	case r == nil:
	case r.Service != nil:
		err = leaf.VerifyHostname(r.Service.Name + "." + r.Service.Namespace + ".svc")
	default:
		if u, wrong := url.Parse(r.URL); wrong == nil {
			err = leaf.VerifyHostname(u.Hostname())
		}
	}
	if err != nil {
		return fmt.Errorf("certificate.files: callers would reject the certificate: %w", err)
	}
	return nil
}

// checkClusters reads the kubeconfigs, but contacts no cluster.
func (i *Installation) checkClusters() error {
	var problems []error
	for _, of := range [...]struct{ name, path string }{{"kubernetes", i.Config.Kubernetes.Kubeconfig}, {"registration", i.karmadaKubeconfig()}} {
		if of.path == "" {
			continue
		}
		if _, err := i.cluster(of.path); err != nil {
			problems = append(problems, fmt.Errorf("%s.kubeconfig: %w", of.name, err))
		}
	}
	return errors.Join(problems...)
}

func (i *Installation) karmadaKubeconfig() string {
	if i.Config.Registration == nil {
		return ""
	}
	return i.Config.Registration.Kubeconfig
}

// checkRegistration checks that Karmada would accept the registration.
func (i *Installation) checkRegistration() error {
	if i.Config.Registration == nil {
		return nil
	}
	if err := i.endpoint(nil).Validate().ToAggregate(); err != nil {
		return fmt.Errorf("registration: %w", err)
	}
	return nil
}
