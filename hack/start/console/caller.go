// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// Caller asks a program, with curl where that is there.
type Caller struct {
	// Socket is where the program listens; empty: at the host of the URL. Authority is the file with the certificate by which the program is known; empty: it
	// has none.
	Socket, Authority string

	curl string
}

// WithCurl is the same caller with curl, and what to say of that; the caller itself where curl is not there.
func (c Caller) WithCurl() (Caller, string) {
	path, err := exec.LookPath("curl")
	if err != nil {
		return c, "curl is not there: this program asks by itself what curl would be told to."
	}
	c.curl = path
	return c, "With curl:"
}

// where are the flags of curl that say where the program is.
func (c Caller) where() (flags []string) {
	if c.Socket != "" {
		flags = append(flags, "--unix-socket", c.Socket)
	}
	if c.Authority != "" {
		flags = append(flags, "--cacert", c.Authority)
	}
	return flags
}

// Command is what somebody types.
func (c Caller) Command(url, body string) string {
	words := append(append([]string{"curl"}, c.where()...), url)
	if body != "" {
		words = append(words, "--json", "'"+body+"'")
	}
	return strings.Join(words, " ")
}

// Ask posts a body of JSON, or gets where there is none, and gives the status and the body of the answer, without white space around it.
func (c Caller) Ask(ctx context.Context, url, body string) (status, answer string, err error) {
	if c.curl == "" {
		return c.askItself(ctx, url, body)
	}
	arguments := append([]string{"--silent", "--show-error", "--max-time", "20", "--noproxy", "*", "--write-out", "\n%{http_code}"}, c.where()...)
	if body != "" {
		arguments = append(arguments, "--header", "Content-Type: application/json", "--data", body)
	}
	var out, problems bytes.Buffer
	command := exec.CommandContext(ctx, c.curl, append(arguments, url)...)
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return "", "", fmt.Errorf("asking with curl: %w: %s", err, strings.TrimSpace(problems.String()))
	}
	end := strings.LastIndexByte(out.String(), '\n')
	return out.String()[end+1:], strings.TrimSpace(out.String()[:end]), nil
}

func (c Caller) askItself(ctx context.Context, url, body string) (status, answer string, err error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if c.Socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", c.Socket)
		}
	}
	if c.Authority != "" {
		text, err := os.ReadFile(c.Authority)
		if err != nil {
			return "", "", fmt.Errorf("reading the certificate: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(text)
	}
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return "", "", err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return fmt.Sprint(response.StatusCode), strings.TrimSpace(string(text)), err
}
