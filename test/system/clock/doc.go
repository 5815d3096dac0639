// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

// Package clock tests admissions while the clock of the machine jumps beyond the validity of certificates, and back.
// The extension, etcd and kube-apiserver run in a guest of user-mode Linux, which has its own clock. The test writes
// objects all the time. No object may be stored without the changes of its provider, and admissions must succeed again
// soon. Like a kubelet, the test restarts the extension when its probe fails.
//
// The certificates of the kube-apiserver are valid for ten years, because they are not the subject. The build tag is
// system.
package clock
