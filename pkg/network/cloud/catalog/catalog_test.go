// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/catalog"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// load compiles a document; $FOLDER in it is a folder of the test.
func load(t *testing.T, name, folder string) *policy.Policy {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(raw), "$FOLDER", folder)
	documents, findings := profile.LoadNetworks(source.File{Name: name, Data: []byte(text)})
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	made, findings := policy.Compile(documents)
	if made == nil {
		t.Fatal(findings)
	}
	return made
}

// create creates all clouds of a policy that have no errors.
func create(p *policy.Policy, o catalog.Options) (clouds map[string]cloud.Cloud, findings source.Findings) {
	clouds = map[string]cloud.Cloud{}
	for name, spec := range p.Clouds {
		made, problems := catalog.New(spec, o)
		if findings = append(findings, problems...); made != nil {
			clouds[name] = made
		}
	}
	return clouds, findings
}

// TestNew checks the clouds of a document, and the errors if the machine lacks a requirement.
func TestNew(t *testing.T) {
	folder := t.TempDir()
	p := load(t, "clouds.yaml", folder)
	if findings := catalog.Check(p.Clouds); len(findings) > 0 {
		t.Fatal(findings)
	}
	made, findings := create(p, catalog.Options{CNIConfigurations: folder, CNIPlugins: folder})
	if diff := cmp.Diff([]string{"choosing", "fabric", "lan"}, slices.Sorted(maps.Keys(made))); diff != "" {
		t.Errorf("clouds (-want +got):\n%s", diff)
	}
	want := "clouds.yaml:30:30: clouds.lan.cni.configuration: nothing can be allocated yet: the CNI network configuration lan is not in FOLDER\n" +
		"clouds.yaml:35:11: clouds.secret.http: reading the files of the cloud: open FOLDER/no-token: no such file or directory\n" +
		"clouds.yaml:36:24: clouds.neutron.openstack: reading the credentials: open FOLDER/clouds.yaml: no such file or directory"
	findings.Sort()
	if diff := cmp.Diff(want, strings.ReplaceAll(findings.Error(), folder, "FOLDER")); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if errors := findings.Errors(); len(errors) != 2 {
		t.Errorf("errors: %v", errors)
	}
	chooses := map[string]bool{}
	for name, spec := range p.Clouds {
		chooses[name] = spec.Chooses()
	}
	if diff := cmp.Diff(map[string]bool{"fabric": false, "choosing": true, "lan": true, "neutron": false, "secret": false}, chooses); diff != "" {
		t.Errorf("which choose addresses (-want +got):\n%s", diff)
	}
}

// TestCheck checks the findings that need no machine.
func TestCheck(t *testing.T) {
	p := load(t, "wrong.yaml", "/nowhere")
	findings := catalog.Check(p.Clouds)
	findings.Sort()
	want := `wrong.yaml:5:30: clouds.lan.cni.configuration: "../lan" is not the name of a CNI network configuration: use letters, digits, dots, dashes and underscores
wrong.yaml:8:12: clouds.fabric.http.url: must be a URL such as https://fabric.example.com/v1
wrong.yaml:9:69: clouds.fabric.http.bind.body.ips: undefined field 'adresses' (did you mean "addresses"?)
wrong.yaml:13:7: clouds.neutron.openstack: exactly one of cloudsFile and secretFolder is needed
wrong.yaml:13:7: clouds.neutron.openstack.networkID: is missing: the ID of a Neutron network
wrong.yaml:13:16: clouds.neutron.openstack.authURL: must be a URL such as https://keystone.example.com/v3
wrong.yaml:14:19: clouds.neutron.openstack.subnetIDs[0]: "pods" must be an ID, such as 1b0fd2b8-40cf-4e5c-8c9f-4f6c9d8c8d0f; names may be ambiguous
wrong.yaml:15:29: clouds.neutron.openstack.allowedAddressPairs[0]: "10.0.0.1/8" must be a prefix such as 10.96.0.0/11
wrong.yaml:16:19: clouds.neutron.openstack.namePrefix: "Shoot" must be at most 63 lower case letters, digits and dashes
wrong.yaml:17:22: clouds.neutron.openstack.trunk.vlans: "4095" is not a VLAN: they are 1 to 4094, and a range is written as 100-4000`
	if diff := cmp.Diff(want, findings.Error()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if made, _ := create(p, catalog.Options{}); len(made) > 0 {
		t.Errorf("clouds were created from invalid declarations: %v", made)
	}
}
