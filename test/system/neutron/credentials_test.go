// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system && neutron

package neutron

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/openstack"
)

// cloudsFile writes a clouds.yaml with one entry, and returns its path.
func cloudsFile(name, entry string) string {
	GinkgoHelper()
	return file("clouds.yaml", fmt.Sprintf("clouds:\n  %s:\n%s", name, entry))
}

func file(name, text string) string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), name)
	Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
	return path
}

// secret writes a folder with the keys of a cloudprovider Secret.
func secret(values map[string]string) string {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	for key, value := range values {
		Expect(os.WriteFile(filepath.Join(folder, key), []byte(value), 0o600)).To(Succeed())
	}
	return folder
}

func authURL() string { return "http://" + fixture.keystone + "/v3" }

func applicationCredential() string {
	return fmt.Sprintf(`    auth_type: v3applicationcredential
    region_name: %s
    auth: {auth_url: %q, application_credential_id: %s, application_credential_secret: %q}
`, region, authURL(), fixture.credential.ID, fixture.credential.Secret)
}

func userPassword(authURL, region, more string) string {
	return fmt.Sprintf(`    region_name: %s
%s    auth: {auth_url: %q, username: %s, password: %s, project_name: %s,
      user_domain_id: default, project_domain_id: default}
`, region, more, authURL, user, password, project)
}

var _ = Describe("credentials", func() {
	DescribeTable("are accepted", func(ctx SpecContext, credentials func() openstack.Credentials) {
		mac := fixture.mac
		c := open(definition(func(d *openstack.Definition) { d.Credentials = credentials() }))
		a := bind(ctx, c, allocation(mac, 30))
		unbind(ctx, c, a)
	},
		Entry("an application credential in clouds.yaml", func() openstack.Credentials {
			return openstack.Credentials{CloudsFile: cloudsFile("application", applicationCredential()), Cloud: "application"}
		}),
		Entry("a password in clouds.yaml", func() openstack.Credentials {
			return openstack.Credentials{CloudsFile: cloudsFile("user", userPassword(authURL(), region, "")), Cloud: "user"}
		}),
		Entry("another region, and a CA bundle", func() openstack.Credentials {
			ca := file("ca.crt", string(fixture.secure.authority))
			entry := userPassword(fixture.secure.keystone+"/v3", region, fmt.Sprintf("    cacert: %s\n", ca))
			return openstack.Credentials{CloudsFile: cloudsFile("secure", entry), Cloud: "secure", Region: secureRegion}
		}),
		Entry("a cloudprovider Secret with a password and a CA", func() openstack.Credentials {
			return openstack.Credentials{Region: secureRegion, SecretFolder: secret(map[string]string{
				"authURL": fixture.secure.keystone + "/v3", "caCert": string(fixture.secure.authority),
				"domainName": "Default", "tenantName": project, "username": user, "password": password,
			})}
		}),
		Entry("a cloudprovider Secret with an application credential", func() openstack.Credentials {
			return openstack.Credentials{Region: region, AuthURL: authURL(), SecretFolder: secret(map[string]string{
				"domainName": "Default", "tenantName": project,
				"applicationCredentialID": fixture.credential.ID, "applicationCredentialSecret": fixture.credential.Secret,
			})}
		}),
	)

	It("are rejected with a pause, as Keystone may lock the account", func(ctx SpecContext) {
		folder := secret(map[string]string{
			"authURL": authURL(), "domainName": "Default", "tenantName": project, "username": user, "password": "wrong",
		})
		c := open(definition(func(d *openstack.Definition) {
			d.Credentials = openstack.Credentials{Region: region, SecretFolder: folder}
		}))
		mac := fixture.mac
		a := allocation(mac, 31)
		_, err := c.Bind(ctx, a)
		Expect(err).To(MatchError(ContainSubstring("Keystone rejected the credentials")))
		var pause *cloud.RetryAfter
		Expect(err).To(BeAssignableToTypeOf(pause))

		By("replacing the password")
		Expect(os.WriteFile(filepath.Join(folder, "password"), []byte(password), 0o600)).To(Succeed())
		unbind(ctx, c, bind(ctx, c, a))
	})

	It("of another authority are not trusted", func(ctx SpecContext) {
		entry := userPassword(fixture.secure.keystone+"/v3", region, "")
		c := open(definition(func(d *openstack.Definition) {
			d.Credentials = openstack.Credentials{CloudsFile: cloudsFile("secure", entry), Cloud: "secure"}
		}))
		_, err := c.Bind(ctx, allocation("fa:16:3e:00:00:00", 32))
		Expect(err).To(MatchError(ContainSubstring("certificate signed by unknown authority")))
	})

	It("get a new token when the old one is no longer valid", func(ctx SpecContext) {
		mac := fixture.mac
		c := open(definition())
		first := bind(ctx, c, allocation(mac, 33))
		_, tokens := fixture.proxy.seen()
		before := tokens[len(tokens)-1]

		fixture.proxy.disturb(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
			if r.Header.Get("X-Auth-Token") == before {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			forward.ServeHTTP(w, r)
		})
		second := bind(ctx, c, allocation(mac, 34))
		unbind(ctx, c, first, second)
	})

	It("of two projects have their ports in their own project", func(ctx SpecContext) {
		second := createProject(ctx, "second")
		owner := fixture.direct(fixture.client(ctx, user, "second"))
		made, err := networks.Create(ctx, owner, networks.CreateOpts{Name: "pods"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(networks.Delete(ctx, owner, made.ID).ExtractErr()).To(Succeed()) })
		options := subnets.CreateOpts{NetworkID: made.ID, IPVersion: gophercloud.IPv4, CIDR: "10.0.0.0/24"}
		Expect(subnets.Create(ctx, owner, options).Err).NotTo(HaveOccurred())
		one, two := open(definition()), open(definition(func(d *openstack.Definition) {
			entry := strings.ReplaceAll(userPassword(authURL(), region, ""), "project_name: "+project, "project_name: second")
			d.Credentials = openstack.Credentials{CloudsFile: cloudsFile("second", entry), Cloud: "second"}
			d.NetworkID, d.Trunk = made.ID, nil
		}))
		first, other := bind(ctx, one, allocation(fixture.mac, 35)), bind(ctx, two, allocation("", 35))
		for id, a := range map[string]network.Allocation{fixture.projectID: first, second: other} {
			port, err := ports.Get(ctx, fixture.admin, portOf(a)).Extract()
			Expect(err).NotTo(HaveOccurred())
			Expect(port.ProjectID).To(Equal(id))
			Expect(port.FixedIPs).To(ContainElement(HaveField("IPAddress", "10.0.0.35")))
		}
		unbind(ctx, two, other)
		Expect(graftPorts(ctx)).To(HaveLen(1))
		unbind(ctx, one, first)
	})
})

// createProject creates a project, makes the user a member, and returns the ID of the project.
func createProject(ctx SpecContext, name string) string {
	GinkgoHelper()
	made, err := projects.Create(ctx, fixture.identity, projects.CreateOpts{Name: name, DomainID: "default"}).Extract()
	Expect(err).NotTo(HaveOccurred())
	options := roles.AssignOpts{UserID: fixture.userID, ProjectID: made.ID}
	Expect(roles.Assign(ctx, fixture.identity, fixture.memberID, options).Err).NotTo(HaveOccurred())
	return made.ID
}
