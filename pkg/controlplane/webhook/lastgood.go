// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/profile"
	"github.com/graft-provider/gardener-extension-provider-graft/pkg/source"
)

const (
	// LastGoodLabel marks, with the value "true", the ConfigMaps in the program's namespace with last valid
	// versions of profiles.
	LastGoodLabel = "graft.provider.extensions.gardener.cloud/last-good"
	// SourceAnnotation has the file, or the key of a ConfigMap, of the stored version.
	SourceAnnotation = "graft.provider.extensions.gardener.cloud/source"
	// DigestAnnotation identifies the version.
	DigestAnnotation = "graft.provider.extensions.gardener.cloud/digest"

	// versionKey is the key of the version in a ConfigMap.
	versionKey = "version.json.gz"
	// maxKeptBytes limits a compressed version: a ConfigMap has at most 1 MiB (k8s.io/kubernetes:
	// pkg/apis/core/types.go, MaxSecretSize).
	maxKeptBytes = 1<<20 - 16<<10
	// maxVersionBytes limits an uncompressed version, in bytes, against a ConfigMap that decompresses to much more.
	maxVersionBytes = 32 << 20
)

// LastGood stores the last valid version of each file of profiles in a ConfigMap in the program's namespace, so
// that it survives restarts. All replicas restore it, and the leader writes it. A version is compiled again
// before it is active.
type LastGood struct {
	// Client writes and deletes. Reader lists without a cache.
	Client client.Client
	Reader client.Reader
	// Namespace is the program's namespace. Name is the prefix of the ConfigMaps' names.
	Namespace, Name string
	Store           *Store
	Log             logr.Logger
}

// kept is a stored version.
type kept struct {
	Data        []byte            `json:"data"`
	Attachments map[string][]byte `json:"attachments,omitempty"`
	Parameters  []byte            `json:"parameters,omitempty"`
}

// Restore loads the stored versions into the store, before the first Load. It logs and skips unreadable
// versions. It fails if the ConfigMaps cannot be listed.
func (l *LastGood) Restore(ctx context.Context) error {
	records, err := l.list(ctx)
	if err != nil {
		return err
	}
	good := map[string]*version{}
	for i := range records {
		name := records[i].Annotations[SourceAnnotation]
		v, err := unpack(&records[i])
		if err != nil {
			l.Log.Error(err, "The stored last valid version of a profile cannot be read and is ignored", "source", name, "configMap", records[i].Name)
			continue
		}
		good[name] = v
	}
	l.Store.restore(good)
	return nil
}

// Sync writes the active versions, and deletes those of removed files and ConfigMaps. It fails with the errors of all
// ConfigMaps that could not be written or deleted.
func (l *LastGood) Sync(ctx context.Context) error {
	records, err := l.list(ctx)
	if err != nil {
		return err
	}
	there := map[string]*corev1.ConfigMap{}
	for i := range records {
		there[records[i].Name] = &records[i]
	}
	var problems []error
	for _, status := range l.Store.Statuses() {
		name := l.nameOf(status.Source)
		if current := there[name]; status.served != nil {
			problems = append(problems, l.keep(ctx, status, current))
		}
		delete(there, name)
	}
	for _, gone := range there {
		problems = append(problems, client.IgnoreNotFound(l.Client.Delete(ctx, gone)))
	}
	return errors.Join(problems...)
}

func (l *LastGood) list(ctx context.Context) ([]corev1.ConfigMap, error) {
	list := &corev1.ConfigMapList{}
	if err := l.Reader.List(ctx, list, client.InNamespace(l.Namespace), client.MatchingLabels{LastGoodLabel: "true"}); err != nil {
		return nil, fmt.Errorf("listing the last valid versions of profiles: %w", err)
	}
	return list.Items, nil
}

// nameOf returns the name of the ConfigMap for a source.
func (l *LastGood) nameOf(source string) string {
	sum := sha256.Sum256([]byte(source))
	return l.Name + "-last-good-" + hex.EncodeToString(sum[:6])
}

// keep writes the version of a status if another one is stored; current may be nil. It does not store a version
// that is too large, and then deletes the previous one, which is no longer the last valid one.
func (l *LastGood) keep(ctx context.Context, status Status, current *corev1.ConfigMap) error {
	digest := status.served.digest()
	if current != nil && current.Annotations[DigestAnnotation] == digest {
		return nil
	}
	data, err := pack(status.served)
	if err != nil {
		return err
	}
	if len(data) > maxKeptBytes {
		l.Log.Error(nil, "The last valid version of a profile is too large to be stored for a restart: use smaller files, or an image of profiles", "source", status.Source,
			"profile", status.name(), "compressedBytes", len(data), "limit", maxKeptBytes)
		if current != nil {
			return client.IgnoreNotFound(l.Client.Delete(ctx, current))
		}
		return nil
	}
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: l.nameOf(status.Source)}}
	if current != nil {
		record = current.DeepCopy()
	}
	record.Labels = map[string]string{LastGoodLabel: "true"}
	record.Annotations = map[string]string{SourceAnnotation: status.Source, DigestAnnotation: digest}
	record.BinaryData = map[string][]byte{versionKey: data}
	if current == nil {
		err = l.Client.Create(ctx, record)
	} else {
		err = l.Client.Update(ctx, record)
	}
	if err != nil {
		return fmt.Errorf("keeping the last valid version of %s: %w", status.Source, err)
	}
	return nil
}

// pack compresses a version.
func pack(v *version) ([]byte, error) {
	k := kept{Data: v.file.Data, Attachments: v.file.Attachments}
	if len(v.parameters) > 0 {
		k.Parameters = v.parameters.YAML()
	}
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	if err := errors.Join(json.NewEncoder(compressed).Encode(k), compressed.Close()); err != nil {
		return nil, fmt.Errorf("packing the last valid version of a profile: %w", err)
	}
	return out.Bytes(), nil
}

// unpack decodes a stored version and verifies its digest.
func unpack(record *corev1.ConfigMap) (*version, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(record.BinaryData[versionKey]))
	if err != nil {
		return nil, fmt.Errorf("unpacking %s: %w", versionKey, err)
	}
	data, err := io.ReadAll(io.LimitReader(compressed, maxVersionBytes+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking %s: %w", versionKey, err)
	}
	if len(data) > maxVersionBytes {
		return nil, fmt.Errorf("unpacking %s: it is larger than %d bytes", versionKey, maxVersionBytes)
	}
	var k kept
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", versionKey, err)
	}
	v := &version{file: source.File{Name: record.Annotations[SourceAnnotation], Data: k.Data, Attachments: k.Attachments}}
	if len(k.Parameters) > 0 {
		if v.parameters, err = profile.ParseParameters(source.File{Name: v.file.Name + " (last valid parameters)", Data: k.Parameters}); err != nil {
			return nil, err
		}
	}
	if digest := v.digest(); digest != record.Annotations[DigestAnnotation] {
		return nil, fmt.Errorf("its digest is %s, but the recorded one is %s", digest, record.Annotations[DigestAnnotation])
	}
	return v, nil
}
