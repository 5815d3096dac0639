// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/contract"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/controlplane/target"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/document"
	"github.com/graft-provider/gardener-extension-provider-graft/test/pointer"
)

// kubeletCase is an edit of an OperatingSystemConfig, and the expected part of the error.
type kubeletCase struct {
	name string
	edit func(*document.Node) error
	want string
}

const kubeletUnit = "[Service]\nEnvironment=GO=1\nEnvironmentFile=-/var/lib/kubelet/extra_args\nExecStart=/opt/bin/kubelet --config=/c --v=2 $KUBELET_EXTRA_ARGS\n"

// TestProtectKubelet checks that every file that changes the command of the kubelet is refused.
func TestProtectKubelet(t *testing.T) {
	const flags, unit, parts = "kubelet/flags", "contract kubelet/unit", "node/parts"
	dropIn := func(text string) string {
		return `{"name":"10-x.conf","content":` + strconv.Quote("[Service]\n"+text+"\n") + `}`
	}
	file := func(path, text string) string {
		return fmt.Sprintf(`{"path":%q,"content":{"inline":{"data":%q}}}`, path, text)
	}
	encoded := func(path, text string) string {
		return fmt.Sprintf(`{"path":%q,"content":{"inline":{"encoding":"b64","data":%q}}}`, path, base64.StdEncoding.EncodeToString([]byte(text)))
	}
	systemd := func(name, text string) string { return file("/etc/systemd/system/"+name, "[Service]\n"+text+"\n") }
	other := func(text string) string {
		return `{"name":"a.service","content":` + strconv.Quote("[Install]\n"+text+"\n") + `}`
	}
	content := func(old, now string) func(*document.Node) error {
		return set("/spec/units/0", "content", strconv.Quote(strings.Replace(kubeletUnit, old, now, 1)))
	}
	environmentFile := func(pattern string) func(*document.Node) error {
		return dropInsAnd(dropIn("EnvironmentFile=-"+pattern), file("/etc/x.env", "KUBELET_EXTRA_ARGS=--config=/d"))
	}
	tests := []kubeletCase{
		{"allows another flag", content("--v=2", "--v=3 --cloud-provider=external"), ""},
		{"rejects a change of a reserved flag", content("--config=/c", "--config=/d"), flags},
		{"rejects a second ExecStart", content("[Service]\n", "[Service]\nExecStart=/x\n"), unit},
		{"rejects another program", content("/opt/bin/kubelet", "/opt/kubelet"), unit},
		{"rejects a shell as the program", content("/opt/bin/kubelet", "/bin/sh -c /opt/bin/kubelet"), unit},
		{"allows another environment variable", content("GO=1", "GO=2"), ""},
		{"variable of the command line", content("GO=1", "KUBELET_EXTRA_ARGS=--config=/d"), flags},
		{"harmless variable of the command line", content("GO=1", "KUBELET_EXTRA_ARGS=--v=4"), flags},
		{"variable with an escaped name", content("GO=1", `KUBELET_EXTRA\x5fARGS=--v=4`), flags},
		{"variable with a specifier in its name", content("GO=1", "KUBELET_EXTRA_ARG%i=--v=4"), flags},
		{"variables taken back", content("GO=1", "GO=1\nEnvironment="), flags},
		{"rejects another variable in the command line", content("$KUBELET_EXTRA_ARGS", "$KUBELET_EXTRA_ARGS $GO"), unit},
		{"rejects another prefix of the program", content("ExecStart=", "ExecStart=:"), unit},
		{"variable in the name of a flag", content("--v=2", "--${GO}=/d"), unit},
		{"specifier in the name of a flag", content("--v=2", "--%iconfig=/d"), unit},
		{"flag behind a specifier", content("--v=2", "--fail-swap-on %i--config=/d"), unit},
		{"allows a specifier in a value", content("--v=2", "--hostname-override=%H --eviction-hard memory.available<5%%"), ""},
		{"allows a variable in another flag", content("--v=2", "--v=2 --node-ip=${GO}"), ""},
		{"rejects an alias", content("[Service]\n", "[Install]\nAlias=x.service\n[Service]\n"), unit},
		{"environment file that is not there", content("/extra_args", "/other"), ""},
		{"rejects the removal of the unit", remove("/spec/units", 0), unit},
		{"rejects the removal of the configuration", remove("/spec/files", 1), "kubelet/configuration"},
		{"rejects an empty unit that masks it", appendTo("/spec/files", file("/etc/systemd/system.control/kubelet.service", "")), unit},

		{"allows a drop-in with another option", dropIns(dropIn("Nice=5")), ""},
		{"drop-in with another command line", dropIns(dropIn("ExecStart=\nExecStart=/opt/bin/kubelet --config=/d")), unit},
		{"drop-in with the same reserved flags", dropIns(dropIn("ExecStart=\nExecStart=/opt/bin/kubelet --v=4 --config=/c")), unit},
		{"drop-in with a second command", dropIns(dropIn("ExecStart=/opt/bin/kubelet --config=/c")), unit},
		{"drop-in without a command", dropIns(dropIn("ExecStart=")), unit},
		{"drop-in with a variable", dropIns(dropIn("Environment=KUBELET_EXTRA_ARGS=--config=/d")), flags},
		{"drop-in that is no unit", dropIns(`{"name":"10-x.conf","content":"Nice"}`), unit},
		{"file as a drop-in", appendTo("/spec/files", systemd("kubelet.service.d/10-x.conf", "Environment=KUBELET_EXTRA_ARGS=--node-labels=a=b")), flags},
		{"file as a drop-in of the type", appendTo("/spec/files", systemd("service.d/10-x.conf", "Environment=KUBELET_EXTRA_ARGS=--config=/d")), flags},
		{"file as a drop-in in another folder", appendTo("/spec/files", file("/run/systemd/system/kubelet.service.d/x.conf", "[Service]\nExecStart=\n")), unit},
		{"file as a drop-in with an unknown content", appendTo("/spec/files",
			`{"path":"/etc/systemd/system/kubelet.service.d/x.conf","content":{"secretRef":{"name":"x","dataKey":"y"}}}`), unit},
		{"file as a drop-in of another unit", appendTo("/spec/files", systemd("x.service.d/10-x.conf", "ExecStart=\nExecStart=/x")), ""},
		{"drop-ins of a missing unit", appendTo("/spec/units", `{"name":"service","dropIns":[`+dropIn("ExecStart=")+`]}`), unit},
		{"variable before a value that is not closed", dropIns(dropIn(`Environment=KUBELET_EXTRA_ARGS=--config=/d "x`)), flags},
		{"specifier that may be an assignment", dropIns(dropIn("Environment=%q")), flags},
		{"allows an escaped percent sign", dropIns(dropIn("Environment=A=%H 50%%")), ""},
		{"variable that is unset", dropIns(dropIn("UnsetEnvironment=KUBELET_EXTRA_ARGS")), flags},
		{"variable that is passed", dropIns(dropIn("PassEnvironment=KUBELET_EXTRA_ARGS")), flags},
		{"variables of a login", dropIns(dropIn("PAMName=x")), flags},
		{"environment files taken back", dropIns(dropIn("EnvironmentFile=")), flags},
		{"configuration of the manager", appendTo("/spec/files", file("/etc/systemd/system.conf",
			"[Manager]\nDefaultEnvironment=KUBELET_EXTRA_ARGS=--kubeconfig=/k\n")), flags},
		{"own environment of the manager", appendTo("/spec/files", file("/etc/systemd/system.conf.d/x.conf",
			"[Manager]\nManagerEnvironment=KUBELET_EXTRA_ARGS=--kubeconfig=/k\n")), flags},
		{"unit with the name as an alias", appendTo("/spec/units", other(`Alias=x.service "kubelet".service`)), unit},
		{"unit with a specifier in an alias", appendTo("/spec/units", other("Alias=kube%ilet.service")), unit},
		{"unit with an alias that is not closed", appendTo("/spec/units", other(`Alias=kubelet.service "x`)), unit},
		{"invalid unit with an alias", appendTo("/spec/units", other("Alias=kubelet.service\nx")), unit},
		{"allows an invalid unit", appendTo("/spec/units", other("x")), ""},
		{"allows a unit with another alias", appendTo("/spec/units", other("Alias=x.service")), ""},
		{"allows an alias in another file", appendTo("/spec/files", file("/etc/x", "[Install]\nAlias=kubelet.service\n")), ""},
		{"environment of the manager", appendTo("/spec/files", file("/etc/systemd/system.conf.d/x.conf",
			"[Manager]\nDefaultEnvironment=KUBELET_EXTRA_ARGS=--kubeconfig=/k\n")), flags},
		{"rejects a reserved flag in an environment file", appendTo("/spec/files", file("/var/lib/kubelet/extra_args", "KUBELET_EXTRA_ARGS=--kubeconfig=/k")), flags},
		{"environment file in base64", appendTo("/spec/files", encoded("/var/lib/kubelet/extra_args", "KUBELET_EXTRA_ARGS=--kubeconfig=/k")), flags},
		{"harmless environment file", appendTo("/spec/files", file("/var/lib/kubelet/extra_args", "KUBELET_EXTRA_ARGS=--v=4")), flags},
		{"allows the variable in another file", appendTo("/spec/files", file("/etc/x.env", "KUBELET_EXTRA_ARGS=--config=/d")), ""},
		{"environment file by a pattern", environmentFile("/etc/?.env"), flags},
		{"environment file by a pattern that excludes characters", environmentFile("/etc/[!a].env"), flags},
		{"environment file by an escape", environmentFile(`/etc/\x.env`), flags},
		{"environment file by a specifier", environmentFile("%E/x.env"), flags},
		{"environment file by a link to its folder", environmentFile("/proc/1/root/etc/x.env"), flags},
		{"pattern that does not match", environmentFile("/etc/*.conf"), ""},
		{"environment file from a Secret", appendTo("/spec/files",
			`{"path":"/var/lib/kubelet/extra_args","content":{"secretRef":{"name":"x","dataKey":"y"}}}`), "write it as text"},
		{"file from a Secret", appendTo("/spec/files", `{"path":"/etc/x","content":{"secretRef":{"name":"x","dataKey":"y"}}}`), ""},
		{"program of another image", set("/spec/files/0", "content", `{"imageRef":{"image":"y"}}`), ""},
		{"program as a script", set("/spec/files/0", "content", `{"inline":{"data":"#!/bin/sh"}}`), unit},

		{"file where the unit is", appendTo("/spec/files", systemd("kubelet.service", "ExecStart=/opt/bin/kubelet --config=/c")), parts},
		{"rejects two files with one path", appendTo("/spec/files", file("/var/lib/kubelet/config/kubelet", "")), parts},
		{"file twice by another path", appendTo("/spec/files", file("/var/lib/kubelet/./config/kubelet", "")), parts},
		{"file twice by a link to /usr/lib", files(file("/lib/x", ""), file("/usr/lib/x", "")), parts},
		{"file twice by a link to /run", files(file("/var/run/x", ""), file("/run/x", "")), parts},
		{"rejects two units with one name", appendTo("/spec/units", `{"name":"kubelet.service","content":"[Service]\nExecStart=/x\n"}`), parts},
		{"rejects a drop-in that hides another one", dropInsAnd(dropIn("Nice=5"), systemd("service.d/10-x.conf", "Nice=6")), unit},
		{"rejects two drop-ins with one name", dropIns(dropIn("Nice=5"), dropIn("Nice=6")), parts},
	}
	kubelet := []string{`{"name":"kubelet.service","content":` + strconv.Quote(kubeletUnit) + `}`}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { holdKubelet(t, kubelet, test) })
	}
	for _, test := range []kubeletCase{
		{"allows a file of another program", appendTo("/spec/files", file("/etc/x", "x")), ""},
		{"allows a drop-in as a file", appendTo("/spec/files", systemd("kubelet.service.d/x.conf", "Nice=5")), ""},
		{"drop-in with another command line", appendTo("/spec/files", systemd("kubelet.service.d/x.conf", "ExecStart=\nExecStart=/opt/bin/kubelet --config=/d")), unit},
		{"drop-in with a variable", appendTo("/spec/files", systemd("kubelet.service.d/x.conf", "Environment=KUBELET_EXTRA_ARGS=--config=/d")), flags},
		{"rejects a reserved flag in /etc/environment", appendTo("/spec/files", file("/etc/environment", "KUBELET_EXTRA_ARGS=--config=/d")), flags},
		{"harmless environment file", appendTo("/spec/files", file("/etc/environment", "HTTPS_PROXY=x")), ""},
	} {
		t.Run("before the kubelet/"+test.name, func(t *testing.T) { holdKubelet(t, nil, test) })
	}
	extended := []string{`{"name":"kubelet.service","content":` + strconv.Quote(kubeletUnit) + `,"dropIns":[` + dropIn("Environment=KUBELET_EXTRA_ARGS=--v=4") + `]}`}
	for _, test := range []kubeletCase{
		{"removed drop-in with a variable", set("/spec/units/0", "dropIns", "[]"), flags},
		{"rejects a change of a reserved flag", content("--config=/c", "--config=/d"), flags},
		{"allows another flag", content("--v=2", "--v=3"), ""},
	} {
		t.Run("with a drop-in/"+test.name, func(t *testing.T) { holdKubelet(t, extended, test) })
	}
	aliased := []string{`{"name":"kubelet.service","content":` + strconv.Quote(kubeletUnit+"[Install]\nAlias=x.service\n") + `}`}
	t.Run("drop-in of an alias", func(t *testing.T) {
		holdKubelet(t, aliased, kubeletCase{edit: appendTo("/spec/files", systemd("x.service.d/x.conf", "ExecStart=")), want: unit})
	})
	service := func(name, option string) string {
		return fmt.Sprintf(`{"name":%q,"content":%q}`, name, "[Install]\n"+option+"\n")
	}
	several := slices.Concat(kubelet, []string{service("a.service", "Alias=kubelet.service"), service("b.service", "Alias=c.service")})
	for _, test := range []kubeletCase{
		{"allows a file beside an unchanged alias", appendTo("/spec/files", file("/etc/x", "x")), ""},
		{"changed alias", set("/spec/units/2", "content", `"[Install]\nAlias=kubelet.service\n"`), unit},
		{"removed alias", set("/spec/units/1", "content", `"[Install]\n"`), unit},
		{"allows a unit in front of unchanged ones", insertUnit(service("d.service", "Alias=e.service")), ""},
		{"unit with an alias in front of unchanged ones", insertUnit(service("d.service", "Alias=kubelet.service")), unit},
		{"allows to rename a unit", set("/spec/units/2", "name", `"d.service"`), ""},
		{"renamed unit with an alias", set("/spec/units/1", "name", `"d.service"`), unit},
	} {
		t.Run("other units/"+test.name, func(t *testing.T) { holdKubelet(t, several, test) })
	}
	twice := slices.Concat(kubelet, []string{service("a.service", "Alias=c.service"), service("a.service", "Alias=kubelet.service")})
	for _, test := range []kubeletCase{
		{"rejects units with one name", appendTo("/spec/files", file("/etc/x", "x")), parts},
		{"last one removed", remove("/spec/units", 2), unit},
		{"allows to remove the first one", remove("/spec/units", 1), ""},
	} {
		t.Run("units with one name/"+test.name, func(t *testing.T) { holdKubelet(t, twice, test) })
	}
	configured := []string{`{"name":"kubelet.service","content":` +
		strconv.Quote(strings.Replace(kubeletUnit, "/var/lib/kubelet/extra_args", "/etc/default/kubelet", 1)) + `}`}
	specifier := []string{`{"name":"kubelet.service","content":` +
		strconv.Quote(strings.Replace(kubeletUnit, "/var/lib/kubelet/extra_args", "/etc/default/%p", 1)) + `}`}
	moreFlags := func(unit string) func(*document.Node) error {
		return set("/spec/units/0", "content", strconv.Quote(strings.Replace(unit, "/opt/bin/kubelet ", "/opt/bin/kubelet --v=7 ", 1)))
	}
	outside := append(slices.Clone(kubelet), `{"name":"a.service","dropIns":[{"name":"../b.service","content":"[Unit]\n"}]}`,
		`{"name":"b.service","content":"[Unit]\n"}`)
	program := []string{`{"name":"kubelet.service","content":"[Service]\nExecStart=/var/lib/kubelet/config/kubelet --v=2\n"}`}
	configuration := func(text string) func(*document.Node) error {
		return set("/spec/files/1", "content", fmt.Sprintf(`{"inline":{"data":%q}}`, text))
	}
	for name, test := range map[string]struct {
		units []string
		kubeletCase
	}{
		"allows another configuration":                        {kubelet, kubeletCase{edit: configuration("KUBELET_EXTRA_ARGS=--config=/d")}},
		"configuration with the name of the environment file": {configured, kubeletCase{edit: configuration("KUBELET_EXTRA_ARGS=--config=/d"), want: flags}},
		"allows a configuration without variables":            {configured, kubeletCase{edit: configuration("y")}},
		"allows a flag": {kubelet, kubeletCase{edit: moreFlags(kubeletUnit)}},
		"flag in a unit that may be an environment file": {specifier, kubeletCase{edit: moreFlags(
			strings.Replace(kubeletUnit, "/var/lib/kubelet/extra_args", "/etc/default/%p", 1)), want: flags}},
		"drop-in at the path of another unit":                    {outside, kubeletCase{edit: moreFlags(kubeletUnit), want: parts}},
		"configuration with the path of the program":             {program, kubeletCase{edit: configuration("y"), want: unit}},
		"allows another name of a file that is no part":          {kubelet, kubeletCase{edit: set("/spec/files/1", "path", `"/etc/x"`), want: "kubelet/configuration"}},
		"drop-in instead of the program":                         {kubelet, kubeletCase{edit: set("/spec/files/0", "path", `"/etc/systemd/system/kubelet.service.d/x.conf"`), want: unit}},
		"allows the name of the unit for a unit without content": {kubelet, kubeletCase{edit: appendTo("/spec/units", `{"name":"x.service"}`)}},
	} {
		t.Run("configuration/"+name, func(t *testing.T) { holdKubelet(t, test.units, test.kubeletCase) })
	}
	for file, want := range map[string]bool{
		"/etc/systemd/system/kubelet.service.d/x.conf": true, "/etc/environment": true, "/var/lib/kubelet/extra_args": true, "/etc/x": false,
	} {
		if got := contract.DefinesKubelet(file); got != want {
			t.Errorf("%s defines the kubelet: %t, want %t", file, got, want)
		}
	}
}

