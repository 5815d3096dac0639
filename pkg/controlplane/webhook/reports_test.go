// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShorten(t *testing.T) {
	for name, message := range map[string]string{
		"a short text": "short", "a text of the maximum length": strings.Repeat("x", maximumEventBytes),
		"a text beyond the limit":    strings.Repeat("x", 3*maximumEventBytes),
		"text of three-byte letters": strings.Repeat("€", maximumEventBytes), "a text that is not UTF-8": strings.Repeat("\xff", 2*maximumEventBytes),
	} {
		t.Run(name, func(t *testing.T) {
			got := shorten(message)
			if len(message) <= maximumEventBytes && got != message || len(got) > maximumEventBytes || len(got) < min(len(message), maximumEventBytes-8) {
				t.Errorf("a message of %d bytes was shortened to %d bytes", len(message), len(got))
			}
			if utf8.ValidString(message) && !utf8.ValidString(got) {
				t.Error("a letter is cut")
			}
		})
	}
}
