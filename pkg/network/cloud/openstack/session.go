// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopherstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// session holds the authenticated client. It authenticates again when the files change; gophercloud renews expired
// tokens.
type session struct {
	credentials Credentials
	observer    *observer

	// turn has one place, which guards the fields below. It is a channel because waiting for Keystone must end with
	// the context.
	turn     chan struct{}
	login    *login
	provider *gophercloud.ProviderClient
	current  *gophercloud.ServiceClient
	idle     func()
}

func newSession(c Credentials, o *observer) *session {
	return &session{credentials: c, observer: o, turn: make(chan struct{}, 1)}
}

// rejectedPause is the pause after Keystone has rejected credentials. It may lock an account after several attempts.
const rejectedPause = 30 * time.Second

// neutron returns a client of Neutron.
func (s *session) neutron(ctx context.Context) (neutron, error) {
	client, err := s.client(ctx)
	return neutron{client, s.observer}, err
}

func (s *session) client(ctx context.Context) (*gophercloud.ServiceClient, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for Keystone: %w", ctx.Err())
	}
	read, err := s.credentials.read()
	if s.current != nil && (err != nil || read.equal(s.login)) {
		// Files do not fit together while they are exchanged.
		return s.current, nil
	}
	if err != nil {
		return nil, err
	}
	if s.provider == nil || !read.equal(s.login) {
		if err := s.authenticate(ctx, read); err != nil {
			return nil, err
		}
	}
	made, err := gopherstack.NewNetworkV2(s.provider, read.endpoint)
	if err != nil {
		return nil, s.observer.failure(fmt.Sprintf("finding Neutron in the region %q", read.endpoint.Region), err)
	}
	s.current = made
	return made, nil
}

// authenticate gets a token and the catalog.
func (s *session) authenticate(ctx context.Context, read *login) error {
	transport := newTransport(read)
	client := http.Client{Transport: s.observer.observe(transport)}
	provider, err := config.NewProviderClient(ctx, read.auth, config.WithHTTPClient(client))
	if err != nil {
		err = s.observer.failure("authenticating", err)
		if answered, ok := asAPIError(err); ok && answered.status == http.StatusUnauthorized {
			return cloud.NewRetryAfter(rejectedPause, "Keystone rejected the credentials")
		}
		return err
	}
	if s.idle != nil {
		s.idle()
	}
	s.login, s.provider, s.current, s.idle = read, provider, nil, transport.CloseIdleConnections
	return nil
}

func newTransport(l *login) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: l.tls, ForceAttemptHTTP2: true,
		MaxIdleConns: 64, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
}
