// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/graft-provider/gardener-extension-provider-graft/pkg/disk"
)

// counter keeps the number of commits outside the data file. A data file with fewer commits is an older copy, or lost its newest page.
// The number is written after each transaction and before its callers are answered, in turn into one of two slots: a write that a crash
// tears leaves the other slot.
type counter struct {
	file  *os.File
	value uint64
}

// slotBytes is the length of a slot: the number and its checksum. slotGap keeps the slots in different sectors.
const (
	slotBytes = 16
	slotGap   = 4096
)

// createCounter creates the file of a counter, durably, and returns 0. It returns the number of a counter that exists.
func createCounter(path string) (uint64, error) {
	existing, err := openCounter(path, true)
	if err == nil {
		return existing.value, existing.file.Close()
	}
	if _, missing := os.Lstat(path); !errors.Is(missing, os.ErrNotExist) {
		return 0, err
	}
	slots := make([]byte, 2*slotGap)
	copy(slots, encodeSlot(0))
	if err := disk.Replace(path, slots, 0o600); err != nil {
		return 0, err
	}
	return 0, syncFolder(filepath.Dir(path))
}

// openCounter reads a counter. The error wraps ErrDamaged if the file is missing or neither slot is readable.
func openCounter(path string, readOnly bool) (*counter, error) {
	flags := os.O_RDWR | syscall.O_DSYNC
	if readOnly {
		flags = os.O_RDONLY
	}
	opened, err := os.OpenFile(path, flags, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, damaged("%s is missing", counterFile)
	}
	if err != nil {
		return nil, err
	}
	c, readable := &counter{file: opened}, false
	for _, offset := range []int64{0, slotGap} {
		var slot [slotBytes]byte
		if _, err := opened.ReadAt(slot[:], offset); err != nil && !errors.Is(err, io.EOF) {
			return nil, errors.Join(err, opened.Close())
		}
		if value, ok := decodeSlot(slot); ok {
			c.value, readable = max(c.value, value), true
		}
	}
	if !readable {
		return nil, errors.Join(damaged("%s is not as it was written", counterFile), opened.Close())
	}
	return c, nil
}

func decodeSlot(slot [slotBytes]byte) (uint64, bool) {
	return binary.LittleEndian.Uint64(slot[:]), binary.LittleEndian.Uint64(slot[8:]) == checksum([]byte(counterFile), slot[:8])
}

func encodeSlot(value uint64) []byte {
	raw := binary.LittleEndian.AppendUint64(nil, value)
	return binary.LittleEndian.AppendUint64(raw, checksum([]byte(counterFile), raw))
}

// write makes a number durable: the file is open with O_DSYNC.
func (c *counter) write(value uint64) error {
	if _, err := c.file.WriteAt(encodeSlot(value), int64(value%2)*slotGap); err != nil {
		return err
	}
	c.value = value
	return nil
}
