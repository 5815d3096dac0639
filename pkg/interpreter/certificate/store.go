// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
)

// Store keeps issued certificates for all replicas.
type Store interface {
	// Read returns the stored data. Data is empty if nothing is stored.
	Read(ctx context.Context) (Stored, error)
	// Write replaces the data if its version is still the given one. Otherwise it returns ErrConflict.
	Write(ctx context.Context, data map[string][]byte, version string) error
	fmt.Stringer // for people
}

// Stored is the content of a store. Version is empty if nothing is stored.
type Stored struct {
	Data    map[string][]byte
	Version string
}

// ErrConflict means that another program changed the store since it was read.
var ErrConflict = errors.New("the store was changed by another program since it was read")

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
	secrets := s.Client.Secrets(s.Namespace)
	var err error
	if version == "" {
		labels := map[string]string{"app.kubernetes.io/managed-by": "graft-resource-interpreter"}
		head := metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: labels}
		_, err = secrets.Create(ctx, &corev1.Secret{ObjectMeta: head, Data: data}, metav1.CreateOptions{})
	} else {
		var secret *corev1.Secret
		if secret, err = secrets.Get(ctx, s.Name, metav1.GetOptions{}); err == nil {
			secret.ResourceVersion = version
			if secret.Data == nil {
				secret.Data = map[string][]byte{}
			}
			maps.Copy(secret.Data, data)
			_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
		}
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) && version != "" {
		return ErrConflict
	}
	return err
}

// Folder is a Store in a directory that the programs of one machine share, as replicas share a Secret. It also
// writes ca.crt for the callers.
type Folder struct{ Path string }

const folderFile = "certificates.json"

// String implements Store.
func (f *Folder) String() string { return "the folder " + f.Path }

// Read implements Store. The version is the whole content.
func (f *Folder) Read(context.Context) (Stored, error) {
	text, err := disk.ReadInside(f.Path, folderFile, disk.CertificateSize)
	if errors.Is(err, fs.ErrNotExist) {
		return Stored{}, nil
	}
	if err != nil {
		return Stored{}, err
	}
	stored := Stored{Version: string(text)}
	if err := json.Unmarshal(text, &stored.Data); err != nil {
		return Stored{}, fmt.Errorf("%s is damaged; delete it to issue new certificates", folderFile)
	}
	return stored, nil
}

// Write implements Store. It locks the folder, and writes ca.crt first, so that callers trust the served
// certificate even if the program ends halfway.
func (f *Folder) Write(ctx context.Context, data map[string][]byte, version string) error {
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return err
	}
	folder, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }() // ends the lock
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	now, err := f.Read(ctx)
	switch {
	case err != nil:
		return err
	case now.Version != version:
		return ErrConflict
	}
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if err := disk.Replace(filepath.Join(f.Path, KeyBundle), data[KeyBundle], 0o644); err != nil {
		return err
	}
	return disk.Replace(filepath.Join(f.Path, folderFile), text, 0o600)
}
