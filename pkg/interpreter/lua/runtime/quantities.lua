-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- quantity_sum returns the sum of quantities, computed by Karmada.
local function quantity_sum(...)
  for _, part in ipairs({...}) do
    string_in(part)
  end
  return require("kube").resourceAdd(...)
end

-- is_quantity reports whether a string is a quantity.
local function is_quantity(value)
  return (pcall(quantity_sum, string_in(value)))
end

-- amount returns a quantity as a number.
local function amount(value)
  local number, suffix = string.match(quantity_sum(value), "^([+-]?[%d.]+)(.*)$")
  local digits = #string.match(number, "^[+-]?0*([%d.]*)$")
  check(digits <= 15)
  number = tonumber(number)
  local parts = {n = 1000000000, u = 1000000, m = 1000}
  local times = {[""] = 1, k = 1e3, M = 1e6, G = 1e9, T = 1e12, P = 1e15, E = 1e18,
    Ki = 1024, Mi = 1024 ^ 2, Gi = 1024 ^ 3, Ti = 1024 ^ 4, Pi = 1024 ^ 5, Ei = 1024 ^ 6}
  if parts[suffix] then
    return number / parts[suffix]
  elseif times[suffix] then
    return number * times[suffix]
  end
  local power = tonumber(string.sub(suffix, 2))
  return power < 0 and number / 10 ^ -power or number * 10 ^ power
end

-- compare_quantities is compare for quantities.
local function compare_quantities(a, b)
  return compare(amount(a), amount(b))
end