// holdKubelet compares the contract check's error for an edit of an OperatingSystemConfig with some units. It checks
// twice, because the difference between two contents of the unit is remembered, and without the quick comparison.
func holdKubelet(t *testing.T, units []string, test kubeletCase) {
	t.Helper()
	none := func(string) bool { return false }
	protect := func(o *target.Object) error { return contract.Protect(o, contract.Today, none) }
	complete := func(o *target.Object) error { return contract.ProtectKubelet(o, none) }
	for _, check := range []func(*target.Object) error{protect, protect, complete} {
		parsed, err := document.Parse([]byte(`{"metadata":{"name":"x"},"spec":{"units":[` + strings.Join(units, ",") + `],"files":[
			{"path":"/opt/bin/kubelet","content":{"imageRef":{"image":"x"}}},
			{"path":"/var/lib/kubelet/config/kubelet","content":{"inline":{"data":"x"}}}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		found, _ := target.Lookup("node")
		if err := test.edit(parsed.Root()); err != nil {
			t.Fatal(err)
		}
		err = check(&target.Object{Target: found, Form: &found.Forms[0], Document: parsed})
		if (test.want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), test.want) || !errors.Is(err, contract.ErrBroken)) {
			t.Errorf("the error is %v, want one with %q", err, test.want)
		}
	}
}

// TestProtectKubeletWithoutContent checks that a file of the unit counts as missing while it has no content, so that edits
// beside it are allowed and a content with another command is not.
func TestProtectKubeletWithoutContent(t *testing.T) {
	found, _ := target.Lookup("node")
	for _, test := range []kubeletCase{
		{"allows another file", appendTo("/spec/files", `{"path":"/etc/x","content":{"inline":{"data":"x"}}}`), ""},
		{"another command", set("/spec/files/0", "content", `{"inline":{"data":"[Service]\nExecStart=/x --config=/d\n"}}`), "kubelet/unit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			parsed, err := document.Parse([]byte(`{"metadata":{"name":"x"},"spec":{"units":[],"files":[{"path":"/etc/systemd/system/kubelet.service"}]}}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := test.edit(parsed.Root()); err != nil {
				t.Fatal(err)
			}
			err = contract.Protect(&target.Object{Target: found, Form: &found.Forms[0], Document: parsed}, contract.Today, func(string) bool { return false })
			if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want one with %q", err, test.want)
			}
		})
	}
}

