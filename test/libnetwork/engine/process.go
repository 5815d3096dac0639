// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Process is a running engine.
type Process struct {
	calls   *rpc.Client
	command *exec.Cmd
}

// Start starts the program of an engine, whose log goes to a writer, and waits until its controller is there. It lives
// in the network namespace of the calling thread.
func Start(program string, s Settings, log io.Writer) (*Process, error) {
	p := &Process{command: exec.CommandContext(context.Background(), program, "-data", s.Data, "-run", s.Run, "-active",
		strings.Join(s.Active, ","))}
	p.command.Stderr, p.command.Env = log, append(os.Environ(), s.Environment...)
	p.command.WaitDelay = time.Second
	in, err := p.command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting an engine: %w", err)
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting an engine: %w", err)
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting an engine: %w", err)
	}
	p.calls = rpc.NewClient(&stream{out, in})
	if err := p.call("Ready", None{}, &None{}); err != nil {
		p.Kill()
		return nil, fmt.Errorf("starting an engine: %w", err)
	}
	return p, nil
}

// Stop ends the engine as the end of its input does.
func (p *Process) Stop() {
	_ = p.calls.Close()
	_ = p.command.Wait()
}

// Kill ends the engine at once.
func (p *Process) Kill() {
	_ = p.command.Process.Signal(syscall.SIGKILL)
	p.Stop()
}

// call makes a call. What the controller says comes back as an error with its text alone.
func (p *Process) call(method string, arguments, reply any) error {
	err := p.calls.Call("Engine."+method, arguments, reply)
	var said rpc.ServerError
	if errors.As(err, &said) {
		return errors.New(string(said))
	}
	return err
}

// NewNetwork works like docker network create, and returns the identifier.
func (p *Process) NewNetwork(n Network) (id string, err error) {
	return id, p.call("NewNetwork", n, &id)
}

// DeleteNetwork is docker network rm.
func (p *Process) DeleteNetwork(name string) error { return p.call("DeleteNetwork", name, &None{}) }

// CreateEndpoint creates an endpoint, and returns it.
func (p *Process) CreateEndpoint(e Endpoint) (made Interface, err error) {
	return made, p.call("CreateEndpoint", e, &made)
}

// DeleteEndpoint removes an endpoint.
func (p *Process) DeleteEndpoint(network, name string) error {
	return p.call("DeleteEndpoint", Pair{network, name}, &None{})
}

// Endpoint returns an endpoint.
func (p *Process) Endpoint(network, name string) (found Interface, err error) {
	return found, p.call("Endpoint", Pair{network, name}, &found)
}

// NewSandbox makes a sandbox.
func (p *Process) NewSandbox(b Box) (made Sandbox, err error) {
	return made, p.call("NewSandbox", b, &made)
}

// DeleteSandbox removes a sandbox, with whatever has joined it.
func (p *Process) DeleteSandbox(name string) error { return p.call("DeleteSandbox", name, &None{}) }

// Join brings an endpoint into a sandbox.
func (p *Process) Join(a Attachment) error { return p.call("Join", a, &None{}) }

// Leave takes an endpoint out of a sandbox.
func (p *Process) Leave(a Attachment) error { return p.call("Leave", a, &None{}) }

// Discover tells a driver that a machine has come or gone.
func (p *Process) Discover(n Notice) error { return p.call("Discover", n, &None{}) }

// Allocate asks a driver for the data that it stores for a network of a cluster.
func (p *Process) Allocate(driver, id string, options map[string]string) (kept map[string]string, err error) {
	return kept, p.call("Allocate", Wish{driver, id, options}, &kept)
}

// Free ends what Allocate began.
func (p *Process) Free(driver, id string) error {
	return p.call("Free", Wish{Driver: driver, ID: id}, &None{})
}

// Load creates many endpoints, and returns the time that this took.
func (p *Process) Load(l Load) (took Took, err error) { return took, p.call("Load", l, &took) }
