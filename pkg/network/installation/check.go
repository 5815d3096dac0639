// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	configv1alpha1 "github.com/graft-provider/gardener-extension-provider-graft/pkg/apis/config/v1alpha1"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/server"
)

// checkMachine finds what the configuration names and this machine has not: files that cannot be loaded, and addresses that there are not. Nothing
// is opened, so that it can be asked beside a server that runs. Each problem begins with its place.
func (o *Installation) checkMachine(ctx context.Context) error {
	var problems []error
	note := func(place string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", place, err))
		}
	}
	for i, l := range o.Config.Listeners {
		place := fmt.Sprintf("listeners[%d]", i)
		if netw, address, err := l.Endpoint(); err == nil && netw == "tcp" {
			note(place+".address", resolvable(ctx, address))
		}
		note(place+".tls", loadable(configv1alpha1.NetworkListener{TLS: l.TLS}))
		note(place+".tokenFile", loadable(configv1alpha1.NetworkListener{TokenFile: l.TokenFile}))
	}
	if o.Config.Metrics.Address != "0" {
		note("metrics.address", resolvable(ctx, o.Config.Metrics.Address))
	}
	if o.Config.Ledger.Etcd != nil {
		_, err := etcdTLS(*o.Config.Ledger.Etcd)
		note("ledger.etcd", err)
	}
	if k := o.Config.Kubernetes; k != nil && k.Kubeconfig != "" {
		_, err := kubernetes(k)
		note("kubernetes.kubeconfig", err)
	}
	return errors.Join(problems...)
}

// loadable says whether the files of a listener are what they should be.
func loadable(l configv1alpha1.NetworkListener) error {
	made := server.Listener{TokenFile: l.TokenFile}
	if l.TLS != nil {
		made.TLS = &server.TLS{CertFile: l.TLS.CertFile, KeyFile: l.TLS.KeyFile, ClientCAFile: l.TLS.ClientCAFile}
	}
	return made.CheckFiles()
}

// resolvable says whether an address of TCP can be listened on as far as that is known without doing so.
func resolvable(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if _, err := net.DefaultResolver.LookupPort(ctx, "tcp", port); err != nil {
		return fmt.Errorf("%s is no port: they are 0 to 65535", strconv.Quote(port))
	}
	// A port of 0 is any that is free: it takes nothing away from a server that runs.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return fmt.Errorf("%s is no address of this machine: %w", strconv.Quote(host), err)
	}
	return listener.Close()
}
