// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/graft-provider/gardener-extension-provider-graft/hack/start/console"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/interpreter/dispatch"
)

// unknown asks about a kind that nobody knows.
const unknown = `{"apiVersion":"config.karmada.io/v1alpha1","kind":"ResourceInterpreterContext","request":{"uid":"1",` +
	`"kind":{"group":"acme.com","version":"v1","kind":"Dragon"},"name":"smoke","operation":"InterpretHealth","object":{"metadata":{"name":"smoke"}}}}`

// mistake asks what cannot be answered, and holds that the answer says so, and why.
func mistake(ctx context.Context, s *server, t *console.Terminal) error {
	t.Line("\n%s", t.Bold("A kind that nobody knows: the answer is not successful, and says why"))
	curl, err := exec.LookPath("curl")
	var answer []byte
	if err != nil {
		t.Line("  curl is not there: this program asks by itself what curl would be told to.")
	}
	t.Line("  %s", t.Dim("$ curl --cacert "+s.authority()+" "+s.url+" --json '"+unknown+"'"))
	if err != nil {
		answer, err = askItself(ctx, s)
	} else {
		answer, err = askByCurl(ctx, curl, s)
	}
	if err != nil {
		return err
	}
	t.Line("  %s", strings.TrimSpace(string(answer)))
	return refused(answer)
}

// refused holds that an answer is none, of code 404.
func refused(answer []byte) error {
	var message dispatch.ContextMessage
	if err := json.Unmarshal(answer, &message); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	r := message.Response
	if r == nil || r.Successful || r.UID != "1" || r.Status == nil || r.Status.Code != interpreter.CodeUnknown {
		return fmt.Errorf("the answer should not be successful, and have the code %d", interpreter.CodeUnknown)
	}
	return nil
}

func askByCurl(ctx context.Context, curl string, s *server) ([]byte, error) {
	var out, problems bytes.Buffer
	command := exec.CommandContext(ctx, curl, "--silent", "--show-error", "--max-time", "20", "--noproxy", "*", "--cacert", s.authority(),
		"--header", "Content-Type: application/json", "--data", unknown, s.url)
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("asking with curl: %w: %s", err, strings.TrimSpace(problems.String()))
	}
	return out.Bytes(), nil
}

func askItself(ctx context.Context, s *server) ([]byte, error) {
	text, err := os.ReadFile(s.authority())
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(unknown))
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
}
