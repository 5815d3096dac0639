// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package systemd_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
)

// TestEffectiveService checks the command that systemd runs for the files of a node.
func TestEffectiveService(t *testing.T) {
	const (
		at      = "/etc/systemd/system/"
		main    = at + "x.service"
		program = "[Service]\nExecStart=/x --a=1 $MORE\n"
	)
	service := func(lines ...string) string { return "[Service]\n" + strings.Join(lines, "\n") + "\n" }
	tests := []struct {
		name  string
		files map[string]string
		want  string // the arguments with | between them, or a part of the error
	}{
		{"reads the command of a unit", map[string]string{main: program}, "/x|--a=1"},
		{"reports that no unit exists", map[string]string{}, "unit has no command"},
		{"an empty unit, which masks", map[string]string{main: program, "/etc/systemd/system.control/x.service": ""}, "unit has no command"},
		{"rejects a unit with two commands", map[string]string{main: service("ExecStart=/x", "ExecStart=/y")}, "unit has several commands"},
		{"a second command in a drop-in", map[string]string{main: program, main + ".d/a.conf": service("ExecStart=/y")}, "unit has several commands"},
		{"another command in a drop-in", map[string]string{main: program, main + ".d/a.conf": service("ExecStart=", "ExecStart=/y")}, "/y"},
		{"a command that a drop-in takes away", map[string]string{main: program, main + ".d/a.conf": service("ExecStart=")}, "unit has no command"},
		{"drop-ins by name, in any directory", map[string]string{
			main: program, main + ".d/20.conf": service("ExecStart=", "ExecStart=/y"),
			"/usr/lib/systemd/system/x.service.d/30.conf": service("ExecStart=", "ExecStart=/z"),
		}, "/z"},
		{"drop-ins of one name: the more important directory", map[string]string{
			main: program, main + ".d/20.conf": service("Nice=1"), "/lib/systemd/system/x.service.d/20.conf": service("ExecStart=", "ExecStart=/z"),
		}, "/x|--a=1"},
		{"a drop-in of the type", map[string]string{main: program, at + "service.d/a.conf": service("Environment=MORE=--b")}, "/x|--a=1|--b"},
		{"of one name, the drop-in of the unit before that of the type", map[string]string{
			main: program, at + "service.d/a.conf": service("Environment=MORE=--b"), main + ".d/a.conf": service("Nice=1"),
		}, "/x|--a=1"},
		{"a drop-in of an alias", map[string]string{
			main: program + "[Install]\nAlias=y.service\n", at + "y.service.d/a.conf": service("Environment=MORE=--b"),
		}, "/x|--a=1|--b"},
		{"a drop-in of another unit", map[string]string{main: program, at + "y.service.d/a.conf": service("Environment=MORE=--b")}, "/x|--a=1"},
		{"files that are no drop-ins", map[string]string{
			main: program, main + ".d/a": service("ExecStart="), main + ".d/.a.conf": service("ExecStart="), "/opt/x.service.d/a.conf": service("ExecStart="),
		}, "/x|--a=1"},
		{"files in the folders of systemd that are no drop-ins", map[string]string{
			main: program, "/etc/systemd/x.conf": "x", at + "a.conf": "x", at + "x.service.d/d/a.conf": "x", "/etc/x.service.d/a.conf": "x",
		}, "/x|--a=1"},
		{"the unit in a less important directory", map[string]string{main: program, "/usr/lib/systemd/system/x.service": service("ExecStart=/y")}, "/x|--a=1"},
		{"the unit in a more important directory", map[string]string{main: program, "/run/systemd/transient/x.service": service("ExecStart=/y")}, "/y"},
		{"a path with links", map[string]string{main: program, "/var/run/systemd/../systemd/transient/x.service": service("ExecStart=/y")}, "/y"},
		{"a text that is no unit", map[string]string{main: program, main + ".d/a.conf": "ExecStart=/y"}, "invalid systemd unit"},
		{"rejects a shell", map[string]string{main: service("ExecStart=/bin/sh -c 'x --a=1'")}, "shell"},

		{"replaces variables by their values", map[string]string{main: service(`Environment="A=1 2" B=3`, "Environment=B=4 no C=", "ExecStart=/x $A ${A} b${B}b $C ${C} $D $$A -$A")},
			"/x|1|2|1 2|b4b||$A|-$A"},
		{"a variable with quotes", map[string]string{main: service(`Environment='A="1 2" \\\\-3 '`, "ExecStart=/x $A")}, `/x|1 2|\-3`},
		{"keeps variables behind the colon prefix", map[string]string{main: service("Environment=A=1", "ExecStart=:/x $A ${A}")}, "/x|$A|${A}"},
		{"variables that are taken back", map[string]string{main: service("Environment=A=1 B=2 C=3", "UnsetEnvironment=A B=2 C=2", "ExecStart=/x $A $B $C")}, "/x|3"},
		{"an environment that is reset", map[string]string{main: service("Environment=A=1", "Environment=", "ExecStart=/x $A")}, "/x"},
		{"an environment file", map[string]string{main: service("EnvironmentFile=-/e", "Environment=A=1", "ExecStart=/x $A $B"), "/e": "A=2\nB=3 4\n"}, "/x|2|3|4"},
		{"the later environment file", map[string]string{main: service("EnvironmentFile=/e", "EnvironmentFile=/f", "ExecStart=/x $A"), "/e": "A=1", "/f": "A=2"}, "/x|2"},
		{"environment files by a pattern", map[string]string{main: service("EnvironmentFile=/e/*.env", "ExecStart=/x $A"), "/e/1.env": "A=1", "/e/2.env": "A=2"}, "/x|2"},
		{"an environment file that is dropped", map[string]string{
			main: service("EnvironmentFile=/e", "ExecStart=/x $A"), "/e": "A=1", main + ".d/a.conf": service("EnvironmentFile="),
		}, "/x"},
		{"the environment of the manager", map[string]string{main: program, "/etc/systemd/system.conf.d/a.conf": "[Manager]\nDefaultEnvironment=MORE=--b\n"}, "/x|--a=1|--b"},
		{"replaces specifiers of known value", map[string]string{main: service("Environment=A=%N", "EnvironmentFile=%E/e", "ExecStart=/x ${A} %n 100%% %H $B"), "/etc/e": "B=%n"},
			"/x|x|x.service|100%|%H|%n"},
		{"continued lines and escapes", map[string]string{main: "[Service]\nExecStart=/x \\\n# no\n; no\n  '--a=1 2' \\\n --b=\\x20\"c d\"\n"}, "/x|--a=1 2|--b= c d"},
		{"prefixes of the program", map[string]string{main: service("ExecStart=-@+/x y --a")}, "/x|--a"},
	}
	known := systemd.NewServiceCache()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var files []systemd.NodeFile
			for _, path := range slices.Sorted(maps.Keys(test.files)) {
				files = append(files, systemd.NodeFile{Path: path, Content: systemd.Text(test.files[path])})
			}
			service, err := systemd.EffectiveService("x.service", files)
			for range 2 {
				cached, errCached := known.EffectiveService("x.service", files)
				if diff := cmp.Diff([]any{service, err}, []any{cached, errCached}, compareServices...); diff != "" {
					t.Errorf("the service from a cache (-want +got):\n%s", diff)
				}
			}
			if err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("the error is %v, want %q", err, test.want)
				}
				return
			}
			if diff := cmp.Diff(test.want, strings.Join(service.Arguments, "|")); diff != "" {
				t.Errorf("the arguments (-want +got):\n%s", diff)
			}
		})
	}
}

