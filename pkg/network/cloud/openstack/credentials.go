// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
)

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
