// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

//go:build system

package systemd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/format/systemd"
	"github.com/graft-provider/gardener-extension-provider-graft/test/system/uml"
)

const (
	// effectiveVariable has the path of the file for the exit status of the guest.
	effectiveVariable = "GRAFT_EFFECTIVE_GUEST"
	// argumentsProgram writes its arguments to argumentsFile.
	argumentsProgram = "/run/arguments"
	argumentsFile    = "/run/arguments.json"
	effectiveUnit    = "graft-x.service"
)

// effectiveCases are files of a node. RUN stands for argumentsProgram.
var effectiveCases = map[string]map[string]string{
	"a unit": {unitFile: run("RUN --a=1 $MORE")},
	"another command in a drop-in": {
		unitFile: run("RUN --a=1"), dropIn("a"): "[Service]\nExecStart=\nExecStart=RUN --b=2\n",
	},
	"drop-ins by name, in any directory": {
		unitFile: run("RUN"), dropIn("20"): "[Service]\nExecStart=\nExecStart=RUN y\n",
		"/usr/local/lib/systemd/system/graft-x.service.d/30.conf": "[Service]\nExecStart=\nExecStart=RUN z\n",
	},
	"drop-ins of one name: the directory of higher priority": {
		unitFile: run("RUN a"), dropIn("20"): "[Service]\nNice=1\n",
		"/usr/local/lib/systemd/system/graft-x.service.d/20.conf": "[Service]\nExecStart=\nExecStart=RUN z\n",
	},
	"a drop-in of the type": {
		unitFile: run("RUN $MORE"), "/etc/systemd/system/service.d/a.conf": "[Service]\nEnvironment=MORE=--b\n",
	},
	"drop-ins of one name: the unit before the type": {
		unitFile: run("RUN $MORE"), "/etc/systemd/system/service.d/a.conf": "[Service]\nEnvironment=MORE=--b\n",
		dropIn("a"): "[Service]\nNice=1\n",
	},
	"a drop-in of a prefix of the name": {
		unitFile: run("RUN $MORE"), "/etc/systemd/system/graft-.service.d/a.conf": "[Service]\nEnvironment=MORE=--b\n",
	},
	"a drop-in of an alias": {
		unitFile:                                 run("RUN $MORE") + "[Install]\nAlias=y.service\n",
		"/etc/systemd/system/y.service.d/a.conf": "[Service]\nEnvironment=MORE=--b\n",
	},
	"files with other names than drop-ins": {
		unitFile: run("RUN a"), dropIn("a") + "x": "[Service]\nExecStart=\n",
		"/etc/systemd/system/graft-x.service.d/.b.conf": "[Service]\nExecStart=\n",
	},
	"the unit in a directory of lower priority": {
		unitFile: run("RUN a"), "/usr/local/lib/systemd/system/graft-x.service": run("RUN b"),
	},
	"the unit in a directory of higher priority": {
		unitFile: run("RUN a"), "/etc/systemd/system.control/graft-x.service": run("RUN b"),
	},
	"the unit in /run": {"/run/systemd/system/graft-x.service": run("RUN b")},

	"variables": {
		unitFile: `[Service]
Environment="A=1 2" B=3
Environment=B=4 no C=
ExecStart=RUN $A ${A} b${B}b $C ${C} $D ${D} $$A -$A $A,$B
`,
	},
	"variables in quotes": {
		unitFile: "[Service]\nEnvironment=\"A=1 2\"\nExecStart=RUN \"$A\" '$A' \"x ${A}\" '${A}'\n",
	},
	"a variable with quotes":      {unitFile: "[Service]\nEnvironment='A=\"1 2\" \\\\\\\\-3 '\nExecStart=RUN $A\n"},
	"a command without variables": {unitFile: "[Service]\nEnvironment=A=1\nExecStart=:RUN $A ${A} $$\n"},
	"variables that are unset": {unitFile: "[Service]\nEnvironment=A=1 B=2 C=3\nUnsetEnvironment=A B=2 C=2\n" +
		"ExecStart=RUN $A $B $C\n"},
	"an environment that is reset": {unitFile: "[Service]\nEnvironment=A=1\nEnvironment=\nExecStart=RUN $A\n"},
	"a variable that is set twice": {unitFile: "[Service]\nEnvironment=A=1 A=2\nExecStart=RUN $A\n"},
	"an environment file": {
		unitFile:      "[Service]\nEnvironmentFile=-/etc/case/e\nEnvironment=A=1\nExecStart=RUN $A $B\n",
		"/etc/case/e": "A=2\nB=3 4\n",
	},
	"the later environment file": {
		unitFile:      "[Service]\nEnvironmentFile=/etc/case/e\nEnvironmentFile=/etc/case/f\nExecStart=RUN $A\n",
		"/etc/case/e": "A=1", "/etc/case/f": "A=2",
	},
	"environment files by a pattern": {
		unitFile:          "[Service]\nEnvironmentFile=/etc/case/*.env\nExecStart=RUN $A $B\n",
		"/etc/case/1.env": "A=1\nB=1", "/etc/case/2.env": "A=2",
	},
	"a missing environment file": {unitFile: "[Service]\nEnvironmentFile=-/etc/case/none\nExecStart=RUN $A\n"},
	"an environment file that a drop-in resets": {
		unitFile:      "[Service]\nEnvironmentFile=/etc/case/e\nExecStart=RUN $A\n",
		"/etc/case/e": "A=1", dropIn("a"): "[Service]\nEnvironmentFile=\n",
	},
	"values of an environment file": {unitFile: run("RUN ${A} ${B} ${C} ${D} ${E} ${F}") + "EnvironmentFile=/etc/case/e\n",
		"/etc/case/e": environmentText},
	"specifiers": {
		unitFile: "[Service]\nEnvironment=A=%N\nExecStart=RUN ${A} %n %N %p 100%% %%n %t %S %C %L %E %T %V \\\n" +
			"  %f %j %J %P [%i] %h %u %U %g %G\n",
	},
	"a specifier in an environment file": {unitFile: "[Service]\nEnvironmentFile=%E/case/e\nExecStart=RUN $B\n",
		"/etc/case/e": "B=%n"},
	"continued lines": {unitFile: "[Service]\nExecStart=RUN \\\n# no\n; no\n" +
		"  '--a=1 2' \\\n --b=\\x20\"c d\"\n"},
	"escapes": {unitFile: "[Service]\nExecStart=" +
		"RUN a\\tb \"a\\tb\" 'a\\tb' \\x41 \\101 \\u00e9 \"it's\" 'say \"a\"'\n"},
	"prefixes of the program":     {unitFile: "[Service]\nExecStart=-+RUN --a\n"},
	"another name of the program": {unitFile: "[Service]\nExecStart=@RUN y --a\n"},
	"what Graft writes for a flag": {unitFile: "[Service]\nEnvironment=NODE=n1\nExecStart=" +
		"RUN --eviction-hard=memory.available<5%% --hostname-override=${NODE}-$$x\n"},
}

