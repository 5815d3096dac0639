// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// generated are the Secrets with the CA and the certificate that the first program with ordinary options has generated.
var generated []corev1.Secret

// isOrdinary reports whether the certificates of another program fit, because nothing about certificates or namespaces
// is special. A program for which they do not fit generates its own.
func (o programOptions) isOrdinary() bool {
	return o.Namespace == "" && o.Before == nil && o.Beside == nil
}

// keepCertificates keeps the certificates of the first ordinary program.
func keepCertificates(ctx context.Context, namespace string) {
	GinkgoHelper()
	if generated != nil {
		return
	}
	list := &corev1.SecretList{}
	Expect(land.Client().List(ctx, list, client.InNamespace(namespace),
		client.MatchingLabels{"managed-by": "secrets-manager"})).To(Succeed())
	Expect(list.Items).NotTo(BeEmpty(), "Secrets with certificates")
	generated = list.Items
}

// reuseCertificates creates the kept certificates in the namespace of another program, as if it was started again. Two
// RSA keys take more CPU time than everything else at the start of a program.
func reuseCertificates(ctx context.Context, namespace string) {
	GinkgoHelper()
	for i := range generated {
		secret := generated[i].DeepCopy()
		secret.ObjectMeta = metav1.ObjectMeta{
			Namespace: namespace, Name: secret.Name, Labels: secret.Labels, Annotations: secret.Annotations,
		}
		Expect(land.Client().Create(ctx, secret)).To(Succeed(), "copying the Secret %s", secret.Name)
	}
}
