-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- child returns the value at a key, or nil.
local function child(value, key)
  if type(value) ~= "table" then
    return nil
  elseif value[1] ~= nil then
    error("there is a list where an object must be", 0)
  end
  return value[key]
end
