// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud/cni"
)

// TestMain runs this program as a plugin if it has a plugin's name: it records its input and does what its
// configuration says.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "playing" {
		play()
	}
	os.Exit(m.Run())
}

// script is the ipam section of the plugin.
type script struct {
	// Record is the file of recorded inputs.
	Record string `json:"record"`
	// Add, Del and Check are its answers, and Fails names the failing commands.
	Add, Del, Check string
	Fails           []string
	// Hang names the command that waits for an endless child process.
	Hang string
}

// recorded is one call.
type recorded struct {
	Environment []string
	Input       map[string]any
}

func play() {
	raw, _ := io.ReadAll(os.Stdin)
	var configuration struct {
		IPAM script `json:"ipam"`
	}
	call := recorded{Environment: os.Environ()}
	_ = json.Unmarshal(raw, &call.Input)
	_ = json.Unmarshal(raw, &configuration)
	line, _ := json.Marshal(call)
	file, err := os.OpenFile(configuration.IPAM.Record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	command := os.Getenv("CNI_COMMAND")
	if configuration.IPAM.Hang == command {
		child := exec.Command("sleep", "600")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		_ = child.Start()
		_ = os.WriteFile(configuration.IPAM.Record+".child", fmt.Append(nil, child.Process.Pid), 0o600)
		_ = child.Wait()
	}
	answer := map[string]string{"ADD": configuration.IPAM.Add, "DEL": configuration.IPAM.Del, "CHECK": configuration.IPAM.Check}[command]
	if strings.HasPrefix(answer, "stderr:") {
		fmt.Fprint(os.Stderr, strings.TrimPrefix(answer, "stderr:"))
	} else {
		fmt.Print(answer)
	}
	for _, failing := range configuration.IPAM.Fails {
		if failing == command {
			os.Exit(1)
		}
	}
	os.Exit(0)
}

// stage is a folder of configurations with a plugin that plays.
type stage struct {
	*testing.T
	options cni.Options
	record  string
}

func newStage(t *testing.T, version string, s script) *stage {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	st := &stage{T: t, record: filepath.Join(folder, "record"), options: cni.Options{
		Configurations: filepath.Join(folder, "conf"), Plugins: filepath.Join(folder, "bin"), Timeout: 5 * time.Minute,
	}}
	for _, made := range []string{st.options.Configurations, st.options.Plugins} {
		if err := os.Mkdir(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(self, filepath.Join(st.options.Plugins, "playing")); err != nil {
		t.Fatal(err)
	}
	s.Record = st.record
	ipam := map[string]any{"type": "playing", "record": s.Record, "Add": s.Add, "Del": s.Del, "Check": s.Check, "Fails": s.Fails, "Hang": s.Hang}
	st.write("10-lan.conf", map[string]any{"cniVersion": version, "name": "lan", "type": "macvlan", "capabilities": map[string]bool{"ips": true}, "ipam": ipam})
	return st
}

func (st *stage) write(name string, configuration any) {
	st.Helper()
	raw, err := json.Marshal(configuration)
	if err == nil {
		err = os.WriteFile(filepath.Join(st.options.Configurations, name), raw, 0o600)
	}
	if err != nil {
		st.Fatal(err)
	}
}

// calls returns the recorded inputs of the plugin.
func (st *stage) calls() (all []recorded) {
	st.Helper()
	raw, err := os.ReadFile(st.record)
	if err != nil && !os.IsNotExist(err) {
		st.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var call recorded
		if err := json.Unmarshal([]byte(line), &call); err != nil {
			st.Fatal(err)
		}
		all = append(all, call)
	}
	return all
}

// commands are the commands of the calls.
func (st *stage) commands() string {
	st.Helper()
	var all []string
	for _, call := range st.calls() {
		all = append(all, call.value("CNI_COMMAND"))
	}
	return strings.Join(all, " ")
}

func (r recorded) value(name string) string {
	for _, entry := range r.Environment {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

const given = `{"cniVersion": "1.0.0", "ips": [{"address": "10.0.0.5/24", "gateway": "10.0.0.1"}, {"address": "fd00::5/64"}],
	"routes": [{"dst": "0.0.0.0/0"}, {"dst": "fd01::/64", "gw": "fd00::1"}]}`

func intent(number int, addresses ...string) network.Allocation {
	a := network.Allocation{
		Owner: network.Owner{Contract: "dranet", Key: fmt.Sprintf("uid-%d/pci-0000-27-00-2", number)}, Pool: "lan", State: network.Intended,
		Since: time.Unix(1e9, 0), Holder: network.Holder{Kind: "ResourceClaim", Namespace: "team-a", Name: "claim"},
	}
	for _, address := range addresses {
		a.Addresses = append(a.Addresses, netip.MustParseAddr(address))
	}
	return a
}