// compareServices compares the exported parts of services, and errors by their texts.
var compareServices = cmp.Options{
	cmpopts.IgnoreUnexported(systemd.Service{}),
	cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() }),
}

// TestServiceCache checks that a service of the cache is not used for a node with an environment file.
func TestServiceCache(t *testing.T) {
	known := systemd.NewServiceCache()
	unit := systemd.NodeFile{Path: "/etc/systemd/system/x.service", Content: systemd.Text("[Service]\nEnvironmentFile=-/e/*\nExecStart=/x $A\n")}
	for _, step := range []struct {
		name  string
		files []systemd.NodeFile
		want  []string
	}{
		{"without the file", nil, []string{"/x"}},
		{"with the file", []systemd.NodeFile{{Path: "/e/a", Content: systemd.Text("A=1")}}, []string{"/x", "1"}},
		{"with another content", []systemd.NodeFile{{Path: "/e/a", Content: systemd.Text("A=2")}}, []string{"/x", "2"}},
		{"after the file was removed", nil, []string{"/x"}},
		{"with an environment of the manager", []systemd.NodeFile{
			{Path: "/etc/systemd/system.conf", Content: systemd.Text("[Manager]\nDefaultEnvironment=A=3\n")},
		}, []string{"/x", "3"}},
	} {
		service, err := known.EffectiveService("x.service", append(step.files, unit))
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if diff := cmp.Diff(step.want, service.Arguments); diff != "" {
			t.Errorf("%s: the arguments (-want +got):\n%s", step.name, diff)
		}
	}
}

// unknownText is a content that is not known.
type unknownText struct{}

