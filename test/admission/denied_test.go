// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// secretValue is the value of looked-up Secrets; it must appear only in objects that rules write it into.
const secretValue = "s3cr3t-0f-the-cl0ud"

// expectDenied holds the error that a client gets: its code and parts of its message, and that it has no value of a
// Secret.
func expectDenied(err error, code int32, parts ...string) {
	GinkgoHelper()
	var status apierrors.APIStatus
	Expect(errors.As(err, &status)).To(BeTrue(), "the error of the API server: %v", err)
	Expect(status.Status().Code).To(Equal(code), "the code of the denial")
	for _, part := range parts {
		Expect(err.Error()).To(ContainSubstring(part), "the message of the denial")
	}
	Expect(err.Error()).NotTo(ContainSubstring(secretValue),
		"the message of the denial, which must not have the value of a Secret")
}
