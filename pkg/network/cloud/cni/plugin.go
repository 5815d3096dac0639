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
	"regexp"
	"syscall"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

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

// environment returns the environment for a command, with few variables of the server.
func (p *plugin) environment(at attachment, command string) environment {
	all := at.environment(command, p.options.Plugins)
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
	var response *types.Error
	if !errors.As(err, &response) {
		return fmt.Errorf("running the CNI plugin %s for %s: %w", p.name, command, err)
	}
	text := response.Msg
	if response.Details != "" {
		text += ": " + response.Details
	}
	text = fmt.Sprintf("the CNI plugin %s says to %s: %s", p.name, command, cloud.Line(text, longest))
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
type runner struct{ version.PluginDecoder }

// FindInPath implements invoke.Exec.
func (*runner) FindInPath(name string, folders []string) (string, error) {
	return invoke.FindInPath(name, folders)
}

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
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
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
