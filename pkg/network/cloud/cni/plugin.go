// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/serving"
)

// plugin is an IPAM plugin with its standard input.
type plugin struct {
	// name is the name of the program, and path where it is.
	name, path string
	// network and version are the name and the version of the network configuration.
	network, version string
	configuration    *libcni.PluginConfig
	options          Options
}

// load reads the configuration with a name. It ignores invalid files of the folder, unless no file has the name.
func load(o Options, name string) (*plugin, error) {
	list, err := find(o.Configurations, name)
	if err != nil {
		return nil, err
	}
	for _, candidate := range list.Plugins {
		if candidate.Network.IPAM.Type == "" {
			continue
		}
		p := &plugin{name: candidate.Network.IPAM.Type, network: list.Name, version: list.CNIVersion, configuration: candidate, options: o}
		if p.path, err = invoke.FindInPath(p.name, filepath.SplitList(o.Plugins)); err != nil {
			return nil, configurationError("%s names the IPAM plugin %s, which is not in %s", name, p.name, o.Plugins)
		}
		return p, nil
	}
	return nil, configurationError("%s has no plugin with an ipam section", name)
}

// find reads the files of a folder in the order of their names, lists first, as container runtimes do.
func find(folder, name string) (*libcni.NetworkConfigList, error) {
	lists, err := libcni.ConfFiles(folder, []string{".conflist"})
	singles, other := libcni.ConfFiles(folder, []string{".conf", ".json"})
	if err = cmp.Or(err, other); err != nil {
		return nil, fmt.Errorf("reading the folder of CNI network configurations: %w", err)
	}
	var broken []string
	for _, file := range append(lists, singles...) {
		list, err := read(file)
		if err != nil {
			broken = append(broken, filepath.Base(file))
		} else if list.Name == name {
			return list, nil
		}
	}
	if len(broken) > 0 {
		return nil, configurationError("%s is not in %s; unreadable files there: %s", name, folder, strings.Join(broken, ", "))
	}
	return nil, configurationError("%s is not in %s", name, folder)
}

// read reads a list, with its plugins in other files, or the configuration of a single plugin.
func read(file string) (*libcni.NetworkConfigList, error) {
	if filepath.Ext(file) == ".conflist" {
		return libcni.NetworkConfFromFile(file)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	single, err := libcni.NetworkPluginConfFromBytes(raw)
	if err != nil {
		return nil, err
	}
	return &libcni.NetworkConfigList{Name: single.Network.Name, CNIVersion: single.Network.CNIVersion, Plugins: []*libcni.PluginConfig{single}}, nil
}

// configurationError returns an error about the configuration or the plugin.
func configurationError(format string, arguments ...any) error {
	return fmt.Errorf("the CNI network configuration "+format, arguments...)
}

// run calls the plugin: ADD requests the wanted addresses, or any if none are wanted, and returns the result; DEL releases
// the addresses of the attachment. It fails with a failure if the plugin does.
func (p *plugin) run(ctx context.Context, command string, at attachment, wanted []netip.Addr) (result *current.Result, err error) {
	input, err := p.input(wanted)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	if command == "ADD" {
		result, err = convertResult(func() (types.Result, error) {
			return invoke.ExecPluginWithResult(within, p.path, input, p.environment(at, command), &runner{})
		})
	} else {
		err = invoke.ExecPluginWithoutResult(within, p.path, input, p.environment(at, command), &runner{})
	}
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("running the CNI plugin %s for %s: %w", p.name, command, ctx.Err())
	case within.Err() != nil:
		return nil, fmt.Errorf("running the CNI plugin %s for %s: it did not end within %s", p.name, command, p.options.Timeout)
	}
	return nil, p.convertError(command, err)
}

// environment is the complete environment of a plugin.
type environment []string

// AsEnv implements invoke.CNIArgs.
func (e environment) AsEnv() []string { return e }

