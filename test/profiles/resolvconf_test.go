// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package profiles_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestResolvConf runs the script that provides the kubelet's resolv.conf, with a temporary folder as the root.
func TestResolvConf(t *testing.T) {
	const (
		resolved = "run/systemd/resolve/resolv.conf"
		own      = "etc/resolv.conf"
		stub     = "nameserver 127.0.0.53\n"
		named    = "nameserver 192.0.2.1\noptions edns0\nsearch example.com"
	)
	for name, test := range map[string]struct {
		files   map[string]string
		options string
		// link is the target of the result.
		link, content string
		code          int
	}{
		"the file of systemd-resolved is followed": {files: map[string]string{resolved: named, own: stub},
			link: resolved, content: named},
		"/etc/resolv.conf is followed without it": {files: map[string]string{own: named}, link: own, content: named},
		"options are added to those of the resolver": {files: map[string]string{resolved: named, own: stub},
			options: "ndots:2 rotate", content: named + "\noptions ndots:2 rotate\n"},
		"options are added without systemd-resolved": {files: map[string]string{own: named}, options: "rotate",
			content: named + "\noptions rotate\n"},
		"no name server yet": {files: map[string]string{resolved: "# No DNS servers known.\n",
			own: stub}, code: 10},
		"a comment names no server": {files: map[string]string{own: "# nameserver 192.0.2.1\n"},
			options: "rotate", code: 10},
		"no file yet": {code: 10},
		"a file that was there is kept without a server": {files: map[string]string{own: "",
			"etc/resolv-for-kubelet.conf": named}, content: named, code: 10},
		"a file that was there is replaced": {files: map[string]string{own: named,
			"etc/resolv-for-kubelet.conf": stub}, link: own, content: named},
	} {
		for _, provider := range []string{"openstack", "stackit"} {
			t.Run(provider+"/"+name, func(t *testing.T) {
				folder := t.TempDir()
				write(t, folder, test.files)
				if code := runResolvConf(t, provider, folder, test.options); code != test.code {
					t.Errorf("the script ended with %d, want %d", code, test.code)
				}
				result := filepath.Join(folder, "etc", "resolv-for-kubelet.conf")
				link, _ := os.Readlink(result)
				link, _ = strings.CutPrefix(link, folder+"/")
				content, _ := os.ReadFile(result)
				if diff := cmp.Diff([]string{test.link, test.content}, []string{link, string(content)}); diff != "" {
					t.Errorf("link and content (-want +got):\n%s", diff)
				}
				if left, _ := filepath.Glob(result + ".*"); len(left) > 0 {
					t.Errorf("temporary files stay: %q", left)
				}
			})
		}
	}
}

// write writes files below a folder, and the folders that the script expects.
func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for _, name := range []string{"etc", "run/systemd/resolve"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// runResolvConf runs the script of a provider with the folder in place of the root, and returns its exit code.
func runResolvConf(t *testing.T, provider, folder, options string) int {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(root, provider, "files", "update-resolv-conf.sh"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("=/run/", "="+folder+"/run/", "=/etc/", "="+folder+"/etc/").Replace(string(script))
	command := exec.CommandContext(t.Context(), "/bin/sh", "-c", text)
	command.Env = append(os.Environ(), "RESOLV_CONF_OPTIONS="+options)
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		t.Fatalf("running the script: %v\n%s", err, output)
	}
	return 0
}
