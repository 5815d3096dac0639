// SPDX-FileCopyrightText: The Graft authors
//
// SPDX-License-Identifier: Apache-2.0

package dranet

import (
	"context"
	"errors"
)

// release releases the allocation of a device of a claim. It ignores unknown devices, because they were released
// before. It requires only the claim and some name of the device; it does not check the configuration, because DRANET
// has extended it since.
func (h *handler) release(ctx context.Context, r *request) error {
	uid, err := r.uid()
	if err == nil {
		err = checkDevice(r.Device)
	}
	if err != nil {
		return err
	}
	unlock, err := h.claims.Lock(ctx, uid)
	if err != nil {
		return err
	}
	defer unlock()
	held, err := h.Service.Owned(ctx, ownerOf(uid+"/"))
	if err != nil {
		return err
	}
	by := search{who: identify(r.Device), addresses: addresses(r.listed())}
	found := by.released(candidates(held))
	if key, unknown := by.key(uid); len(found) == 0 && unknown == nil {
		return h.Service.Release(ctx, ownerOf(key)) // a request that is under way must not allocate it later
	}
	var problems []error
	for _, c := range found {
		problems = append(problems, h.Service.Release(ctx, c.owner))
	}
	return errors.Join(problems...)
}
