-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- get returns the value at keys, or the default. It fails if there is a list where an object must be.
local function get(d, v, k, ...)
  if k == nil then
    return v
  elseif type(v) ~= "table" or check(v[1] == nil) or v[k] == nil then
    return d
  end
  return get(d, v[k], ...)
end
