// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopherstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
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
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return neutron{}, fmt.Errorf("waiting for Keystone: %w", ctx.Err())
	}
	read, err := s.credentials.read()
	if s.current != nil && (err != nil || read.equal(s.login)) {
		// Files do not fit together while they are exchanged.
		return neutron{s.current, s.observer}, nil
	}
	if err == nil && (s.provider == nil || !read.equal(s.login)) {
		err = s.authenticate(ctx, read)
	}
	if err != nil {
		return neutron{}, err
	}
	made, err := gopherstack.NewNetworkV2(s.provider, read.endpoint)
	if err != nil {
		return neutron{}, s.observer.failure(fmt.Sprintf("finding Neutron in the region %q", read.endpoint.Region), err)
	}
	s.current = made
	return neutron{made, s.observer}, nil
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

// Credentials name the files with credentials: either a clouds.yaml, or a folder with the keys of Gardener's
// cloudprovider Secret.
type Credentials struct {
	CloudsFile, Cloud     string
	SecretFolder, AuthURL string
	Region                string
}

// login is how to authenticate and where.
type login struct {
	auth     gophercloud.AuthOptions
	endpoint gophercloud.EndpointOpts
	tls      *tls.Config
}

// equal reports whether both are the same login.
func (l *login) equal(other *login) bool {
	return reflect.DeepEqual(l.auth, other.auth) && l.endpoint.Region == other.endpoint.Region &&
		l.endpoint.Availability == other.endpoint.Availability && l.tls.InsecureSkipVerify == other.tls.InsecureSkipVerify &&
		l.tls.RootCAs.Equal(other.tls.RootCAs) && reflect.DeepEqual(l.tls.Certificates, other.tls.Certificates)
}

// read reads the files.
func (c Credentials) read() (*login, error) {
	made := &login{}
	var err error
	if c.SecretFolder != "" {
		err = made.readSecret(c)
	} else {
		err = made.readClouds(c)
	}
	if err != nil {
		return nil, err
	}
	// Tokens of users expire; gophercloud gets a new one after status 401.
	made.auth.AllowReauth = made.auth.TokenID == ""
	if c.Region != "" {
		made.endpoint.Region = c.Region
	}
	if made.auth.IdentityEndpoint == "" {
		return nil, errors.New("reading the credentials: the URL of Keystone is missing")
	}
	return made, nil
}

// readClouds reads a clouds.yaml, and a secure.yaml next to it.
func (l *login) readClouds(c Credentials) error {
	raw, err := readFile(c.CloudsFile)
	if err != nil {
		return err
	}
	secure, err := readFile(filepath.Join(filepath.Dir(c.CloudsFile), "secure.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	options := []clouds.ParseOption{clouds.WithCloudsYAML(bytes.NewReader(raw)), clouds.WithCloudName(c.Cloud), clouds.WithLocations(c.CloudsFile)}
	if len(secure) > 0 {
		options = append(options, clouds.WithSecureYAML(bytes.NewReader(secure)))
	}
	if l.auth, l.endpoint, l.tls, err = clouds.Parse(options...); err != nil {
		return fmt.Errorf("reading the entry %s of %s: %w", c.Cloud, c.CloudsFile, err)
	}
	if l.tls == nil {
		l.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return nil
}

// secretKeys are the keys of a cloudprovider Secret that are read.
var secretKeys = []string{
	"domainName", "tenantName", "username", "password", "applicationCredentialID", "applicationCredentialName",
	"applicationCredentialSecret", "authURL", "caCert", "insecure",
}

// readSecret reads a folder with the keys of a cloudprovider Secret.
func (l *login) readSecret(c Credentials) error {
	values := map[string]string{}
	for _, key := range secretKeys {
		raw, err := readFile(filepath.Join(c.SecretFolder, key))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		values[key] = strings.TrimSpace(string(raw))
	}
	l.auth = gophercloud.AuthOptions{
		IdentityEndpoint: values["authURL"], DomainName: values["domainName"],
		Username: values["username"], Password: values["password"],
		ApplicationCredentialID: values["applicationCredentialID"], ApplicationCredentialName: values["applicationCredentialName"],
		ApplicationCredentialSecret: values["applicationCredentialSecret"],
	}
	if l.auth.IdentityEndpoint == "" {
		l.auth.IdentityEndpoint = c.AuthURL
	}
	switch {
	case l.auth.ApplicationCredentialSecret != "":
		// An application credential is of one project, and Keystone rejects a second scope.
		l.auth.Password = ""
		if l.auth.ApplicationCredentialID != "" {
			l.auth.Username, l.auth.DomainName, l.auth.ApplicationCredentialName = "", "", ""
		}
	case l.auth.Password != "":
		l.auth.Scope = &gophercloud.AuthScope{ProjectName: values["tenantName"], DomainName: values["domainName"]}
	default:
		return fmt.Errorf("reading the credentials: %s has neither password nor applicationCredentialSecret", c.SecretFolder)
	}
	l.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if ca := values["caCert"]; ca != "" {
		l.tls.RootCAs = x509.NewCertPool()
		if !l.tls.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return errors.New("reading the credentials: caCert contains no certificate")
		}
	}
	// Gardener's Secret has this key for clouds with certificates of their own.
	l.tls.InsecureSkipVerify = values["insecure"] == "true"
	return nil
}

func readFile(path string) ([]byte, error) {
	raw, err := disk.ReadFile(path, disk.CertificateSize)
	if err != nil {
		return nil, fmt.Errorf("reading the credentials: %w", err)
	}
	return raw, nil
}
