// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Secret is a Store in a cluster that replicas share. It needs the permissions get, create and update.
type Secret struct {
	Client          corev1client.SecretsGetter
	Namespace, Name string
}

// String implements Store.
func (s *Secret) String() string { return "the Secret " + s.Namespace + "/" + s.Name }

// Read implements Store.
func (s *Secret) Read(ctx context.Context) (Stored, error) {
	secret, err := s.Client.Secrets(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Stored{}, nil
	case err != nil:
		return Stored{}, err
	}
	return Stored{secret.Data, secret.ResourceVersion}, nil
}

// Write implements Store. It keeps foreign keys of the Secret.
func (s *Secret) Write(ctx context.Context, data map[string][]byte, version string) error {
	var err error
	if version == "" {
		_, err = s.Client.Secrets(s.Namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.Namespace, Name: s.Name, Labels: map[string]string{"app.kubernetes.io/managed-by": "graft-resource-interpreter"},
			},
			Data: data,
		}, metav1.CreateOptions{})
	} else {
		err = s.update(ctx, data, version)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) && version != "" {
		return ErrConflict
	}
	return err
}

func (s *Secret) update(ctx context.Context, data map[string][]byte, version string) error {
	secret, err := s.Client.Secrets(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, key := range []string{
		keyServing, keyServingKey, KeyBundle, keyAuthority, keyAuthorityKey, keyNext, keyNextKey, keyRetired, keyTimes,
	} {
		delete(secret.Data, key)
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, data)
	secret.ResourceVersion = version
	_, err = s.Client.Secrets(s.Namespace).Update(ctx, secret, metav1.UpdateOptions{})
	return err
}
