// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"strings"
)

// Serve makes a controller of the settings on the command line, and answers Start's process until it goes.
func Serve(open func(context.Context, Settings) (Controller, error)) {
	var s Settings
	flag.StringVar(&s.Data, "data", "", "folder that outlives the process")
	flag.StringVar(&s.Run, "run", "", "folder that does not outlive the machine")
	active := flag.String("active", "", "identifiers of sandboxes that are still there")
	flag.Parse()
	if *active != "" {
		s.Active = strings.Split(*active, ",")
	}
	calls := &stream{os.Stdin, os.Stdout}
	os.Stdout = os.Stderr // whatever libraries print
	controller, err := open(context.Background(), s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "opening the controller:", err)
		os.Exit(1)
	}
	server := rpc.NewServer()
	if err := server.RegisterName("Engine", &service{controller}); err != nil {
		fmt.Fprintln(os.Stderr, "serving the controller:", err)
		os.Exit(1)
	}
	server.ServeConn(calls)
}

// stream is the two ends of a conversation.
type stream struct {
	io.ReadCloser
	io.WriteCloser
}

// Close closes both.
func (s *stream) Close() error {
	_ = s.ReadCloser.Close()
	return s.WriteCloser.Close()
}

// service is a controller as net/rpc wants it.
type service struct{ c Controller }

// What is sent beside the types of this package; net/rpc wants it exported.
type (
	// Pair is one thing in another.
	Pair struct{ Network, Name string }
	// Wish is a cluster's request to a driver.
	Wish struct {
		Driver, ID string
		Options    map[string]string
	}
	// None is an answer without contents.
	None struct{}
)

// Ready answers Start, when there is a controller.
func (s *service) Ready(None, *None) error { return nil }

// NewNetwork answers Process.NewNetwork.
func (s *service) NewNetwork(n Network, id *string) (err error) {
	*id, err = s.c.NewNetwork(context.Background(), n)
	return err
}

// DeleteNetwork answers Process.DeleteNetwork.
func (s *service) DeleteNetwork(name string, _ *None) error {
	return s.c.DeleteNetwork(context.Background(), name)
}

// CreateEndpoint answers Process.CreateEndpoint.
func (s *service) CreateEndpoint(e Endpoint, made *Interface) (err error) {
	if err = s.c.CreateEndpoint(context.Background(), e); err == nil {
		*made, err = s.c.Endpoint(context.Background(), e.Network, e.Name)
	}
	return err
}

// DeleteEndpoint answers Process.DeleteEndpoint.
func (s *service) DeleteEndpoint(p Pair, _ *None) error {
	return s.c.DeleteEndpoint(context.Background(), p.Network, p.Name)
}

// Endpoint answers Process.Endpoint.
func (s *service) Endpoint(p Pair, found *Interface) (err error) {
	*found, err = s.c.Endpoint(context.Background(), p.Network, p.Name)
	return err
}

// NewSandbox answers Process.NewSandbox.
func (s *service) NewSandbox(b Box, made *Sandbox) (err error) {
	*made, err = s.c.NewSandbox(context.Background(), b)
	return err
}

// DeleteSandbox answers Process.DeleteSandbox.
func (s *service) DeleteSandbox(name string, _ *None) error {
	return s.c.DeleteSandbox(context.Background(), name)
}

// Join answers Process.Join.
func (s *service) Join(a Attachment, _ *None) error { return s.c.Join(context.Background(), a) }

// Leave answers Process.Leave.
func (s *service) Leave(a Attachment, _ *None) error { return s.c.Leave(context.Background(), a) }

// Discover answers Process.Discover.
func (s *service) Discover(n Notice, _ *None) error { return s.c.Discover(context.Background(), n) }

// Allocate answers Process.Allocate.
func (s *service) Allocate(w Wish, options *map[string]string) (err error) {
	*options, err = s.c.Allocate(context.Background(), w.Driver, w.ID, w.Options)
	return err
}

// Free answers Process.Free.
func (s *service) Free(w Wish, _ *None) error {
	return s.c.Free(context.Background(), w.Driver, w.ID)
}

// Load answers Process.Load.
func (s *service) Load(l Load, took *Took) (err error) {
	*took, err = l.run(context.Background(), s.c)
	return err
}