const (
	unitFile        = "/etc/systemd/system/" + effectiveUnit
	environmentText = "A='--b'\"c\" d\n# B=1\nB=\"--\\\"b\\$\"\n export C=1\nC=a\\\nb\nD=--d'e'\nE = 5 \nF='x\ny'\n"
)

func run(command string) string { return "[Service]\nExecStart=" + command + "\n" }

func dropIn(name string) string { return unitFile + ".d/" + name + ".conf" }

var _ = Describe("the command of a unit", func() {
	// effectiveGuest runs inside the machine.
	It("is computed as systemd runs it, from units, drop-ins, variables and specifiers", func(ctx context.Context) {
		output := bootGuest(ctx, uml.Job{Command: []string{"effective.sh"},
			Files: map[string]string{"effective.sh": filepath.Join("testdata", "effective.sh")}})
		Expect(output).To(ContainSubstring("%d cases", len(effectiveCases)), "all cases have run")
	}, NodeTimeout(10*time.Minute))
})

// writeArguments writes the arguments of a program that systemd started.
func writeArguments() error {
	data, err := json.Marshal(os.Args[1:])
	if err != nil {
		return err
	}
	return os.WriteFile(argumentsFile, data, 0o600)
}

// effectiveGuest runs all cases.
func effectiveGuest() error {
	var failed error
	for _, name := range slices.Sorted(maps.Keys(effectiveCases)) {
		if err := compareCase(effectiveCases[name]); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	fmt.Printf("%d cases\n", len(effectiveCases))
	return failed
}

// compareCase writes the files of a case, starts the unit, and compares its arguments with those that are computed.
func compareCase(files map[string]string) (err error) {
	// systemd waits for the end of a oneshot program.
	written := map[string]string{"/run/systemd/system/" + effectiveUnit + ".d/00-wait.conf": "[Service]\nType=oneshot\n"}
	var given []systemd.NodeFile
	for _, path := range slices.Sorted(maps.Keys(files)) {
		text := strings.ReplaceAll(files[path], "RUN", argumentsProgram)
		written[path] = text
		given = append(given, systemd.NodeFile{Path: path, Content: systemd.Text(text)})
	}
	defer func() { err = errors.Join(err, remove(written)) }()
	if err := errors.Join(write(written), systemctl("daemon-reload")); err != nil {
		return err
	}
	if strings.Contains(files[unitFile], "Alias=") {
		if err := systemctl("enable", effectiveUnit); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, systemctl("disable", effectiveUnit)) }()
	}
	if err := systemctl("start", effectiveUnit); err != nil {
		return err
	}
	data, err := os.ReadFile(argumentsFile)
	if err != nil {
		return err
	}
	var got []string
	if err := json.Unmarshal(data, &got); err != nil {
		return err
	}
	computed, err := systemd.EffectiveService(effectiveUnit, given)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(got, computed.Arguments[1:]); diff != "" {
		shown, _ := exec.Command("systemctl", "show", "--property=ExecStart,Environment", effectiveUnit).CombinedOutput()
		return fmt.Errorf("arguments (-systemd +computed):\n%s\n%s", diff, shown)
	}
	return nil
}

func write(files map[string]string) error {
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func remove(files map[string]string) error {
	failed := os.Remove(argumentsFile)
	for path := range files {
		failed = errors.Join(failed, os.Remove(path))
	}
	return failed
}
