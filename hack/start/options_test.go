// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/sample"
)

func TestParseOptions(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	standard := filepath.Join(root, "example", "profiles", "openstack", "profile.yaml")
	for _, c := range []struct {
		name      string
		arguments string
		once      string
		want      options
	}{
		{name: "nothing", want: options{
			profiles: []string{standard}, sample: sample.Options{Kubernetes: "1.34.2", Annotations: map[string]string{}},
		}},
		{name: "everything", arguments: "-profile a -profile b -provider acme -kubernetes 1.31.0 -ha -ipv6 -once -annotations k=v,l= -annotations m=a=b",
			want: options{
				profiles: []string{"a", "b"}, provider: "acme", once: true,
				sample: sample.Options{
					Kubernetes: "1.31.0", HighAvailability: true, IPv6: true, Annotations: map[string]string{"k": "v", "l": "", "m": "a=b"},
				},
			}},
		{name: "once by the environment", once: "1", want: options{
			profiles: []string{standard}, once: true, sample: sample.Options{Kubernetes: "1.34.2", Annotations: map[string]string{}},
		}},
		{name: "once denied by the environment", once: "0", want: options{
			profiles: []string{standard}, sample: sample.Options{Kubernetes: "1.34.2", Annotations: map[string]string{}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			environment := func(name string) string { return map[string]string{"ONCE": c.once}[name] }
			got, err := parseOptions(strings.Fields(c.arguments), environment, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			c.want.root = root
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseOptionsErrors(t *testing.T) {
	for arguments, want := range map[string]string{
		"-no-such-flag":        "not defined",
		"extra":                `unexpected argument "extra"`,
		"-annotations novalue": `"novalue" is not key=value`,
		"-annotations =v":      `"=v" is not key=value`,
	} {
		_, err := parseOptions(strings.Fields(arguments), func(string) string { return "" }, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", arguments, err, want)
		}
	}
	if _, err := parseOptions([]string{"-help"}, func(string) string { return "" }, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-help: got error %v", err)
	}
}

func TestFailedIn(t *testing.T) {
	body := "[+]caches ok\n[-]profiles failed: reason withheld\n[-]webhook-server failed: reason withheld\nhealthz check failed\n"
	if diff := cmp.Diff([]string{"profiles", "webhook-server"}, failedIn(body)); diff != "" {
		t.Errorf("failed checks (-want +got):\n%s", diff)
	}
	if got := failedIn("ok"); len(got) > 0 {
		t.Errorf("got %v, want none", got)
	}
}
