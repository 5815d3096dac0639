// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package file

// Check runs the check that Open begins with.
func Check(path string) error {
	_, err := check(path)
	return err
}
