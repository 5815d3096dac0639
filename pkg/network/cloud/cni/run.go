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

// grace is how long the pipes of a plugin that has ended stay open for what it has started.
const grace = time.Second

// runner runs plugins as invoke's own does, but each in a process group of its own that is killed with it, with bounds on what is read.
type runner struct{ version.PluginDecoder }

// FindInPath implements invoke.Exec.
func (*runner) FindInPath(name string, folders []string) (string, error) {
	return invoke.FindInPath(name, folders)
}

// ExecPlugin implements invoke.Exec. The error is a *types.Error where the plugin has said what is wrong.
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

// complain reads what a plugin says that has failed: JSON on its output, or anything on its error output.
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

// bounded keeps the beginning of what is written to it.
type bounded struct {
	kept []byte
	most int
	over bool
}

// Write implements io.Writer. What is too much is dropped, so that the plugin can end.
func (b *bounded) Write(p []byte) (int, error) {
	fits := min(len(p), b.most-len(b.kept))
	b.kept, b.over = append(b.kept, p[:fits]...), b.over || fits < len(p)
	return len(p), nil
}

// inherited are the variables of the server that plugins see.
func inherited() []string {
	var all []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		if value, ok := os.LookupEnv(name); ok {
			all = append(all, name+"="+value)
		}
	}
	return all
}
