// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"io"
	"net/http"
	"regexp"
	"testing"
)

// metrics are those that a server that runs has.
func (n *node) metrics(t *testing.T) string {
	t.Helper()
	address := regexp.MustCompile(`127\.0\.0\.1:[1-9][0-9]*`).FindString(n.Log.String())
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
