-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- copy returns a deep copy. Karmada rejects a table that is used in two places.
local function copy(value)
  if type(value) ~= "table" then
    return value
  end
  local copied = {}
  for key, member in pairs(value) do
    copied[key] = copy(member)
  end
  return copied
end
