-- SPDX-FileCopyrightText: The Graft authors
--
-- SPDX-License-Identifier: Apache-2.0

-- null is what an expression writes so: no field of an object that Karmada hands over is.
local function null() end

-- none is what is absent.
local function none() end

-- fail refuses to answer.
local function fail(message)
  error(message, 0)
end

-- is_list says whether a value is a list. Karmada hands over empty lists and empty objects alike: such a table is both.
local function is_list(value)
  return type(value) == "table" and (value[1] ~= nil or next(value) == nil)
end

-- is_map says whether a value is an object.
local function is_map(value)
  return type(value) == "table" and value[1] == nil
end

-- find is what stands below a value at keys and positions, or none.
local function find(value, ...)
  for _, key in ipairs({...}) do
    if type(value) ~= "table" then
      return none
    end
    if type(key) == "number" then
      key = key + 1
    elseif value[1] ~= nil then
      fail("there is a list where an object must be")
    end
    value = value[key]
    if value == nil then
      return none
    end
  end
  return value
end

-- has says whether a value has a field.
local function has(value, key)
  return find(value, key) ~= none
end

-- at is what stands below a value at keys, which must be there.
local function at(value, ...)
  for _, key in ipairs({...}) do
    value = find(value, key)
    if value == none then
      fail("there is no " .. key)
    end
  end
  return value
end

-- index is what stands in a value at a key or a position that was computed, which must be there.
local function index(value, key)
  local found = find(value, key)
  if found == none then
    fail("there is no such key")
  end
  return found
end

-- get is what stands below a value at keys and positions, or else the default.
local function get(default, ...)
  local found = find(...)
  if found == none then
    return default
  end
  return found
end

-- or_else is a value that may be absent, or else what is computed.
local function or_else(value, default)
  if value == none then
    return default()
  end
  return value
end

-- present is a value that may be absent, and must not be.
local function present(value)
  if value == none then
    fail("optional.none() dereference")
  end
  return value
end

-- non_zero is a value, or none where it is empty.
local function non_zero(value)
  if value == null or value == 0 or value == "" or value == false or type(value) == "table" and next(value) == nil then
    return none
  end
  return value
end

-- bool is a condition, which must be true or false.
local function bool(value)
  if type(value) ~= "boolean" then
    fail("no such overload")
  end
  return value
end

-- all_of says whether all conditions hold. One that is false decides, whatever fails beside it.
local function all_of(...)
  local failed
  for _, condition in ipairs({...}) do
    local done, held = pcall(condition)
    if done and held == false then
      return false
    elseif not done or held ~= true then
      failed = failed or not done and held or "no such overload"
    end
  end
  if failed then
    error(failed, 0)
  end
  return true
end

-- any_of says whether a condition holds. One that is true decides, whatever fails beside it.
local function any_of(...)
  local failed
  for _, condition in ipairs({...}) do
    local done, held = pcall(condition)
    if done and held == true then
      return true
    elseif not done or held ~= false then
      failed = failed or not done and held or "no such overload"
    end
  end
  if failed then
    error(failed, 0)
  end
  return false
end

-- pick computes one of two values.
local function pick(condition, yes, no)
  if condition then
    return yes()
  end
  return no()
end

-- items are the items of a list, or the keys of an object.
local function items(value)
  if is_list(value) then
    return value
  elseif not is_map(value) then
    fail("no such overload")
  end
  local keys = {}
  for key in pairs(value) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end

-- all says whether a condition holds for all items. One for which it is false decides, whatever fails beside it.
local function all(value, holds)
  local failed
  for _, item in ipairs(items(value)) do
    local done, held = pcall(holds, item)
    if done and held == false then
      return false
    elseif not done or held ~= true then
      failed = failed or not done and held or "no such overload"
    end
  end
  if failed then
    error(failed, 0)
  end
  return true
end

-- exists says whether a condition holds for an item. One for which it is true decides, whatever fails beside it.
local function exists(value, holds)
  local failed
  for _, item in ipairs(items(value)) do
    local done, held = pcall(holds, item)
    if done and held == true then
      return true
    elseif not done or held ~= false then
      failed = failed or not done and held or "no such overload"
    end
  end
  if failed then
    error(failed, 0)
  end
  return false
end

-- exists_one says whether a condition holds for exactly one item.
local function exists_one(value, holds)
  local count = 0
  for _, item in ipairs(items(value)) do
    if bool(holds(item)) then
      count = count + 1
    end
  end
  return count == 1
end

