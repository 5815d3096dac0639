// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"crypto/tls"
	"slices"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
)

// CertificateFiles are the files of a certificate that another program writes, such as cert-manager.
type CertificateFiles struct {
	// CertFile and KeyFile contain the certificate and its key. CAFile contains authorities. The pair and CAFile may be empty.
	CertFile, KeyFile, CAFile string

	accepted [][]byte
}

// Load calls use with the certificate and the content of CAFile, unless use has already accepted this content of the
// files. It fails if a file is unreadable, if certificate and key do not match, and with the error of use. Calls must
// not overlap.
func (f *CertificateFiles) Load(use func(pair tls.Certificate, authorities []byte) error) error {
	contents := make([][]byte, 3)
	for i, name := range []string{f.CertFile, f.KeyFile, f.CAFile} {
		if name == "" {
			continue
		}
		var err error
		if contents[i], err = disk.ReadFile(name, disk.CertificateSize); err != nil {
			return err
		}
	}
	if slices.EqualFunc(contents, f.accepted, bytes.Equal) {
		return nil
	}
	var pair tls.Certificate
	var err error
	if f.CertFile != "" || f.KeyFile != "" {
		pair, err = tls.X509KeyPair(contents[0], contents[1])
	}
	if err == nil {
		err = use(pair, contents[2])
	}
	if err == nil { // otherwise they are read again next time: another file may be corrected by then
		f.accepted = contents
	}
	return err
}
