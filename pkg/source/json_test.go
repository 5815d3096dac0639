// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"encoding/json"
	"testing"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

// TestJSONError checks that errors of JSON name fields and forms of JSON, and no types of Go.
func TestJSONError(t *testing.T) {
	type inner struct {
		Text string `json:"text"`
	}
	var into struct {
		Text   string            `json:"text"`
		Yes    bool              `json:"yes"`
		List   []inner           `json:"list"`
		Map    map[string]string `json:"map"`
		Number *int32            `json:"number"`
		Large  int64             `json:"large"`
		Factor *float64          `json:"factor"`
	}
	for raw, want := range map[string]string{
		`{"text": 1}`:             "in text, a string is needed instead of a number",
		`{"yes": "no"}`:           "in yes, true or false is needed instead of a string",
		`{"list": {}}`:            "in list, a list is needed instead of a mapping",
		`{"list": [{"text":[]}]}`: "in list.text, a string is needed instead of a list",
		`{"map": true}`:           "in map, a mapping is needed instead of true or false",
		`{"number": 5000000000}`:  "in number, a whole number of 32 bits is needed instead of 5000000000",
		`{"large": 1.5}`:          "in large, a whole number is needed instead of 1.5",
		`{"factor": "half"}`:      "in factor, a number is needed instead of a string",
		`[]`:                      "a mapping is needed instead of a list",
		`{`:                       "unexpected end of JSON input",
	} {
		err := json.Unmarshal([]byte(raw), &into)
		if err == nil {
			t.Fatalf("%s is read", raw)
		}
		if got := source.JSONError(err).Error(); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}
