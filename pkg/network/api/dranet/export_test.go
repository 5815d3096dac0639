// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

// NewPatient is New with another patience.
var NewPatient = newHandler
