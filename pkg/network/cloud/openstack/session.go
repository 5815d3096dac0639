// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
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
	"golang.org/x/sync/semaphore"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// session holds the authenticated client. It authenticates again when the files change; gophercloud renews expired
// tokens.
type session struct {
	credentials Credentials
	observer    *observer

	// turn guards the fields below. It is a semaphore because waiting for Keystone must end with the context.
	turn     *semaphore.Weighted
	login    *login
	provider *gophercloud.ProviderClient
	current  *gophercloud.ServiceClient
}

// rejectedPause is the pause after Keystone has rejected credentials. It may lock an account after several attempts.
const rejectedPause = 30 * time.Second

// neutron returns a client of Neutron.
func (s *session) neutron(ctx context.Context) (neutron, error) {
	if err := s.turn.Acquire(ctx, 1); err != nil {
		return neutron{}, fmt.Errorf("waiting for Keystone: %w", err)
	}
	defer s.turn.Release(1)
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
	transport := s.observer.observe(cloud.NewTransport(read.tls))
	provider, err := config.NewProviderClient(ctx, read.auth, config.WithHTTPClient(http.Client{Transport: transport}))
	if err != nil {
		err = s.observer.failure("authenticating", err)
		if statusOf(err) == http.StatusUnauthorized {
			return cloud.NewRetryAfter(rejectedPause, "Keystone rejected the credentials")
		}
		return err
	}
	s.login, s.provider, s.current = read, provider, nil
	return nil
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

// entry returns the name of the entry in clouds.yaml.
func (c Credentials) entry() string { return cmp.Or(c.Cloud, "openstack") }

// read reads the files. It fails if one is unreadable or invalid, or if the URL of Keystone is missing.
func (c Credentials) read() (*login, error) {
	read := c.readClouds
	if c.SecretFolder != "" {
		read = c.readSecret
	}
	options, err := read()
	if err != nil {
		return nil, fmt.Errorf("reading the credentials: %w", err)
	}
	l := &login{}
	if l.auth, l.endpoint, l.tls, err = clouds.Parse(append(options, clouds.WithCloudName(c.entry()))...); err != nil {
		return nil, fmt.Errorf("reading the credentials in %s: %w", cmp.Or(c.CloudsFile, c.SecretFolder), err)
	}
	if l.auth.IdentityEndpoint == "" {
		return nil, errors.New("reading the credentials: the URL of Keystone is missing")
	}
	// Tokens of users expire; gophercloud gets a new one after status 401.
	l.auth.AllowReauth = l.auth.TokenID == ""
	l.endpoint.Region = cmp.Or(c.Region, l.endpoint.Region)
	if l.tls == nil {
		l.tls = &tls.Config{}
	}
	l.tls.MinVersion = tls.VersionTLS12
	return l, nil
}

// readClouds reads a clouds.yaml, and a secure.yaml next to it.
func (c Credentials) readClouds() ([]clouds.ParseOption, error) {
	raw, err := disk.ReadFile(c.CloudsFile, disk.CertificateSize)
	if err != nil {
		return nil, err
	}
	options := []clouds.ParseOption{clouds.WithCloudsYAML(bytes.NewReader(raw))}
	secure, err := disk.ReadFile(filepath.Join(filepath.Dir(c.CloudsFile), "secure.yaml"), disk.CertificateSize)
	if errors.Is(err, fs.ErrNotExist) {
		return options, nil
	}
	return append(options, clouds.WithSecureYAML(bytes.NewReader(secure))), err
}

// secretKeys are the keys of a cloudprovider Secret that are read.
var secretKeys = []string{
	"domainName", "tenantName", "username", "password", "applicationCredentialID", "applicationCredentialName",
	"applicationCredentialSecret", "authURL", "caCert", "insecure",
}

// readSecret reads a folder with the keys of a cloudprovider Secret, and writes a clouds.yaml with them.
func (c Credentials) readSecret() ([]clouds.ParseOption, error) {
	values := map[string]string{}
	for _, key := range secretKeys {
		raw, err := disk.ReadFile(filepath.Join(c.SecretFolder, key), disk.CertificateSize)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		values[key] = strings.TrimSpace(string(raw))
	}
	auth := clouds.AuthInfo{
		AuthURL: cmp.Or(values["authURL"], c.AuthURL), ApplicationCredentialID: values["applicationCredentialID"],
		ApplicationCredentialSecret: values["applicationCredentialSecret"],
	}
	if auth.ApplicationCredentialSecret == "" {
		auth.Password, auth.ProjectName, auth.ProjectDomainName = values["password"], values["tenantName"], values["domainName"]
	} else if auth.ApplicationCredentialID == "" {
		auth.ApplicationCredentialName = values["applicationCredentialName"]
	}
	if auth.ApplicationCredentialID == "" || auth.Password != "" {
		auth.Username, auth.UserDomainName = values["username"], values["domainName"]
	}
	if auth.ApplicationCredentialSecret == "" && auth.Password == "" {
		return nil, fmt.Errorf("%s has neither password nor applicationCredentialSecret", c.SecretFolder)
	}
	// Gardener's Secret has the key insecure for clouds with certificates of their own.
	entry := clouds.Cloud{AuthInfo: &auth, Verify: new(values["insecure"] != "true")}
	if values["caCert"] != "" {
		entry.CACertFile = filepath.Join(c.SecretFolder, "caCert")
	}
	raw, err := json.Marshal(clouds.Clouds{Clouds: map[string]clouds.Cloud{c.entry(): entry}})
	return []clouds.ParseOption{clouds.WithCloudsYAML(bytes.NewReader(raw))}, err
}
