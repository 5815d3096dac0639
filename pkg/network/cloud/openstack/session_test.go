// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
)

const keystoneURL = "https://keystone.example.com/v3"

// TestCredentials checks how the files of credentials are read.
func TestCredentials(t *testing.T) {
	const cloudsFile = "clouds:\n  openstack:\n    region_name: R1\n    auth: {auth_url: \"" + keystoneURL + "\", username: u, password: p, " +
		"project_name: shoot, user_domain_name: D, project_domain_name: D}\n"
	shoot := &gophercloud.AuthScope{ProjectName: "shoot", DomainName: "D"}
	withPassword := gophercloud.AuthOptions{
		IdentityEndpoint: keystoneURL, Username: "u", Password: "p", DomainName: "D", TenantName: "shoot", Scope: shoot, AllowReauth: true,
	}
	for _, test := range []struct {
		name        string
		files       map[string]string
		credentials openstack.Credentials
		want        gophercloud.AuthOptions
		region      string
		insecure    bool
		problem     string
	}{
		{
			name: "Secret with a password", credentials: openstack.Credentials{SecretFolder: ".", Region: "R2"},
			files: map[string]string{"authURL": keystoneURL + "\n", "domainName": "D", "tenantName": "shoot", "username": "u", "password": "p"},
			want:  withPassword, region: "R2",
		},
		{
			name: "Secret without a URL, and without verification", credentials: openstack.Credentials{SecretFolder: ".", AuthURL: keystoneURL},
			files:    map[string]string{"domainName": "D", "tenantName": "shoot", "username": "u", "password": "p", "insecure": "true"},
			want:     withPassword,
			insecure: true,
		},
		{
			name: "Secret with an application credential by its ID", credentials: openstack.Credentials{SecretFolder: ".", AuthURL: keystoneURL},
			files: map[string]string{
				"domainName": "D", "tenantName": "shoot", "username": "u", "password": "p",
				"applicationCredentialID": "id", "applicationCredentialName": "name", "applicationCredentialSecret": "s",
			},
			want: gophercloud.AuthOptions{
				IdentityEndpoint: keystoneURL, ApplicationCredentialID: "id", ApplicationCredentialSecret: "s", AllowReauth: true,
			},
		},
		{
			name: "Secret with an application credential by its name", credentials: openstack.Credentials{SecretFolder: ".", AuthURL: keystoneURL},
			files: map[string]string{
				"domainName": "D", "tenantName": "shoot", "username": "u", "applicationCredentialName": "name", "applicationCredentialSecret": "s",
			},
			want: gophercloud.AuthOptions{
				IdentityEndpoint: keystoneURL, Username: "u", DomainName: "D", ApplicationCredentialName: "name", ApplicationCredentialSecret: "s",
				AllowReauth: true,
			},
		},
		{
			name: "Secret without a password", credentials: openstack.Credentials{SecretFolder: ".", AuthURL: keystoneURL},
			files: map[string]string{"username": "u"}, problem: "has neither password nor applicationCredentialSecret",
		},
		{
			name: "Secret with a wrong CA", credentials: openstack.Credentials{SecretFolder: ".", AuthURL: keystoneURL},
			files: map[string]string{"username": "u", "password": "p", "caCert": "none"}, problem: "failed to parse the CA Cert",
		},
		{
			name: "Secret without a URL", credentials: openstack.Credentials{SecretFolder: "."},
			files: map[string]string{"username": "u", "password": "p", "tenantName": "shoot", "domainName": "D"}, problem: "the URL of Keystone is missing",
		},
		{
			name: "clouds.yaml with one entry", credentials: openstack.Credentials{CloudsFile: "clouds.yaml"},
			files: map[string]string{"clouds.yaml": cloudsFile}, want: withPassword, region: "R1",
		},
		{
			name: "clouds.yaml in another region, with a secure.yaml", credentials: openstack.Credentials{CloudsFile: "clouds.yaml", Region: "R2"},
			files: map[string]string{
				"clouds.yaml": strings.ReplaceAll(cloudsFile, "password: p, ", ""), "secure.yaml": "clouds: {openstack: {auth: {password: p}}}",
			},
			want: withPassword, region: "R2",
		},
		{
			name: "clouds.yaml without the entry", credentials: openstack.Credentials{CloudsFile: "clouds.yaml", Cloud: "other"},
			files: map[string]string{"clouds.yaml": cloudsFile}, problem: `cloud "other" not found`,
		},
		{
			name: "reports that clouds.yaml does not exist", credentials: openstack.Credentials{CloudsFile: "clouds.yaml"}, problem: "no such file",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range test.files {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c := &test.credentials; c.SecretFolder != "" {
				c.SecretFolder = folder
			} else {
				c.CloudsFile = filepath.Join(folder, c.CloudsFile)
			}
			auth, region, insecure, err := openstack.Login(test.credentials)
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) || !strings.HasPrefix(err.Error(), "reading the credentials") {
					t.Errorf("got %v, want %q", err, test.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, auth); diff != "" || region != test.region || insecure != test.insecure {
				t.Errorf("region %q, insecure %t (-want +got):\n%s", region, insecure, diff)
			}
		})
	}
}
