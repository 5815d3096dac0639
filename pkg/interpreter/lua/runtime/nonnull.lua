-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- copy returns a deep copy. Karmada rejects a table that is used in two places.
local function copy(v)
  if type(v) ~= "table" then
    return v
  end
  local copied = {}
  for k, member in pairs(v) do
    copied[k] = copy(member)
  end
  return copied
end
