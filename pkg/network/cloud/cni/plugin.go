// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package cni

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// add requests the wanted addresses, or any if none are wanted.
func (p *plugin) add(ctx context.Context, at attachment, wanted []netip.Addr) (*output, error) {
	input, err := p.input(wanted)
	if err != nil {
		return nil, err
	}
	var given *output
	err = p.run(ctx, "ADD", func(ctx context.Context, runner invoke.Exec) (err error) {
		given, err = newOutput(func() (types.Result, error) {
			return invoke.ExecPluginWithResult(ctx, p.path, input, arguments(at.environment("ADD", p.options.Plugins)), runner)
		})
		return err
	})
	return given, err
}

// del releases the addresses of an attachment.
func (p *plugin) del(ctx context.Context, at attachment) error {
	input, err := p.input(nil)
	if err != nil {
		return err
	}
	return p.run(ctx, "DEL", func(ctx context.Context, runner invoke.Exec) error {
		return invoke.ExecPluginWithoutResult(ctx, p.path, input, arguments(at.environment("DEL", p.options.Plugins)), runner)
	})
}

// arguments are a complete environment.
type arguments []string

// AsEnv implements invoke.CNIArgs.
func (a arguments) AsEnv() []string { return append(inheritedEnvironment(), a...) }

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

// run limits the time of a plugin call and converts its errors.
func (p *plugin) run(ctx context.Context, command string, do func(context.Context, invoke.Exec) error) error {
	within, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	err := do(within, &runner{})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("running the CNI plugin %s for %s: %w", p.name, command, ctx.Err())
	case within.Err() != nil:
		return fmt.Errorf("running the CNI plugin %s for %s: it did not end within %s", p.name, command, p.options.Timeout)
	}
	return p.convertError(command, err)
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
	text := fmt.Sprintf("the CNI plugin %s says to %s: %s", p.name, command, oneLine(response))
	switch {
	case response.Code == types.ErrTryAgainLater:
		return cloud.NewRetryAfter(pause, text)
	case command == "ADD" && taken.MatchString(response.Msg):
		return &failure{text: text, is: []error{network.ErrRefused, network.ErrTaken}}
	case command == "ADD" && exhausted.MatchString(response.Msg+" "+response.Details):
		return &failure{text: text, is: []error{network.ErrRefused, network.ErrExhausted}}
	default:
		return &failure{text: text}
	}
}

// failure is an error returned by a plugin.
type failure struct {
	text string
	is   []error
}

// Error implements error.
func (f *failure) Error() string { return f.text }

// Unwrap returns the errors of package network that the failure represents.
func (f *failure) Unwrap() []error { return f.is }

// isResponse reports whether an error is the plugin's own response, so that the plugin ran to its end.
func (p *plugin) isResponse(err error) bool {
	var own *failure
	return errors.As(err, &own)
}

// longest limits the characters of a plugin's message.
const longest = 300

// oneLine returns a plugin's message on one line.
func oneLine(response *types.Error) string {
	text := response.Msg
	if response.Details != "" {
		text += ": " + response.Details
	}
	text = cloud.Line(text, longest)
	if response.Code == 0 {
		return text
	}
	return fmt.Sprintf("%s (code %d)", text, response.Code)
}

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
	useProcessGroup(command)
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
	return nil, pluginError(exit, output.kept, complaint.kept)
}

// pluginError parses the error of a failed plugin: JSON on its standard output, or text on its standard error.
func pluginError(exit *exec.ExitError, output, complaint []byte) error {
	response := &types.Error{}
	if json.Unmarshal(output, response) == nil && response.Msg != "" {
		return response
	}
	if text := bytes.TrimSpace(complaint); len(text) > 0 {
		return &types.Error{Msg: string(text)}
	}
	return &types.Error{Msg: "nothing, and ended with " + exit.String()}
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

// inheritedEnvironment returns the server's environment variables that plugins receive.
func inheritedEnvironment() []string {
	var all []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		if value, ok := os.LookupEnv(name); ok {
			all = append(all, name+"="+value)
		}
	}
	return all
}
