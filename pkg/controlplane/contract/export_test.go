// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package contract

// ProtectKubelet compares everything, without the quick comparison of usual objects.
var ProtectKubelet = protectKubelet
