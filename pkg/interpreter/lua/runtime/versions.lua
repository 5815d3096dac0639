-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- is_version_number reports whether a string is a number without leading zeros.
local function is_version_number(value)
  return value == "0" or string.find(value, "^[1-9]%d*$") ~= nil
end

-- version_parts splits the pre-release or build part of a version, or returns nil if it is invalid.
local function version_parts(value, numbered)
  local parts = split(value, ".")
  for _, part in ipairs(parts) do
    if not string.find(part, "^[%w-]+$") or numbered and string.find(part, "^%d+$") and not is_version_number(part) then
      return nil
    end
  end
  return parts
end

-- read_version parses a semantic version, or returns nil.
local function read_version(value)
  local major, minor, rest = string.match(string_in(value), "^(%d+)%.(%d+)%.(.*)$")
  local patch, before, build = string.match(rest or "", "^(%d+)([^+]*)(.*)$")
  if not patch or not is_version_number(major) or not is_version_number(minor) or not is_version_number(patch) then
    return nil
  end
  local read = {exact(tonumber(major)), exact(tonumber(minor)), exact(tonumber(patch)), before = {}}
  if before ~= "" then
    read.before = string.sub(before, 1, 1) == "-" and version_parts(string.sub(before, 2), true)
  end
  if not read.before or build ~= "" and not version_parts(string.sub(build, 2), false) then
    return nil
  end
  return read
end

-- normalized completes and simplifies a version: v1.02 becomes 1.2.0.
local function normalized(value)
  local parts = split(string.match(string_in(value), "^v?(.*)$"), ".")
  while #parts > 3 do
    parts[3] = parts[3] .. "." .. table.remove(parts, 4)
  end
  for i, part in ipairs(parts) do
    if #part > 1 then
      part = string.match(part, "^0*(.*)$")
      parts[i] = (string.find(part, "^%d") and "" or "0") .. part
    end
  end
  if #parts < 3 and string.find(parts[#parts], "[+-]") then
    return ""
  end
  while #parts < 3 do
    parts[#parts + 1] = "0"
  end
  return table.concat(parts, ".")
end

-- is_version reports whether a string is a semantic version.
local function is_version(value)
  return read_version(value) ~= nil
end

-- version parses a semantic version, or fails.
local function version(value)
  local read = read_version(value)
  return check(read, read)
end

-- compare_version_parts is compare for pre-release parts: numbers come before strings.
local function compare_version_parts(a, b)
  local x, y = string.find(a, "^%d+$") and tonumber(a), string.find(b, "^%d+$") and tonumber(b)
  if x and y then
    return compare(x, y)
  elseif x or y then
    return x and -1 or 1
  end
  return compare(a, b)
end

-- compare_versions is compare for semantic versions.
local function compare_versions(a, b)
  for i = 1, 3 do
    if a[i] ~= b[i] then
      return compare(a[i], b[i])
    end
  end
  if #a.before == 0 or #b.before == 0 then
    return compare(#b.before, #a.before) == 0 and 0 or (#a.before == 0 and 1 or -1)
  end
  for i = 1, math.min(#a.before, #b.before) do
    local order = compare_version_parts(a.before[i], b.before[i])
    if order ~= 0 then
      return order
    end
  end
  return compare(#a.before, #b.before)
end
