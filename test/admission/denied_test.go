// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// secretValue is the value of looked-up Secrets; it must appear only in objects that rules write it into.
const secretValue = "s3cr3t-0f-the-cl0ud"

// expectDenied holds the error that a client gets: its code and parts of its message, and that it has no value of a Secret.
func expectDenied(t *testing.T, err error, code int32, parts ...string) {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatalf("the error is %v, want that the API server denies", err)
	}
	if got := status.Status().Code; got != code {
		t.Errorf("the code is %d, want %d: %v", got, code, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), secretValue) {
		t.Errorf("the message has the value of a Secret: %v", err)
	}
}
