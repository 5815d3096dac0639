// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/expression"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/network/cloud"
)

// response is an answer that has been read.
type response struct {
	status int
	header http.Header
	body   []byte
}

// value returns the body for expressions: JSON, or an empty object for another body.
func (r *response) value() any {
	if value, err := expression.ParseJSON(r.body); err == nil && len(r.body) > 0 {
		return value
	}
	return map[string]any{}
}

// headers maps names in lower case to the first value of each.
func (r *response) headers() map[string]string {
	all := make(map[string]string, len(r.header))
	for name, values := range r.header {
		if len(values) > 0 {
			all[strings.ToLower(name)] = values[0]
		}
	}
	return all
}

// failure returns the error for a response that is neither a success nor a refusal. It does not contain the body.
func (r *response) failure(name string, now time.Time) error {
	text := fmt.Sprintf("the cloud answered %s with status %d", name, r.status)
	if r.status != http.StatusTooManyRequests && r.status != http.StatusServiceUnavailable {
		return errors.New(text)
	}
	after, ok := retryAfter(r.header.Get("Retry-After"), now)
	if !ok && r.status == http.StatusServiceUnavailable {
		return errors.New(text)
	}
	return cloud.NewRetryAfter(after, text)
}

// retryAfter reads seconds or a date (RFC 9110, 10.2.3).
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := http.ParseTime(text); err == nil {
		return date.Sub(now), true
	}
	return 0, false
}

// longestReason is how many characters of a reason users read.
const longestReason = 200

// reason returns the cloud's reason for a refusal on one line.
func (r *response) reason() string {
	text := said(r.value(), 0)
	if plain := strings.TrimSpace(string(r.body)); text == "" && plain != "" && !strings.ContainsRune("<{[", rune(plain[0])) {
		text = plain
	}
	text = oneLine(text)
	if text == "" {
		return fmt.Sprintf("status %d", r.status)
	}
	return fmt.Sprintf("%s (status %d)", text, r.status)
}

// speaking lists the fields with error messages in common APIs, the most probable first.
var speaking = []string{"message", "detail", "error_description", "description", "reason", "title", "error", "msg"}

// said finds the sentence in an answer: in one of the usual fields, or in an object that is all there is around it.
func said(value any, depth int) string {
	object, ok := value.(map[string]any)
	if !ok || depth > 2 {
		return ""
	}
	for _, name := range speaking {
		if text, ok := object[name].(string); ok && text != "" {
			return text
		}
	}
	for _, name := range append([]string{"error", "errors"}, keys(object)...) {
		inner := object[name]
		if list, ok := inner.([]any); ok && len(list) > 0 {
			inner = list[0]
		}
		if text := said(inner, depth+1); text != "" {
			return text
		}
	}
	return ""
}

// keys returns the only key of an object.
func keys(object map[string]any) []string {
	if len(object) != 1 {
		return nil
	}
	for name := range object {
		return []string{name}
	}
	return nil
}

// oneLine shortens a text and removes non-printable characters.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > longestReason {
		return string(runes[:longestReason]) + "…"
	}
	return text
}
