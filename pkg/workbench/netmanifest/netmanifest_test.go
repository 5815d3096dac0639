// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package netmanifest_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/workbench/netmanifest"
)

var update = flag.Bool("update", false, "write what the tests got as what they want")

// load compiles testdata/profile.yaml, or a text in its place.
func load(t *testing.T, text string) *policy.Policy {
	t.Helper()
	data := []byte(text)
	if text == "" {
		var err error
		if data, err = os.ReadFile("testdata/profile.yaml"); err != nil {
			t.Fatal(err)
		}
	}
	documents, findings := profile.LoadNetworks(source.File{Name: "profile.yaml", Data: data})
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	p, findings := policy.Compile(documents)
	if err := findings.Errors().Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s; -update writes it (-want +got):\n%s", path, diff)
	}
}

func options(change func(*netmanifest.Options)) netmanifest.Options {
	o := netmanifest.Options{Pool: "vpc", Namespace: "spiderpool", Master: "enp0s28", Version: semver.MustParse("1.2.2"), ServerURL: "http://graft:80"}
	if change != nil {
		change(&o)
	}
	return o
}

// TestSpiderpool holds the objects of pools against testdata.
func TestSpiderpool(t *testing.T) {
	ips := func(t *testing.T, texts ...string) func(*netmanifest.Options) {
		set, err := netmanifest.ParseIPs(texts)
		if err != nil {
			t.Fatal(err)
		}
		return func(o *netmanifest.Options) { o.Pool, o.IPs = "dual", set }
	}
	tests := map[string]func(*netmanifest.Options){
		"vpc":   nil,
		"1.2.0": func(o *netmanifest.Options) { o.Version = semver.MustParse("1.2.0") },
		"1.3.0": func(o *netmanifest.Options) { o.Version = semver.MustParse("1.3.0-rc1") },
		"dual": func(o *netmanifest.Options) {
			o.Pool, o.Name, o.Namespace, o.Master = "dual", "blue", "kube-system", "bond0"
		},
		"wide":    func(o *netmanifest.Options) { o.Pool = "wide" },
		"cloudy":  func(o *netmanifest.Options) { o.Pool = "cloudy" },
		"some":    ips(t, "10.64.0.16/28", "10.64.0.250", "fd00:64::1000-fd00:64::100f"),
		"one":     ips(t, "10.64.0.9"),
		"one-six": func(o *netmanifest.Options) { ips(t, "fd00:66::9")(o); o.Pool = "wide" },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := netmanifest.Spiderpool(load(t, ""), options(change))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(got), "vlanID") {
				t.Error("the VLAN is not to be said")
			}
			compare(t, "spiderpool-"+name+".yaml", string(got))
		})
	}
}

