// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
)

// caller asks the program, with curl where that is there.
type caller struct {
	socket, curl string
	// how says which.
	how string
}

func newCaller(socket string) *caller {
	path, err := exec.LookPath("curl")
	if err != nil {
		return &caller{socket: socket, how: "curl is not there: this program asks by itself what curl would be told to."}
	}
	return &caller{socket: socket, curl: path, how: "DRANET's calls, with curl:"}
}

// command is what somebody types.
func (c *caller) command(path, body string) string {
	text := "curl --unix-socket " + c.socket + " http://localhost" + path
	if body != "" {
		text += " --json '" + body + "'"
	}
	return text
}

// ask gives the status and the body of the answer.
func (c *caller) ask(ctx context.Context, path, body string) (status, answer string, err error) {
	if c.curl == "" {
		return c.askItself(ctx, path, body)
	}
	arguments := []string{"--silent", "--show-error", "--max-time", "20", "--unix-socket", c.socket, "--write-out", "\n%{http_code}", "http://localhost" + path}
	if body != "" {
		arguments = append(arguments, "--header", "Content-Type: application/json", "--data", body)
	}
	var out, problems bytes.Buffer
	command := exec.CommandContext(ctx, c.curl, arguments...)
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return "", "", fmt.Errorf("asking with curl: %w: %s", err, strings.TrimSpace(problems.String()))
	}
	end := strings.LastIndexByte(out.String(), '\n')
	return out.String()[end+1:], strings.TrimSpace(out.String()[:end]), nil
}

func (c *caller) askItself(ctx context.Context, path, body string) (status, answer string, err error) {
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	}, DisableKeepAlives: true}}
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		return "", "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return fmt.Sprint(response.StatusCode), strings.TrimSpace(string(text)), err
}