-- filter are the items for which a condition holds.
local function filter(value, holds)
  local kept = {}
  for _, item in ipairs(items(value)) do
    if bool(holds(item)) then
      kept[#kept + 1] = item
    end
  end
  return kept
end

-- map is what is computed of each item.
local function map(value, of)
  local made = {}
  for _, item in ipairs(items(value)) do
    made[#made + 1] = of(item)
  end
  return made
end

-- list is a value that must be a list.
local function list(value, place)
  if not is_list(value) then
    fail(place .. ": what it gives is no list")
  end
  return value
end

-- equal says whether two values are.
local function equal(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b
  end
  for key, value in pairs(a) do
    if b[key] == nil or not equal(value, b[key]) then
      return false
    end
  end
  for key in pairs(b) do
    if a[key] == nil then
      return false
    end
  end
  return true
end

-- compare is negative, 0 or positive where a value is less than another, equal or greater.
local function compare(a, b)
  if type(a) == "boolean" and type(b) == "boolean" then
    a, b = a and 1 or 0, b and 1 or 0
  elseif type(a) ~= type(b) or type(a) ~= "number" and type(a) ~= "string" then
    fail("no such overload")
  end
  if a < b then
    return -1
  elseif a > b then
    return 1
  end
  return 0
end

-- extreme_item is the item of a list that stands first in an order; those that cannot be compared with the best are left out.
local function extreme_item(value, direction)
  local best
  for _, item in ipairs(list(value, "a list")) do
    if type(item) == "table" or type(item) == "function" then
      fail("no such overload")
    end
    local done, order = pcall(compare, item, best)
    if best == nil or done and order == direction then
      best = item
    end
  end
  if best == nil then
    fail("called on empty list")
  end
  return best
end

-- max_item is the largest item of a list.
local function max_item(value)
  return extreme_item(value, 1)
end

-- min_item is the smallest item of a list.
local function min_item(value)
  return extreme_item(value, -1)
end

-- given are the fields of an object that are not absent.
local function given(value)
  for key, member in pairs(value) do
    if member == none then
      value[key] = nil
    end
  end
  return value
end

-- given_items are the items of a list that are not absent.
local function given_items(value)
  local kept = {}
  for _, item in ipairs(value) do
    if item ~= none then
      kept[#kept + 1] = item
    end
  end
  return kept
end

-- contains says whether a value is in a list, or is a key of an object.
local function contains(container, value)
  if type(container) ~= "table" then
    fail("no such overload")
  end
  if is_map(container) then
    return type(value) ~= "function" and container[value] ~= nil
  end
  for _, item in ipairs(container) do
    if equal(item, value) then
      return true
    end
  end
  return false
end

-- runes are the characters of a text.
local function runes(text)
  if type(text) ~= "string" then
    fail("no such overload")
  end
  local found = {}
  for rune in string.gmatch(text, "[%z\1-\127\192-\255][\128-\191]*") do
    found[#found + 1] = rune
  end
  return found
end

-- size is how many characters a text, or items a list or an object has.
local function size(value)
  if type(value) == "string" then
    return #runes(value)
  end
  return #items(value)
end

-- is_whole says whether a number is.
local function is_whole(number)
  return number == math.floor(number)
end

-- exact is a whole number that Lua can count with: below 2^53.
local function exact(number)
  if number >= 9007199254740992 or number <= -9007199254740992 then
    fail("a number is too large for Lua")
  end
  return number
end

-- numbers are what is computed with: two whole numbers, or two that are not.
local function numbers(a, b)
  if type(a) ~= "number" or type(b) ~= "number" or is_whole(a) ~= is_whole(b) then
    fail("no such overload")
  end
end

-- concat is two lists behind each other.
local function concat(a, b)
  local joined = {}
  for _, item in ipairs(a) do
    joined[#joined + 1] = item
  end
  for _, item in ipairs(b) do
    joined[#joined + 1] = item
  end
  return joined
end

-- add is a sum, or two texts or lists behind each other.
local function add(a, b)
  if type(a) == "string" and type(b) == "string" then
    return a .. b
  elseif is_list(a) and is_list(b) then
    return concat(a, b)
  end
  numbers(a, b)
  return exact(a + b)
end

-- sum_items is the sum of a list of whole numbers.
local function sum_items(value)
  local sum = 0
  for _, item in ipairs(list(value, "sum")) do
    sum = add(sum, item)
  end
  return sum
end

-- sub is a difference.
local function sub(a, b)
  numbers(a, b)
  return exact(a - b)
end

-- mul is a product.
local function mul(a, b)
  numbers(a, b)
  return exact(a * b)
end

-- truncate takes what is behind the point of a number away.
local function truncate(number)
  if number < 0 then
    return math.ceil(number)
  end
  return math.floor(number)
end

-- div is a quotient: whole for whole numbers.
local function div(a, b)
  numbers(a, b)
  if not is_whole(a) then
    return a / b
  elseif b == 0 then
    fail("division by zero")
  end
  return truncate(a / b)
end

-- mod is what a division of whole numbers leaves.
local function mod(a, b)
  numbers(a, b)
  if not is_whole(a) then
    fail("no such overload")
  elseif b == 0 then
    fail("modulus by zero")
  end
  return a - truncate(a / b) * b
end

-- minus is a number with the other sign.
local function minus(number)
  if type(number) ~= "number" then
    fail("no such overload")
  end
  return -number
end

-- int makes a whole number of a number or of a text.
local function int(value)
  if type(value) == "string" and string.find(value, "^[+-]?%d+$") then
    return exact(tonumber((string.match(value, "^%+?(.*)$"))))
  elseif type(value) == "number" then
    return exact(truncate(value))
  end
  fail("int cannot take the value that it was given")
end

-- unsigned is a whole number that is not negative.
local function unsigned(number)
  if number < 0 then
    fail("unsigned integer overflow")
  end
  return number
end

-- double makes a number of a number or of a text.
local function double(value)
  if type(value) == "string" and (string.find(value, "^[+-]?%d+%.?%d*$") or string.find(value, "^[+-]?%.%d+$")) then
    return tonumber((string.match(value, "^%+?(.*)$")))
  elseif type(value) == "number" then
    return value
  end
  fail("double cannot take the value that it was given")
end

-- decimal writes a number as JSON does.
local function decimal(number)
  local digits_before, power = string.match(tostring(number), "^(.*)e%-0?(%d+)$")
  if is_whole(number) then
    return tostring(number)
  elseif math.abs(number) < 0.000001 then
    return digits_before .. "e-" .. power
  end
  for digits = 1, 20 do
    local written = string.format("%." .. digits .. "f", number)
    if tonumber(written) == number then
      return written
    end
  end
  return tostring(number)
end

-- string_of makes a text of a text, a number, true or false.
local function string_of(value)
  if type(value) == "table" or type(value) == "function" then
    fail("string cannot take the value that it was given")
  end
  return tostring(value)
end

-- text writes a value within a text.
local function text(value)
  if type(value) == "number" then
    return decimal(value)
  elseif type(value) == "table" or type(value) == "function" then
    fail("the value cannot be written as text")
  end
  return tostring(value)
end

-- string_in is a value that must be a text.
local function string_in(value)
  if type(value) ~= "string" then
    fail("no such overload")
  end
  return value
end

-- starts_with says whether a text begins with another.
local function starts_with(value, prefix)
  return string.sub(string_in(value), 1, #string_in(prefix)) == prefix
end

-- ends_with says whether a text ends with another.
local function ends_with(value, suffix)
  return #string_in(suffix) <= #string_in(value) and string.sub(value, #value - #suffix + 1) == suffix
end

-- includes says whether a text is in another.
local function includes(value, part)
  return string.find(string_in(value), string_in(part), 1, true) ~= nil
end

-- matches says whether one of some patterns of Lua matches a text.
local function matches(value, ...)
  for _, pattern in ipairs({...}) do
    if string.find(string_in(value), pattern) then
      return true
    end
  end
  return false
end

-- code_of is the number of a character.
local function code_of(rune)
  local first, code = string.byte(rune, 1, 1), nil
  if #rune == 1 then
    return first
  end
  code = first % 2 ^ (7 - #rune)
  for i = 2, #rune do
    code = code * 64 + string.byte(rune, i, i) % 64
  end
  return code
end

-- reached are the steps of an automaton that take a character, after those that are given; true where it has found what it is for.
local function reached(program, steps, first, last)
  local waiting, seen, taking = steps, {}, {}
  while #waiting > 0 do
    local number = table.remove(waiting)
    local step = program[number]
    if step[1] == "match" then
      return true
    elseif step[1] == "rune" and not seen[number] then
      taking[#taking + 1] = step
    elseif not seen[number] and (step[1] == "to" or step[1] == "first" and first or step[1] == "last" and last) then
      for i = 2, #step do
        waiting[#waiting + 1] = step[i]
      end
    end
    seen[number] = true
  end
  return taking
end

-- accepts says whether an automaton finds something in a text.
local function accepts(value, program)
  local found, steps = runes(value), {}
  for i = 1, #found + 1 do
    steps[#steps + 1] = program.start
    local taking = reached(program, steps, i == 1, i > #found)
    if taking == true or i > #found then
      return taking == true
    end
    local code = code_of(found[i])
    steps = {}
    for _, step in ipairs(taking) do
      for j = 3, #step, 2 do
        if code >= step[j] and code <= step[j + 1] then
          steps[#steps + 1] = step[2]
        end
      end
    end
  end
end

-- split takes a text apart.
local function split(value, separator)
  if separator == "" then
    return runes(value)
  end
  local parts, from = {}, 1
  while true do
    local first, last = string.find(string_in(value), string_in(separator), from, true)
    if not first then
      parts[#parts + 1] = string.sub(value, from)
      return parts
    end
    parts[#parts + 1] = string.sub(value, from, first - 1)
    from = last + 1
  end
end

-- join puts texts together.
local function join(value, separator)
  for _, item in ipairs(list(value, "join")) do
    string_in(item)
  end
  return table.concat(value, separator)
end

-- replace writes another text in place of each that is found.
local function replace(value, old, new)
  if old == "" then
    fail("replace needs a text that is replaced")
  end
  return table.concat(split(value, old), string_in(new))
end

-- substring is a part of a text, by the positions of characters.
local function substring(value, from, to)
  local found = runes(value)
  to = to or #found
  if from < 0 or to > #found or from > to then
    fail("index out of bounds")
  elseif from == to then
    return ""
  end
  return table.concat(found, "", from + 1, to)
end

-- char_at is a character of a text.
local function char_at(value, position)
  local found = runes(value)
  if position < 0 or position > #found then
    fail("index out of bounds")
  end
  return found[position + 1] or ""
end

-- index_of is the position of the first character at which a text is found in another, or -1.
local function index_of(value, part)
  local first = string.find(string_in(value), string_in(part), 1, true)
  if not first then
    return -1
  end
  return #runes(string.sub(value, 1, first - 1))
end

-- shift writes letters of ASCII in another case.
local function shift(value, first, last, by)
  local out = {}
  for i = 1, #string_in(value) do
    local byte = string.byte(value, i, i)
    if byte >= first and byte <= last then
      byte = byte + by
    end
    out[i] = string.char(byte)
  end
  return table.concat(out)
end

-- lower_ascii writes capital letters of ASCII as small ones.
local function lower_ascii(value)
  return shift(value, 65, 90, 32)
end

-- upper_ascii writes small letters of ASCII as capital ones.
local function upper_ascii(value)
  return shift(value, 97, 122, -32)
end

-- days_in is how many days a month has.
local function days_in(year, month)
  if month == 2 then
    return (year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)) and 29 or 28
  end
  return (month == 4 or month == 6 or month == 9 or month == 11) and 30 or 31
end

-- days_before is how many days there are from 1970 to a date.
local function days_before(year, month, day)
  local since = year
  if month <= 2 then
    since = since - 1
  end
  local era = math.floor(since / 400)
  local of_era = since - era * 400
  local of_year = math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year - 719468
end

-- is_date says whether a text is a date.
local function is_date(value)
  local year, month, day = string.match(value, "^(%d%d%d%d)%-(%d%d)%-(%d%d)$")
  if not year then
    return false
  end
  year, month, day = tonumber(year), tonumber(month), tonumber(day)
  return month >= 1 and month <= 12 and day >= 1 and day <= days_in(year, month)
end

-- is_datetime says whether a text is a date with a time, as format.datetime() does.
local function is_datetime(value)
  local parts = split(lower_ascii(value), "t")
  if #parts < 2 or not is_date(parts[1]) then
    return false
  end
  local hour, minute, second, rest = string.match(parts[2], "^(%d%d):(%d%d):(%d%d)(.*)$")
  if not hour or hour > "23" or minute > "59" or second > "59" then
    return false
  end
  return matches(rest, "^z$", "^[+-]%d%d:%d%d$", "^[^\n][\128-\191]*%d+z$", "^[^\n][\128-\191]*%d+[+-]%d%d:%d%d$")
end

-- offset_of is how many seconds a zone is ahead.
local function offset_of(zone)
  if zone == "Z" then
    return 0
  end
  local sign, hours, minutes = string.match(zone, "^([+-])(%d%d):(%d%d)$")
  if not sign or tonumber(hours) > 24 or tonumber(minutes) > 60 then
    return nil
  end
  return (sign == "-" and -1 or 1) * (tonumber(hours) * 3600 + tonumber(minutes) * 60)
end

-- timestamp reads a time of RFC 3339: seconds since 1970, nanoseconds, and how many seconds its zone is ahead.
local function timestamp(value)
  if type(value) == "number" then
    return {seconds = value, nanoseconds = 0, offset = 0}
  end
  local date, hour, minute, second, rest = string.match(string_in(value), "^(%d%d%d%d%-%d%d%-%d%d)T(%d%d?):(%d%d):(%d%d)(.*)$")
  local fraction, zone = string.match(rest or "", "^[.,](%d+)(.*)$")
  local offset = date and offset_of(zone or rest)
  if not offset or not is_date(date) or tonumber(hour) > 23 or tonumber(minute) > 59 or tonumber(second) > 59 then
    fail("timestamp cannot take the value that it was given")
  end
  local year, month, day = tonumber(string.sub(date, 1, 4)), tonumber(string.sub(date, 6, 7)), tonumber(string.sub(date, 9))
  local seconds = days_before(year, month, day) * 86400 + tonumber(hour) * 3600 + tonumber(minute) * 60 + tonumber(second) - offset
  if seconds < -62135596800 or seconds > 253402300799 then
    fail("timestamp overflow")
  end
  return {seconds = seconds, nanoseconds = tonumber(string.sub((fraction or "") .. "000000000", 1, 9)), offset = offset}
end

-- compare_times is compare for times.
local function compare_times(a, b)
  if a.seconds ~= b.seconds then
    return a.seconds - b.seconds
  end
  return a.nanoseconds - b.nanoseconds
end

-- date_of is the date that is some days after 1970.
local function date_of(days)
  days = days + 719468
  local era = math.floor(days / 146097)
  local of_era = days - era * 146097
  local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local shifted = math.floor((5 * of_year + 2) / 153)
  local month = shifted < 10 and shifted + 3 or shifted - 9
  return year + era * 400 + (month <= 2 and 1 or 0), month, of_year - math.floor((153 * shifted + 2) / 5) + 1
end

-- two writes a number with two digits.
local function two(number)
  return (number < 10 and "0" or "") .. tostring(number)
end

-- zone_of writes how many seconds a zone is ahead.
local function zone_of(offset)
  if offset == 0 then
    return "Z"
  end
  local minutes = math.floor(math.abs(offset) / 60)
  return (offset < 0 and "-" or "+") .. two(math.floor(minutes / 60)) .. ":" .. two(minutes % 60)
end

-- time_of writes a time as RFC 3339 has it.
local function time_of(value)
  local seconds, fraction = value.seconds + value.offset, ""
  local year, month, day = date_of(math.floor(seconds / 86400))
  local left = seconds % 86400
  if value.nanoseconds > 0 then
    fraction = "." .. string.match(string.sub(tostring(1000000000 + value.nanoseconds), 2), "^(.-)0*$")
  end
  local date = string.sub("000" .. tostring(year), -4) .. "-" .. two(month) .. "-" .. two(day)
  local time = two(math.floor(left / 3600)) .. ":" .. two(math.floor(left % 3600 / 60)) .. ":" .. two(left % 60)
  return date .. "T" .. time .. fraction .. zone_of(value.offset)
end

-- quantity_sum adds quantities up, as Karmada does.
local function quantity_sum(...)
  for _, part in ipairs({...}) do
    string_in(part)
  end
  return require("kube").resourceAdd(...)
end

-- is_quantity says whether a text is a quantity.
local function is_quantity(value)
  return (pcall(quantity_sum, string_in(value)))
end

-- amount is a quantity as a number.
local function amount(value)
  local number, suffix = string.match(quantity_sum(value), "^([+-]?[%d.]+)(.*)$")
  local digits = #string.match(number, "^[+-]?0*([%d.]*)$")
  if digits > 15 then
    fail("a quantity has too many digits for Lua")
  end
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

-- is_version_number says whether a text is a number without zeros before it.
local function is_version_number(value)
  return value == "0" or string.find(value, "^[1-9]%d*$") ~= nil
end

-- version_parts takes what stands behind a - or + in a version apart; nil where it is wrong.
local function version_parts(value, numbered)
  local parts = split(value, ".")
  for _, part in ipairs(parts) do
    if not string.find(part, "^[%w-]+$") or numbered and string.find(part, "^%d+$") and not is_version_number(part) then
      return nil
    end
  end
  return parts
end

-- read_version reads a semantic version; nil where a text is none.
local function read_version(value)
  local major, minor, rest = string.match(string_in(value), "^(%d+)%.(%d+)%.(.*)$")
  local patch, before, build = string.match(rest or "", "^(%d+)([^+]*)(.*)$")
  if not patch or not is_version_number(major) or not is_version_number(minor) or not is_version_number(patch) then
    return nil
  end
  local version = {exact(tonumber(major)), exact(tonumber(minor)), exact(tonumber(patch)), before = {}}
  if before ~= "" then
    version.before = string.sub(before, 1, 1) == "-" and version_parts(string.sub(before, 2), true)
  end
  if not version.before or build ~= "" and not version_parts(string.sub(build, 2), false) then
    return nil
  end
  return version
end

-- normalized is a version with what may be left out, and without what need not be there: v1.02 is 1.2.0.
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

-- is_version says whether a text is a semantic version.
local function is_version(value)
  return read_version(value) ~= nil
end

-- version reads a semantic version.
local function version(value)
  local read = read_version(value)
  if not read then
    fail("semver cannot take the value that it was given")
  end
  return read
end

-- compare_version_parts is compare for what stands behind a - in a version: numbers come before texts.
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

-- copy is a value that shares nothing with another: Karmada takes no table that stands in two places.
local function copy(value)
  if value == null then
    return nil
  elseif type(value) ~= "table" then
    return value
  end
  local copied = {}
  for key, member in pairs(value) do
    if type(key) == "number" and member == null then
      fail("a list that holds null cannot be handed to Karmada")
    end
    copied[key] = copy(member)
  end
  return copied
end

-- meant says whether an item is the one with a member: {"name", "a"}, and with true behind it only where the member is a text.
local function meant(item, step)
  if not is_map(item) then
    return false
  end
  local member = item[step[1]]
  return member == step[2] or not step[3] and (type(member) == "number" or type(member) == "boolean") and tostring(member) == step[2]
end

-- step_to is what stands one step below a value, and its key; nil where nothing does.
local function step_to(value, step)
  if type(value) ~= "table" then
    return nil
  elseif type(step) == "table" then
    for i, item in ipairs(value) do
      if meant(item, step) then
        return item, i
      end
    end
    return nil
  elseif type(step) == "string" and value[1] ~= nil then
    return nil
  end
  return value[step], step
end

-- follow is what stands at a path, nil where nothing does.
local function follow(value, path)
  for _, step in ipairs(path) do
    value = step_to(value, step)
  end
  return value
end

-- dotted writes a path.
local function dotted(path)
  local out = ""
  for i, step in ipairs(path) do
    if type(step) == "table" then
      out = out .. "[" .. step[1] .. "=" .. step[2] .. "]"
    elseif type(step) == "number" then
      out = out .. "[" .. step - 1 .. "]"
    else
      out = out .. (i > 1 and "." or "") .. step
    end
  end
  return out
end

-- take_away takes the place at a path away, and of items that are found by a member all that have it.
local function take_away(value, path)
  for i = 1, #path - 1 do
    value = step_to(value, path[i])
  end
  local last = path[#path]
  if type(value) ~= "table" then
    return
  elseif type(last) == "string" then
    if value[1] == nil then
      value[last] = nil
    end
    return
  end
  for i = #value, 1, -1 do
    if last == i or type(last) == "table" and meant(value[i], last) then
      table.remove(value, i)
    end
  end
end

-- keyed is a new item with the member by which it is found.
local function keyed(step)
  local value = step[2]
  if not step[3] then
    if value == "true" or value == "false" then
      value = value == "true"
    elseif string.find(value, "^-?[1-9]%d*$") and #value < 16 or value == "0" then
      value = tonumber(value)
    end
  end
  return {[step[1]] = value}
end

-- ensure is what stands one step below a value, made where it is missing.
local function ensure(value, path, i)
  local step, next_step = path[i], path[i + 1]
  local listed = type(next_step) ~= "string"
  local found = step_to(value, step)
  if found ~= nil then
    if listed and not is_list(found) or not listed and not is_map(found) then
      fail(dotted(path) .. ": on the way there is something else than " .. (listed and "a list" or "an object"))
    end
    return found
  elseif type(step) == "number" or type(step) == "table" and listed then
    fail(dotted(path) .. ": there is no such item")
  elseif type(step) == "table" then
    value[#value + 1] = keyed(step)
    return value[#value]
  end
  value[step] = {}
  return value[step]
end

-- put makes the place at a path a value; null and nil take it away.
local function put(root, path, value)
  value = copy(value)
  if value == nil then
    take_away(root, path)
    return
  end
  for i = 1, #path - 1 do
    root = ensure(root, path, i)
  end
  local last = path[#path]
  local _, key = step_to(root, last)
  if type(last) == "table" then
    root[key or #root + 1] = value
  elseif type(last) == "number" and root[last] == nil then
    fail(dotted(path) .. ": there is no such item")
  else
    root[last] = value
  end
end

-- reaches says that all items on the way are there.
local function reaches(value, path)
  for i = 1, #path - 1 do
    value = step_to(value, path[i])
    if value == nil and type(path[i]) ~= "string" then
      return false
    end
  end
  return true
end

-- retain keeps what the observed object has at a path, but in no item that the other has no longer.
local function retain(object, observed, path)
  local kept = follow(observed, path)
  if kept ~= nil and reaches(object, path) then
    put(object, path, kept)
  end
end

-- keep copies what a status has at a path.
local function keep(made, status, path)
  local value = follow(status, path)
  if value ~= nil then
    put(made, path, value)
  end
end

-- keep_all copies a whole status.
local function keep_all(made, status)
  if is_map(status) then
    for key, value in pairs(status) do
      made[key] = copy(value)
    end
  end
end

-- count is a number of replicas.
local function count(value, place)
  if type(value) ~= "number" then
    fail(place .. ": what it gives is no number")
  elseif not is_whole(value) or value < 0 or value > 2147483647 then
    fail(place .. ": what it gives is no whole number from 0 to 2147483647")
  end
  return value
end

-- unless_empty is a table, and nil where nothing is in it.
local function unless_empty(value)
  if next(value) == nil then
    return nil
  end
  return value
end

-- fits says whether a value has the form of another: "" is a text, 0 a whole number, a list holds one form for all items, a map one for each field, and
-- under * one for all others.
local function fits(value, form)
  if value == nil then
    return true
  elseif type(form) ~= "table" then
    return type(value) == type(form) and (form ~= 0 or is_whole(value))
  elseif type(value) ~= "table" then
    return false
  elseif form[1] ~= nil then
    for key, item in pairs(value) do
      if type(key) ~= "number" or not fits(item, form[1]) then
        return false
      end
    end
    return true
  end
  for key, member in pairs(value) do
    if type(key) ~= "string" or (form[key] or form["*"]) == nil or not fits(member, form[key] or form["*"]) then
      return false
    end
  end
  return true
end

-- node_claim is what a replica needs of a node.
local function node_claim(value, place)
  local terms = {{key = "", operator = "", values = {""}}}
  local form = {
    nodeSelector = {["*"] = ""},
    tolerations = {{key = "", operator = "", value = "", effect = "", tolerationSeconds = 0}},
    hardNodeAffinity = {nodeSelectorTerms = {{matchExpressions = terms, matchFields = terms}}},
  }
  if not fits(value, form) then
    fail(place .. ".nodeClaim: what it gives is not of the form that Karmada has for it")
  end
  return unless_empty(value)
end

-- resource_request is how much a replica needs.
local function resource_request(value, place)
  local request = {}
  for name, asked in pairs(type(value) == "table" and value or {value}) do
    local written = type(asked) == "number" and decimal(asked) or asked
    if type(name) ~= "string" or type(written) ~= "string" or not is_quantity(written) or string.find(quantity_sum(written), "^-") then
      fail(place .. ".resourceRequest: what it gives is not of the form that Karmada has for it")
    end
    request[name] = written
  end
  return unless_empty(request)
end

-- requirements are what a replica needs; nil where that is nothing.
local function requirements(value, place)
  value = copy(value)
  if value == nil then
    return nil
  end
  local known = {nodeClaim = node_claim, resourceRequest = resource_request, namespace = "", priorityClassName = ""}
  local needed = {}
  for key, asked in pairs(type(value) == "table" and value or {value}) do
    if known[key] == nil then
      fail(place .. ": what it gives is not of the form that Karmada has for it")
    elseif type(known[key]) == "function" then
      needed[key] = known[key](asked, place)
    elseif type(asked) ~= "string" then
      fail(place .. "." .. key .. ": what it gives is not of the form that Karmada has for it")
    elseif asked ~= "" then
      needed[key] = asked
    end
  end
  return unless_empty(needed)
end

-- add_component adds a part of a workload.
local function add_component(components, place, component)
  local length = #runes(component.name)
  if length == 0 or length > 32 then
    fail(place .. ": the name has " .. length .. " characters: it must have 1 to 32")
  end
  for _, other in ipairs(components) do
    if other.name == component.name then
      fail(place .. ": two components have the same name")
    end
  end
  components[#components + 1] = component
end

-- is_name says whether a text is a name of letters, digits and what else may stand within it.
local function is_name(value, within)
  return #value <= 63 and (string.find(value, "^%w$") or string.find(value, "^%w[" .. within .. "]*%w$")) ~= nil
end

-- is_subdomain says whether a text is a name as DNS has them.
local function is_subdomain(value)
  for _, part in ipairs(split(value, ".")) do
    if not string.find(part, "^[a-z0-9]$") and not string.find(part, "^[a-z0-9][a-z0-9-]*[a-z0-9]$") then
      return false
    end
  end
  return #value <= 253
end

-- is_api_version says whether a text is v1 or group/version.
local function is_api_version(value)
  local group, name = string.match(value, "^([^/]*)/(.*)$")
  name = name or value
  return (not group or is_subdomain(group)) and #name <= 63 and string.find(name, "^[a-z][a-z0-9]*$") ~= nil
end

-- is_label says whether a text is the key of a label.
local function is_label(value)
  local prefix, name = string.match(value, "^([^/]*)/(.*)$")
  return (not prefix or prefix ~= "" and is_subdomain(prefix)) and is_name(name or value, "%w_.-")
end

-- is_requirement says whether a value asks something of a label.
local function is_requirement(value)
  local some = value.values ~= nil and #value.values > 0
  if not is_label(value.key or "") then
    return false
  elseif value.operator == "In" or value.operator == "NotIn" then
    for _, item in ipairs(value.values or {}) do
      if item ~= "" and not is_name(item, "%w_.-") then
        return false
      end
    end
    return some
  end
  return (value.operator == "Exists" or value.operator == "DoesNotExist") and not some
end

-- is_selector says whether a value is a selector of labels.
local function is_selector(value)
  if type(value) ~= "table" or not fits(value, {matchLabels = {["*"] = ""}, matchExpressions = {{key = "", operator = "", values = {""}}}}) then
    return false
  end
  for key, label in pairs(value.matchLabels or {}) do
    if not is_label(key) or label ~= "" and not is_name(label, "%w_.-") then
      return false
    end
  end
  for _, asked in ipairs(value.matchExpressions or {}) do
    if not is_requirement(asked) then
      return false
    end
  end
  return true
end

-- selector is what chooses objects by their labels.
local function selector(value, place)
  value = copy(value)
  if not is_selector(value) then
    fail(place .. ".labelSelector: what it gives is no selector of labels")
  end
  return value
end

-- add_dependency adds an object that must come along, once.
local function add_dependency(dependencies, place, dependency)
  if not is_api_version(dependency.apiVersion) then
    fail(place .. ".apiVersion: what it gives is neither v1 nor group/version")
  elseif #dependency.kind > 63 or not string.find(dependency.kind, "^[A-Z][A-Za-z0-9]*$") then
    fail(place .. ".kind: what it gives is no kind")
  elseif dependency.name == "" then
    fail(place .. ".name: what it gives is empty")
  end
  if dependency.namespace == "" then
    dependency.namespace = nil
  end
  for _, other in ipairs(dependencies) do
    if equal(other, dependency) then
      return
    end
  end
  dependencies[#dependencies + 1] = dependency
end

-- namespace_of is the namespace of an object.
local function namespace_of(object)
  local namespace = follow(object, {"metadata", "namespace"})
  return type(namespace) == "string" and namespace or ""
end

-- members_of are what member clusters say, by their names.
local function members_of(statuses)
  local members = {}
  for i, said in ipairs(statuses or {}) do
    if said.status ~= nil and not is_map(said.status) then
      fail("the status of the member " .. said.clusterName .. " is no object")
    end
    members[i] = {
      cluster = said.clusterName or "",
      status = said.status,
      applied = said.applied or false,
      message = said.appliedMessage or "",
      health = (said.health or "") ~= "" and said.health or "Unknown",
    }
  end
  table.sort(members, function(a, b)
    return a.cluster < b.cluster
  end)
  return members
end

-- said is what the members have at a path of their statuses; those that have nothing there are left out.
local function said(members, path)
  local found = {}
  for _, member in ipairs(members) do
    local value = follow(member.status, path)
    if value ~= nil then
      found[#found + 1] = {cluster = member.cluster, value = value}
    end
  end
  return found
end

-- misfit says that what a member has is not as it is needed.
local function misfit(found, path, what)
  fail("the member " .. found.cluster .. ": status." .. dotted(path) .. " must be " .. what)
end

-- sum_of adds numbers of members up.
local function sum_of(members, path)
  local sum
  for _, found in ipairs(said(members, path)) do
    if type(found.value) ~= "number" then
      misfit(found, path, "a number")
    end
    sum = (sum or 0) + found.value
  end
  if sum and (sum >= 9007199254740992 or sum <= -9007199254740992) then
    fail("status." .. dotted(path) .. ": the sum is too large")
  end
  return sum
end

-- extreme_of is the number of a member that is better than those of all others.
local function extreme_of(members, path, better)
  local best
  for _, found in ipairs(said(members, path)) do
    if type(found.value) ~= "number" then
      misfit(found, path, "a number")
    elseif best == nil or better(found.value, best) then
      best = found.value
    end
  end
  return best
end

-- min_of is the smallest number of members.
local function min_of(members, path)
  return extreme_of(members, path, function(a, b)
    return a < b
  end)
end

-- max_of is the largest number of members.
local function max_of(members, path)
  return extreme_of(members, path, function(a, b)
    return a > b
  end)
end

-- truths_of is how many members have true.
local function truths_of(members, path)
  local truths = 0
  for _, found in ipairs(said(members, path)) do
    if type(found.value) ~= "boolean" then
      misfit(found, path, "true or false")
    elseif found.value then
      truths = truths + 1
    end
  end
  return truths
end

-- all_true says whether all members have true; nil where there are none.
local function all_true(members, path)
  if #members == 0 then
    return nil
  end
  return truths_of(members, path) == #members
end

-- any_true says whether a member has true; nil where there are none.
local function any_true(members, path)
  if #members == 0 then
    return nil
  end
  return truths_of(members, path) > 0
end

-- same_of is what all members have that have something, nil where they differ.
local function same_of(members, path)
  local found = said(members, path)
  for _, other in ipairs(found) do
    if not equal(other.value, found[1].value) then
      return nil
    end
  end
  return found[1] and found[1].value
end

-- first_of is what the first member has that has something.
local function first_of(members, path)
  local found = said(members, path)
  return found[1] and found[1].value
end

-- join_of is the texts of members, each behind the name of its cluster; that of a single member as it is.
local function join_of(members, path)
  local texts = {}
  for _, found in ipairs(said(members, path)) do
    if type(found.value) ~= "string" then
      misfit(found, path, "a text")
    elseif found.value ~= "" then
      texts[#texts + 1] = #members == 1 and found.value or found.cluster .. ": " .. found.value
    end
  end
  if #texts == 0 then
    return nil
  end
  return table.concat(texts, "; ")
end

-- worst_of is the first value of an order that a member has, judged by what stands at a path below it.
local function worst_of(members, path, by, order)
  local ranks, chosen, rank = {}, nil, nil
  for i, word in ipairs(order) do
    ranks[word] = i
  end
  for _, found in ipairs(said(members, path)) do
    local judged = follow(found.value, by)
    if type(judged) == "table" then
      misfit(found, path, "judged by a text")
    elseif judged ~= nil then
      local own = ranks[tostring(judged)] or 0
      if chosen == nil or own < rank then
        chosen, rank = found.value, own
      end
    end
  end
  return chosen
end

-- severity of a condition's status: 0 is the worst.
local function severity(status, negative)
  if status == (negative and "True" or "False") then
    return 0
  elseif status == "Unknown" then
    return 1
  end
  return status == (negative and "False" or "True") and 3 or 2
end

-- conditions_of is one condition of each type, the worst that a member has.
local function conditions_of(members, path, negative)
  local made, places, ranks = nil, {}, {}
  for _, found in ipairs(said(members, path)) do
    if not is_list(found.value) then
      misfit(found, path, "a list")
    end
    made = made or {}
    for _, condition in ipairs(found.value) do
      local name, status = follow(condition, {"type"}), follow(condition, {"status"})
      if type(name) ~= "string" or type(status) ~= "string" then
        fail("the member " .. found.cluster .. ": a condition in status." .. dotted(path) .. " has no type or no status")
      end
      local rank = severity(status, negative[name])
      if not places[name] then
        places[name] = #made + 1
      end
      if not ranks[name] or rank < ranks[name] then
        made[places[name]], ranks[name] = condition, rank
      end
    end
  end
  return made
end

-- prefixed is an item with the name of the cluster before a field, where there are several members.
local function prefixed(members, found, item, path, field)
  if not field or #members == 1 then
    return item
  end
  local text = follow(item, field)
  if type(text) ~= "string" then
    fail("the member " .. found.cluster .. ": an item in status." .. dotted(path) .. " has no " .. dotted(field) .. " that is a text")
  end
  local changed = copy(item)
  put(changed, field, found.cluster .. "/" .. text)
  return changed
end

-- union_of are the items of all members' lists. Two with the same key must be equal.
local function union_of(members, path, key, prefix)
  local made
  for _, found in ipairs(said(members, path)) do
    if not is_list(found.value) then
      misfit(found, path, "a list")
    end
    made = made or {}
    for _, came in ipairs(found.value) do
      local item = prefixed(members, found, came, path, prefix)
      local judged, known = follow(item, key), nil
      if judged == nil then
        fail("the member " .. found.cluster .. ": an item in status." .. dotted(path) .. " has no " .. dotted(key))
      end
      for _, other in ipairs(made) do
        if equal(follow(other, key), judged) then
          known = other
        end
      end
      if known == nil then
        made[#made + 1] = item
      elseif not equal(known, item) then
        fail("the member " .. found.cluster .. ": an item in status." .. dotted(path) .. " differs from that of another member with the same " .. dotted(key))
      end
    end
  end
  return made
end

-- common_of are the items that the lists of all members have that have one, in the order of the first.
local function common_of(members, path)
  local all = said(members, path)
  local made
  for i, found in ipairs(all) do
    if not is_list(found.value) then
      misfit(found, path, "a list")
    end
    local before, from = made or found.value, i == 1 and {} or found.value
    made = {}
    for _, item in ipairs(before) do
      if (i == 1 or contains(from, item)) and not contains(made, item) then
        made[#made + 1] = item
      end
    end
  end
  return made
end

-- listed are the items that an object has at a path; none where there is no list.
local function listed(object, path)
  local found = follow(object, path)
  return is_list(found) and found or {}
end

-- same_item is the first item of a list whose key is a value, nil where there is none.
local function same_item(list_of, key, value)
  for _, item in ipairs(list_of) do
    if equal(follow(item, key), value) then
      return item
    end
  end
end

-- both_of are the items that three objects have with the same key: the first as it came, the second as it becomes, and what is observed.
local function both_of(came, result, observed, path, key)
  local found, seen = {}, {}
  for _, item in ipairs(listed(came, path)) do
    local judged = follow(item, key)
    if judged ~= nil and not contains(seen, judged) then
      local becomes, kept = same_item(listed(result, path), key, judged), same_item(listed(observed, path), key, judged)
      if becomes ~= nil and kept ~= nil then
        seen[#seen + 1] = judged
        found[#found + 1] = {item = item, result = becomes, observed = kept}
      end
    end
  end
  return found
end