// TestSpiderpoolErrors holds what is said where there are no objects for a pool.
func TestSpiderpoolErrors(t *testing.T) {
	tests := map[string]struct {
		change func(*netmanifest.Options)
		want   string
	}{
		"no VLANs":        {func(o *netmanifest.Options) { o.Pool = "plain" }, "the pool plain gives no VLANs"},
		"a cloud chooses": {func(o *netmanifest.Options) { o.Pool = "chosen" }, "the pool chosen leaves the choice of addresses to its cloud lan"},
		"too many": {func(o *netmanifest.Options) {
			o.Pool = "wide"
			o.IPs, _ = netmanifest.ParseIPs([]string{"fd00:66::/96"})
		}, "more than 65536 addresses"},
		"no such pool":  {func(o *netmanifest.Options) { o.Pool = "vpn" }, `there is no pool "vpn" (did you mean "vpc"?)`},
		"several pools": {func(o *netmanifest.Options) { o.Pool = "" }, "name one of the pools with --pool: cloudy, dual, vpc, wide"},
		"no interface":  {func(o *netmanifest.Options) { o.Master = "" }, "give --master"},
		"no such name":  {func(o *netmanifest.Options) { o.Master = "a/b" }, `"a/b" is no name of an interface`},
		"object":        {func(o *netmanifest.Options) { o.Name = "Blue" }, `the name "Blue" is none for objects`},
		"long":          {func(o *netmanifest.Options) { o.Name = strings.Repeat("a", 251) }, "is none for objects"},
		"namespace":     {func(o *netmanifest.Options) { o.Namespace = "a.b" }, `the namespace "a.b" is none`},
		"no port":       {func(o *netmanifest.Options) { o.ServerURL = "http://graft" }, "must name the port"},
		"old":           {func(o *netmanifest.Options) { o.Version = semver.MustParse("1.1.9") }, "1.2.0 is the first that does"},
		"other addresses": {func(o *netmanifest.Options) {
			o.IPs, _ = netmanifest.ParseIPs([]string{"172.91.0.99-172.91.0.101"})
		}, "the pool vpc does not have 172.91.0.99-172.91.0.99"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := netmanifest.Spiderpool(load(t, ""), options(test.change))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestOnlyPool holds that the only pool needs not be named, and is told what it lacks.
func TestOnlyPool(t *testing.T) {
	head := "apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1\nkind: NetworkProfile\nmetadata: {name: acme}\n"
	unnamed := options(func(o *netmanifest.Options) { o.Pool = "" })
	two := head + "pools: {vpc: {subnets: [{prefix: 10.0.0.0/30}], vlans: 7}, plain: {subnets: [{prefix: 10.1.0.0/24}]}}"
	got, err := netmanifest.Spiderpool(load(t, two), unnamed)
	if err != nil || !strings.Contains(string(got), "name: vpc-v4") {
		t.Errorf("got %v\n%s", err, got)
	}
	for want, text := range map[string]string{
		"gives no VLANs":  "pools: {plain: {subnets: [{prefix: 10.0.0.0/30}]}}",
		"no pool will do": "devices: [{attributes: {acme.com/rack: r1}}]",
	} {
		if _, err := netmanifest.Spiderpool(load(t, head+text), unnamed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestValues holds the Helm values against testdata.
func TestValues(t *testing.T) {
	v := semver.MustParse("1.2.2")
	for name, url := range map[string]string{"http": "http://graft-network-provider.graft-system.svc:80", "https": "https://10.0.0.1:8443/graft"} {
		got, err := netmanifest.SpiderpoolValues(url, v)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "values-spiderpool-"+name+".yaml", string(got))
	}
	for name, url := range map[string]string{"socket": "unix:///run/graft/dranet.sock", "http": "http://127.0.0.1:8080"} {
		got, err := netmanifest.DRANETValues(load(t, ""), url)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "values-dranet-"+name+".yaml", string(got))
	}
}

// TestURLs holds which URLs are refused.
func TestURLs(t *testing.T) {
	for _, url := range []string{"", "graft:80", "http://graft", "http://:80", "ftp://graft:21", "http://u:p@graft:80", "http://graft:80?a=b"} {
		if _, err := netmanifest.SpiderpoolValues(url, semver.MustParse("1.2.2")); err == nil {
			t.Errorf("%q passes for Spiderpool", url)
		}
	}
	for _, url := range []string{"", "/run/graft.sock", "unix://run/graft.sock", "unix:///graft.sock", "unix:///run/../graft/a.sock", "http://", "tcp://a:1"} {
		if _, err := netmanifest.DRANETValues(load(t, ""), url); err == nil {
			t.Errorf("%q passes for DRANET", url)
		}
	}
	if _, err := netmanifest.SpiderpoolValues("http://graft:80", semver.MustParse("1.1.0")); err == nil {
		t.Error("an old version passes")
	}
	for _, ips := range []string{"10.0.0", "10.0.0.0/33", "10.0.0.9-10.0.0.1", "fe80::1%eth0"} {
		if _, err := netmanifest.ParseIPs([]string{ips}); err == nil {
			t.Errorf("%q passes as addresses", ips)
		}
	}
}
