// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/api/dranet"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/policy"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/service"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// document is the profile of the pool.
const document = `apiVersion: graft.provider.extensions.gardener.cloud/v1alpha1
kind: NetworkProfile
metadata: {name: bench}
pools:
  bench: {exclusive: true, subnets: [{prefix: 10.0.0.0/8}]}
profiles:
  bench: {pools: [bench]}
`

// serve answers DRANET on a socket, and returns a cycle of its calls. stop stops the server.
func serve(ctx context.Context, s *service.Service) (do cycle, stop func(), err error) {
	documents, findings := profile.LoadNetworks(source.File{Name: "bench.yaml", Data: []byte(document)})
	if len(findings) > 0 {
		return nil, nil, findings.Err()
	}
	compiled, findings := policy.Compile(documents)
	if len(findings) > 0 {
		return nil, nil, findings.Err()
	}
	// The path of a socket must be short.
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(folder, "s")
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, nil, err
	}
	server := &http.Server{
		Handler: dranet.New(api.Options{Service: s, Policy: func() *policy.Policy { return compiled },
			Log: logr.Discard()}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { _ = server.Serve(listener) }()
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 1024,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
	}}
	stop = func() {
		client.CloseIdleConnections()
		_ = server.Close()
		_ = os.RemoveAll(folder)
	}
	return func(ctx context.Context, name string) error {
		body, err := json.Marshal(map[string]any{
			"device": map[string]string{"name": "pci-0000-27-00-2", "pci_address": "0000:27:00.2"}, "claim_uid": name[:36],
			"config": map[string]any{"profile": "bench", "interface": map[string]string{"name": "net1"}},
		})
		if err != nil {
			return err
		}
		if err := post(ctx, client, "/GetProfileConfig", body); err != nil {
			return err
		}
		return post(ctx, client, "/ReleaseProfileConfig", body)
	}, stop, nil
}

func post(ctx context.Context, client *http.Client, path string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s is answered %s: %s", path, response.Status, answer)
	}
	return err
}
