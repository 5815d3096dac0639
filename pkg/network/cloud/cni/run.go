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
	"os"
	"os/exec"
	"time"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
)

// maximumOutput is how many bytes of a plugin's output are read.
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
	output, complaint := &bounded{most: maximumOutput}, &bounded{most: 4 << 10}
	command := exec.CommandContext(ctx, path)
	command.Env, command.Stdin, command.Stdout, command.Stderr = environment, bytes.NewReader(input), output, complaint
	command.WaitDelay = grace
	isolate(command)
	err := command.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case output.over:
		return nil, fmt.Errorf("it has written more than %d bytes", maximumOutput)
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return output.kept, nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return nil, err
	}
	return nil, complain(exit, output.kept, complaint.kept)
}

// complain parses the error of a failed plugin: JSON on its standard output, or text on its standard error.
func complain(exit *exec.ExitError, output, complaint []byte) error {
	said := &types.Error{}
	if json.Unmarshal(output, said) == nil && said.Msg != "" {
		return said
	}
	if text := bytes.TrimSpace(complaint); len(text) > 0 {
		return &types.Error{Msg: string(text)}
	}
	return &types.Error{Msg: "nothing, and ended with " + exit.String()}
}

// bounded keeps the beginning of the written data.
type bounded struct {
	kept []byte
	most int
	over bool
}

// Write implements io.Writer. It drops data beyond the limit, so that the plugin can exit.
func (b *bounded) Write(p []byte) (int, error) {
	fits := min(len(p), b.most-len(b.kept))
	b.kept, b.over = append(b.kept, p[:fits]...), b.over || fits < len(p)
	return len(p), nil
}

// inherited returns the server's environment variables that plugins receive.
func inherited() []string {
	var all []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		if value, ok := os.LookupEnv(name); ok {
			all = append(all, name+"="+value)
		}
	}
	return all
}