// environment returns the variables of the CNI specification, and few of the server. The path of the network namespace
// does not exist: IPAM plugins need none, and must not use the server's own.
func (p *plugin) environment(at attachment, command string) environment {
	all := environment{
		"CNI_COMMAND=" + command, "CNI_CONTAINERID=" + at.Container, "CNI_IFNAME=" + at.Interface,
		"CNI_NETNS=/var/run/netns/" + at.Container, "CNI_PATH=" + p.options.Plugins,
		"CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=" + at.Namespace + ";K8S_POD_NAME=" + at.Pod +
			";K8S_POD_INFRA_CONTAINER_ID=" + at.Container + ";K8S_POD_UID=" + at.UID,
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		if value, ok := os.LookupEnv(name); ok {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// input returns the configuration for the plugin, with the name and version of the network and the wanted addresses.
func (p *plugin) input(wanted []netip.Addr) ([]byte, error) {
	values := map[string]any{"name": p.network, "cniVersion": p.version}
	if len(wanted) > 0 {
		texts := make([]string, len(wanted))
		for i, address := range wanted {
			texts[i] = address.String()
		}
		values["args"] = map[string]any{"cni": map[string]any{"ips": texts}}
		if p.configuration.Network.Capabilities["ips"] {
			values["runtimeConfig"] = map[string]any{"ips": texts}
		}
	}
	made, err := libcni.InjectConf(p.configuration, values)
	if err != nil {
		return nil, fmt.Errorf("writing the configuration of the CNI plugin %s: %w", p.name, err)
	}
	return made.Bytes, nil
}

// Messages of plugins for errors without a code in the specification.
var (
	exhausted = regexp.MustCompile(`(?i)no (more )?(free |available )?(ip )?address(es)? (is |are )?(left|available)|exhausted|could not allocate ip in range`)
	taken     = regexp.MustCompile(`(?i)requested ip address \S+ is not available`)
)

// pause is the time until the next call after the plugin's error code 11, "try again later" (CNI specification 1.1,
// Error).
const pause = 2 * time.Second

// convertError converts an error of a plugin to an error of this package.
func (p *plugin) convertError(command string, err error) error {
	response, ok := errors.AsType[*types.Error](err)
	if !ok {
		return fmt.Errorf("running the CNI plugin %s for %s: %w", p.name, command, err)
	}
	text := response.Msg
	if response.Details != "" {
		text += ": " + response.Details
	}
	text = fmt.Sprintf("the CNI plugin %s says to %s: %s", p.name, command, serving.Line(text, longest))
	if response.Code != 0 {
		text += fmt.Sprintf(" (code %d)", response.Code)
	}
	switch {
	case response.Code == types.ErrTryAgainLater:
		return cloud.NewRetryAfter(pause, text)
	case command == "ADD" && taken.MatchString(response.Msg):
		return &pluginError{text, []error{network.ErrRefused, network.ErrTaken}}
	case command == "ADD" && exhausted.MatchString(response.Msg+" "+response.Details):
		return &pluginError{text, []error{network.ErrRefused, network.ErrExhausted}}
	default:
		return &pluginError{text, nil}
	}
}

// longest limits the characters of a plugin's message.
const longest = 300

// pluginError is the error of a plugin that ran to its end. It wraps the errors of package network in is.
type pluginError struct {
	text string
	is   []error
}

// Error returns the plugin's message.
func (f *pluginError) Error() string { return f.text }

// Unwrap returns the errors of package network.
func (f *pluginError) Unwrap() []error { return f.is }

// maximumOutput limits the output of a plugin, in bytes. A result takes some kilobytes.
const maximumOutput = 1 << 20

// grace is the time for which the pipes of an exited plugin stay open for its child processes.
const grace = time.Second

// runner runs plugins like the runner of invoke, but each in its own process group, which it kills completely, and with
// limited output.
type runner struct{ invoke.DefaultExec }

// ExecPlugin implements invoke.Exec. The error is a *types.Error if the plugin returned one.
func (*runner) ExecPlugin(ctx context.Context, path string, input []byte, environment []string) ([]byte, error) {
	output, complaint := &limitedBuffer{most: maximumOutput}, &limitedBuffer{most: 4 << 10}
	command := exec.CommandContext(ctx, path)
	command.Env, command.Stdin, command.Stdout, command.Stderr = environment, bytes.NewReader(input), output, complaint
	command.WaitDelay = grace
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	err := command.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case output.over:
		return nil, fmt.Errorf("its output has more than %d bytes", maximumOutput)
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return output.kept, nil
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return nil, err
	}
	// A plugin writes its error as JSON to its standard output, or else as text to its standard error.
	response := &types.Error{}
	if json.Unmarshal(output.kept, response) != nil || response.Msg == "" {
		response = &types.Error{Msg: cmp.Or(string(bytes.TrimSpace(complaint.kept)), "nothing, and ended with "+exit.String())}
	}
	return nil, response
}

// limitedBuffer keeps the beginning of the written data.
type limitedBuffer struct {
	kept []byte
	most int
	over bool
}

// Write implements io.Writer. It drops data beyond the limit, so that the plugin can exit.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	fits := min(len(p), b.most-len(b.kept))
	b.kept, b.over = append(b.kept, p[:fits]...), b.over || fits < len(p)
	return len(p), nil
}