// appendTo appends an item to the list at a pointer.
func appendTo(place, raw string) func(*document.Node) error {
	return func(root *document.Node) error {
		_, err := pointer.At(root, place).Append([]byte(raw))
		return err
	}
}

// insertUnit returns an edit that puts a unit before all others.
func insertUnit(raw string) func(*document.Node) error {
	return func(root *document.Node) error {
		_, err := pointer.At(root, "/spec/units").Insert(0, []byte(raw))
		return err
	}
}

// remove takes an item out of the list at a pointer.
func remove(place string, i int) func(*document.Node) error {
	return func(root *document.Node) error {
		pointer.At(root, place).RemoveItem(i)
		return nil
	}
}

// files returns an edit that adds files.
func files(items ...string) func(*document.Node) error {
	return func(root *document.Node) error {
		var failed error
		for _, item := range items {
			failed = errors.Join(failed, appendTo("/spec/files", item)(root))
		}
		return failed
	}
}

// dropInsAnd returns an edit that adds a drop-in to the kubelet's unit, and a file.
func dropInsAnd(dropIn, file string) func(*document.Node) error {
	return func(root *document.Node) error {
		return errors.Join(dropIns(dropIn)(root), appendTo("/spec/files", file)(root))
	}
}

// dropIns returns an edit that adds drop-ins to the kubelet's unit.
func dropIns(items ...string) func(*document.Node) error {
	return set("/spec/units/0", "dropIns", "["+strings.Join(items, ",")+"]")
}
