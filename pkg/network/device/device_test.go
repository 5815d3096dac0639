// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package device_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/device"
)

func parse(t testing.TB, text string) device.Config {
	t.Helper()
	var c device.Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestValidate(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{`{}`, ""},
		{`{"interface":{"name":"net1","addresses":["10.0.0.5/24","fd00::5/64"],"mtu":1280,"hardwareAddr":"46:8f:01:02:03:04","dhcp":false}}`, ""},
		{`{"interface":{"gsoMaxSize":524280,"groMaxSize":1,"arpIgnore":8,"arpAnnounce":2,"vrf":{"name":"vrf0","table":100}}}`, ""},
		{`{"profile":"a\u0000"}`, `profile: "a\x00" is not the name of a profile`},
		{`{"interface":{"name":"abcdefghijklmnop"}}`, `interface.name: "abcdefghijklmnop" is longer than 15 bytes`},
		{`{"interface":{"name":"a/b"}}`, `interface.name: "a/b" has other characters than letters, digits, -, _ and .`},
		{`{"interface":{"name":"eth0:1"}}`, `interface.name: "eth0:1" has other characters than letters, digits, -, _ and .`},
		{`{"interface":{"name":".."}}`, `interface.name: ".." is a name that the kernel reserves`},
		{`{"interface":{"name":"all"}}`, `interface.name: "all" is a name that the kernel reserves`},
		{`{"interface":{"addresses":["10.0.0.5"]}}`, `interface.addresses[0]: "10.0.0.5" is not a CIDR such as 10.0.0.5/24`},
		{`{"interface":{"addresses":["10.0.0.5/33"]}}`, `interface.addresses[0]: "10.0.0.5/33" is not a CIDR such as 10.0.0.5/24`},
		{`{"interface":{"addresses":["fe80::1%eth0/64"]}}`, `interface.addresses[0]: "fe80::1%eth0/64" is not a CIDR such as 10.0.0.5/24`},
		{`{"interface":{"addresses":["::ffff:10.0.0.1/120"]}}`, `interface.addresses[0]: "::ffff:10.0.0.1/120" is an IPv4 address that is written as an IPv6 one`},
		{`{"interface":{"addresses":["0.0.0.0/0"]}}`, `interface.addresses[0]: 0.0.0.0/0 is not an address that an interface can have`},
		{`{"interface":{"addresses":["ff02::1/64"]}}`, `interface.addresses[0]: ff02::1/64 is not an address that an interface can have`},
		{`{"interface":{"dhcp":true,"addresses":["10.0.0.5/24"]}}`, `interface.dhcp: excludes addresses`},
		{`{"interface":{"mtu":67}}`, `interface.mtu: 67 is not between 68 and 65535`},
		{`{"interface":{"mtu":1279,"addresses":["fd00::1/64"]}}`, `interface.mtu: 1279 is less than 1280, which IPv6 needs`},
		{`{"interface":{"mtu":1279},"routes":[{"destination":"::/0","gateway":"fe80::1"}]}`, `interface.mtu: 1279 is less than 1280, which IPv6 needs`},
		{`{"interface":{"hardwareAddr":"46:8f"}}`, `interface.hardwareAddr: "46:8f" is not a MAC address`},
		{`{"interface":{"hardwareAddr":"01:00:5e:00:00:01"}}`, `interface.hardwareAddr: 01:00:5e:00:00:01 is not an address that an interface can have`},
		{`{"interface":{"hardwareAddr":"00:00:00:00:00:00"}}`, `interface.hardwareAddr: 00:00:00:00:00:00 is not an address that an interface can have`},
		{`{"interface":{"gsoMaxSize":0,"groIPv4MaxSize":524281}}`,
			`interface.gsoMaxSize: 0 is not between 1 and 524280; interface.groIPv4MaxSize: 524281 is not between 1 and 524280`},
		{`{"interface":{"vrf":{}}}`, `interface.vrf.name: is required`},
		{`{"interface":{"name":"a","vrf":{"name":"a","table":254}}}`,
			`interface.vrf.name: "a" is the interface itself; interface.vrf.table: 254 is one of the tables 253, 254 and 255, which are the kernel's own`},
		{`{"interface":{"vrf":{"name":"a","table":0}}}`, `interface.vrf.table: 0 is not between 1 and 4294967295`},
		{`{"interface":{"vrf":{"name":"a"}},"rules":[{"priority":-1}]}`,
			`rules: must be absent for an interface in a VRF; rules[0].priority: -1 is not between 0 and 32767`},
		{`{"routes":[{"destination":"10.0.0.0/8","gateway":"10.0.0.1","source":"10.0.0.5","table":4294967295}]}`, ""},
		{`{"routes":[{"destination":"10.0.0.5/8","scope":253,"source":"10.0.0.5"}]}`, ""},
		{`{"routes":[{}]}`, `routes[0].destination: is required; routes[0].gateway: is required, except for a route of scope 253 (link)`},
		{`{"routes":[{"destination":"10.0.0.1","gateway":"x","source":"10.0.0.0/8"}]}`, `routes[0].destination: "10.0.0.1" is not a CIDR such as 10.0.0.5/24; ` +
			`routes[0].gateway: "x" is not an IP address; routes[0].source: "10.0.0.0/8" is not an IP address`},
		{`{"routes":[{"destination":"10.0.0.0/8","gateway":"fd00::1"}]}`, `routes[0].gateway: fd00::1 is not of the family of the destination 10.0.0.0/8`},
		{`{"routes":[{"destination":"fd00::/8","gateway":"fe80::1%eth0"}]}`, `routes[0].gateway: "fe80::1%eth0" has a zone`},
		{`{"routes":[{"destination":"10.0.0.0/8","gateway":"0.0.0.0"}]}`, `routes[0].gateway: 0.0.0.0 is not the address of a host`},
		{`{"routes":[{"destination":"10.0.0.0/8","gateway":"10.0.0.1","scope":253}]}`, `routes[0].scope: a route of scope 253 (link) must not have a gateway`},
		{`{"routes":[{"destination":"10.0.0.0/8","gateway":"10.0.0.1","scope":200,"table":-1}]}`,
			`routes[0].scope: 200 must be 0 (universe) or 253 (link); routes[0].table: -1 is not between 0 and 4294967295`},
		{`{"rules":[{"priority":32767,"source":"10.0.0.0/8","destination":"10.1.0.0/16","table":100},{}]}`, ""},
		{`{"rules":[{"priority":32768,"source":"10.0.0.1","table":-1}]}`, `rules[0].priority: 32768 is not between 0 and 32767; ` +
			`rules[0].table: -1 is not between 0 and 4294967295; rules[0].source: "10.0.0.1" is not a CIDR such as 10.0.0.5/24`},
		{`{"rules":[{"source":"10.0.0.0/8","destination":"fd00::/8"}]}`, `rules[0]: the source 10.0.0.0/8 and the destination fd00::/8 are of different families`},
		{`{"neighbors":[{"destination":"10.0.0.1","hardwareAddr":"46:8f:01:02:03:04"}]}`, ""},
		{`{"neighbors":[{}]}`, `neighbors[0].destination: is required; neighbors[0].hardwareAddr: is required`},
		{`{"neighbors":[{"destination":"10.0.0.0/8","hardwareAddr":"x"}]}`,
			`neighbors[0].destination: "10.0.0.0/8" is not an IP address; neighbors[0].hardwareAddr: "x" is not a MAC address`},
		{`{"ethtool":{"features":{"tcp-segmentation-offload":true},"privateFlags":{"Strip CRC":false}}}`, ""},
		{`{"ethtool":{"features":{"":true,"a\n":true},"privateFlags":{"abcdefghijklmnopqrstuvwxyzabcdef":false}}}`,
			`ethtool.features: "" is not the name of a feature or flag: use 1 to 31 printable bytes; ` +
				`ethtool.features: "a\n" is not the name of a feature or flag: use 1 to 31 printable bytes; ` +
				`ethtool.privateFlags: "abcdefghijklmnopqrstuvwxyzabcdef" is not the name of a feature or flag: use 1 to 31 printable bytes`},
	} {
		t.Run(c.config, func(t *testing.T) {
			config, got := parse(t, c.config), ""
			if err := config.Validate(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("what is wrong (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessagesAreShort(t *testing.T) {
	config := device.Config{Interface: device.Interface{Addresses: []string{strings.Repeat("é", 5000)}}}
	if err := config.Validate(); err == nil || len(err.Error()) > 250 {
		t.Errorf("got %v", err)
	}
}

func TestMerge(t *testing.T) {
	for _, c := range []struct{ name, base, over, want string }{
		{"merges two empty configurations", `{}`, `{}`, `{"interface":{}}`},
		{
			"keeps single values of the request", `{"profile":"a","interface":{"name":"a","mtu":1,"dhcp":true,"vrf":{"name":"v","table":1}}}`,
			`{"profile":"b","interface":{"mtu":2,"dhcp":false,"vrf":{"name":"w"}}}`,
			`{"profile":"b","interface":{"name":"a","dhcp":false,"mtu":2,"vrf":{"name":"w","table":1}}}`,
		},
		{
			"joins addresses without duplicates", `{"interface":{"addresses":["10.0.0.1/24","fd00:0::1/64"]}}`, `{"interface":{"addresses":["FD00::1/64","10.0.0.2/24"]}}`,
			`{"interface":{"addresses":["10.0.0.1/24","FD00::1/64","10.0.0.2/24"]}}`,
		},
		{
			"joins routes without duplicates", `{"routes":[{"destination":"0.0.0.0/0","gateway":"10.0.0.1"},{"destination":"0.0.0.0/0","gateway":"10.0.0.1","table":7}]}`,
			`{"routes":[{"destination":"0.0.0.0/0","gateway":"10.0.0.2"}]}`,
			`{"interface":{},"routes":[{"destination":"0.0.0.0/0","gateway":"10.0.0.1","table":7},{"destination":"0.0.0.0/0","gateway":"10.0.0.2"}]}`,
		},
		{
			"joins rules without duplicates", `{"rules":[{"table":1},{"table":2}]}`, `{"rules":[{"table":1},{"table":3}]}`,
			`{"interface":{},"rules":[{"table":2},{"table":1},{"table":3}]}`,
		},
		{
			"joins neighbours without duplicates", `{"neighbors":[{"destination":"fd00:0::1","hardwareAddr":"a"}]}`, `{"neighbors":[{"destination":"fd00::1","hardwareAddr":"b"}]}`,
			`{"interface":{},"neighbors":[{"destination":"fd00::1","hardwareAddr":"b"}]}`,
		},
		{
			"merges the features of ethtool", `{"ethtool":{"features":{"a":true,"b":true}}}`, `{"ethtool":{"features":{"b":false},"privateFlags":{"c":true}}}`,
			`{"interface":{},"ethtool":{"features":{"a":true,"b":false},"privateFlags":{"c":true}}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw, err := json.Marshal(device.Merge(parse(t, c.base), parse(t, c.over)))
			if diff := cmp.Diff(c.want, string(raw)); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestValidateAttributes(t *testing.T) {
	for _, c := range []struct{ attributes, want string }{
		{`{"acme.com/rack":{"string":"r1"},"speed":{"int":-1},"_x":{"bool":false},"acme.com/v":{"version":"1.2.3-rc.1+b"}}`, ""},
		{`{"acme.com/rack":{}}`, "acme.com/rack: has 0 values, but must have exactly one of int, bool, string and version"},
		{`{"acme.com/rack":{"int":1,"bool":true}}`, "acme.com/rack: has 2 values, but must have exactly one of int, bool, string and version"},
		{`{"a-b":{"int":1}}`, `a-b: "a-b" is not an identifier of at most 32 letters, digits and _`},
		{`{"":{"int":1}}`, `: "" is not an identifier of at most 32 letters, digits and _`},
		{`{"/a":{"int":1}}`, `/a: "" is not a domain of at most 63 bytes`},
		{`{"Acme/a":{"int":1}}`, `Acme/a: "Acme" is not a domain of at most 63 bytes`},
		{`{"acme.com/a/b":{"int":1}}`, `acme.com/a/b: "a/b" is not an identifier of at most 32 letters, digits and _`},
		{`{"abcdefghijklmnopqrstuvwxyzabcdefg":{"int":1}}`,
			`abcdefghijklmnopqrstuvwxyzabcdefg: "abcdefghijklmnopqrstuvwxyzabcdefg" is not an identifier of at most 32 letters, digits and _`},
		{`{"a":{"string":"` + strings.Repeat("x", 65) + `"}}`, "a: is longer than 64 bytes"},
		{`{"a":{"version":"v1.2.3"}}`, `a: "v1.2.3" is not a semantic version such as 1.2.3`},
		{`{"a":{"version":"1.2"}}`, `a: "1.2" is not a semantic version such as 1.2.3`},
	} {
		t.Run(c.attributes, func(t *testing.T) {
			var attributes map[string]device.Attribute
			if err := json.Unmarshal([]byte(c.attributes), &attributes); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := device.ValidateAttributes(attributes); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("what is wrong (-want +got):\n%s", diff)
			}
		})
	}
	many := map[string]device.Attribute{}
	for i := range 33 {
		many[fmt.Sprintf("a%d", i)] = device.Attribute{Bool: new(bool)}
	}
	if err := device.ValidateAttributes(many); err == nil || err.Error() != "attributes: 33 attributes, but a device can have at most 32" {
		t.Errorf("got %v", err)
	}
}

// FuzzValidate checks that a valid configuration stays valid after encoding, decoding and merging with itself.
func FuzzValidate(f *testing.F) {
	f.Add(`{"interface":{"name":"net1","addresses":["10.0.0.5/24","fd00::5/64"],"mtu":1280,"vrf":{"name":"v","table":7}}}`)
	f.Add(`{"routes":[{"destination":"0.0.0.0/0","gateway":"10.0.0.1"}],"rules":[{"source":"10.0.0.0/8"}],"ethtool":{"features":{"a":true}}}`)
	f.Add(`{"neighbors":[{"destination":"10.0.0.1","hardwareAddr":"46-8f-01-02-03-04"}],"interface":{"dhcp":true,"addresses":["x"]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var c device.Config
		if json.Unmarshal([]byte(text), &c) != nil {
			return
		}
		err := c.Validate()
		if err != nil {
			if err.Error() == "" {
				t.Error("a problem without words")
			}
			return
		}
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		again := parse(t, string(raw))
		for _, valid := range []device.Config{again, device.Merge(c, again), device.Merge(device.Config{}, c)} {
			if err := valid.Validate(); err != nil {
				t.Errorf("%s: %v", raw, err)
			}
		}
	})
}