func (unknownText) Text() (string, bool) { return "", false }

// TestSpecifiers checks specifiers that depend on dashes in a unit's name.
func TestSpecifiers(t *testing.T) {
	text := "[Service]\nExecStart=/x %N %p %P %j %J %f\n"
	service, err := systemd.EffectiveService("graft-x.service", []systemd.NodeFile{
		{Path: "/etc/systemd/system/graft-x.service", Content: systemd.Text(text)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/x", "graft-x", "graft-x", "graft/x", "x", "x", "/graft/x"}, service.Arguments); diff != "" {
		t.Errorf("the arguments (-want +got):\n%s", diff)
	}
}

// TestEffectiveServiceUnknown checks the result for files without a known content.
func TestEffectiveServiceUnknown(t *testing.T) {
	unit := systemd.NodeFile{Path: "/etc/systemd/system/x.service", Content: systemd.Text("[Service]\nEnvironmentFile=/e\nExecStart=/x $A --b\n")}
	service, err := systemd.EffectiveService("x.service", []systemd.NodeFile{unit, {Path: "/e", Content: unknownText{}}, {Path: "/f", Content: unknownText{}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/e"}, service.Unknown); diff != "" {
		t.Errorf("the unknown files (-want +got):\n%s", diff)
	}
	_, err = systemd.EffectiveService("x.service", []systemd.NodeFile{unit, {Path: "/run/systemd/system/x.service.d/a.conf", Content: unknownText{}}})
	if !errors.Is(err, systemd.ErrUnknownContent) {
		t.Errorf("a drop-in without a known content: %v", err)
	}
}

// TestEnvironmentFile checks the parsing of an environment file.
func TestEnvironmentFile(t *testing.T) {
	for text, want := range map[string]string{
		"A=--b":                    "--b",
		" A = --b \t\n":            "--b",
		"# A=1\n;A=2\nA=--b\n#A=3": "--b",
		"export A=1\nA=--b":        "--b",
		"A='--b'\"c\" d":           "--bcd",
		`A="--\"b\\\$\c"`:          `--"b\$\c`,
		`A='--\b'`:                 `--\b`,
		"A=-\\-b":                  "--b",
		"A=--b\\\nc":               "--bc",
		"A=\"--b\\\nc\"":           "--bc",
		"B=\"1\nA=2\"\nA=--b":      "--b",
		"A=--b\r\nB=1":             "--b",
		"A=--b'c'":                 "--b'c'",
		"# goes on \\\nA=--b":      "--b",
		"A=1\nA=--b":               "--b",
		"A":                        "",
		"=1\nA=--b":                "--b",
		"A=\"--b":                  "--b",
		"A=--b\\":                  "--b",
		"A=\"--b\\":                "--b\\",
	} {
		t.Run(text, func(t *testing.T) {
			service, err := systemd.EffectiveService("x.service", []systemd.NodeFile{
				{Path: "/etc/systemd/system/x.service", Content: systemd.Text("[Service]\nEnvironmentFile=/e\nExecStart=/x ${A}\n")},
				{Path: "/e", Content: systemd.Text(text)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := service.Arguments[1]; got != want {
				t.Errorf("the variable is %q, want %q", got, want)
			}
		})
	}
}

// FuzzEffectiveService checks that no text causes a panic, and that the same text gives the same command, also from a cache.
func FuzzEffectiveService(f *testing.F) {
	f.Add("[Service]\nEnvironmentFile=/e\nExecStart=/x --a=1 $A ${B}\n", "[Service]\nEnvironment=B=\"1 2\"\n", "A='b' \\\n")
	f.Add("[Service]\nExecStart=@/x y \\\n--a\n[Install]\nAlias=y-z.service\n", "[Service]\nExecStart=\n", "# \\\nA=\"")
	f.Fuzz(func(t *testing.T, unit, dropIn, environment string) {
		files := []systemd.NodeFile{
			{Path: "/etc/systemd/system/x.service", Content: systemd.Text(unit)}, {Path: "/etc/systemd/system/service.d/a.conf", Content: systemd.Text(dropIn)},
			{Path: "/e", Content: systemd.Text(environment)},
		}
		first, err := systemd.EffectiveService("x.service", files)
		if err != nil {
			return
		}
		known := systemd.NewServiceCache()
		_, _ = known.EffectiveService("x.service", files)
		second, err := known.EffectiveService("x.service", files)
		if err != nil || len(first.Differences(second)) > 0 || !slices.Equal(first.Arguments, second.Arguments) {
			t.Errorf("%q, then %+v, %v", first.Arguments, second, err)
		}
	})
}
